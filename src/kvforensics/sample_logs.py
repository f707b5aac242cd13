"""The sample logs that ship with the package, wherever it is installed."""

from __future__ import annotations

from pathlib import Path

from kvforensics.errors import NothingReadableError

_PACKAGE = Path(__file__).parent


def sample(name: str) -> Path:
    """Return the path of a sample log such as `incident/incident.export`.

    A wheel carries them inside the package, an editable install beside it.
    """
    for folder in (_PACKAGE / "_sample_logs", _PACKAGE.parents[1] / "sample_logs"):
        if (folder / name).is_file():
            return folder / name
    raise NothingReadableError(
        f"the sample log {name} is not installed",
        hint="install kvforensics again from its wheel or its repository",
    )
