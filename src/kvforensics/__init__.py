"""Log forensics and incident replay for SGLang servers.

The names of the public API load on first use, so that `import kvforensics` costs neither polars nor lark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis

__version__ = "0.1.0"

_HOMES = {"Analysis": "kvforensics.analysis"}

__all__ = ["Analysis", "__version__"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kvforensics' has no attribute {name!r}")
    return getattr(import_module(home), name)
