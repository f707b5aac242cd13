"""Coverage-guided fuzzing of one target with atheris: `python -m fuzz.guided TARGET [libFuzzer options]`.

Targets are `carrier:NAME` (`carrier:any` is told by content), `grammar:NAME`, `settings` and `records`; libFuzzer's
options end the run (`-runs=N`, `-max_total_time=S`), and a folder keeps its corpus. Needs the group `fuzz`; the
campaigns (`python -m fuzz`) do without.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Fuzz the target that is named."""
    import atheris  # noqa: PLC0415 - before anything that it is to watch

    with atheris.instrument_imports(include=["kvforensics"]):
        from fuzz.targets import TARGETS  # noqa: PLC0415

    name, *options = sys.argv[1:] or [""]
    if name not in TARGETS:
        sys.exit(f"targets: {', '.join(TARGETS)}")
    atheris.Setup([f"fuzz.guided {name}", *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
