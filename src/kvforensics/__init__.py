"""Log forensics and incident replay for SGLang servers.

The names of the public API load on first use, so that `import kvforensics` costs neither polars nor lark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis, analyse
    from kvforensics.options import Options
    from kvforensics.survey import open_logs
    from kvforensics.whatif import reach, what_if

__version__ = "0.1.0"

_HOMES = {
    "Analysis": "kvforensics.analysis",
    "Options": "kvforensics.options",
    "analyse": "kvforensics.analysis",
    "open_logs": "kvforensics.survey",
    "reach": "kvforensics.whatif",
    "what_if": "kvforensics.whatif",
}

__all__ = ["Analysis", "Options", "__version__", "analyse", "open_logs", "reach", "what_if"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kvforensics' has no attribute {name!r}")
    return getattr(import_module(home), name)
