"""Log text that Markdown shows as it is."""

from __future__ import annotations

import re
from typing import Any

from kvforensics.report.inert import inert

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])|^(\s*)([#+=-]|[0-9]+[.)](?=\s|$))")


def escape(text: Any, limit: int | None = None) -> str:
    """Return log text that Markdown shows as it is: no markup, no line break, no HTML, no table edge."""
    return _SPECIAL.sub(_protect, inert(str(text), limit))


def code(text: Any) -> str:
    """Return a name as code, or escaped where it holds what would end the code or the cell of a table."""
    shown = inert(str(text))
    return (
        escape(text) if {"`", "|", "\\"} & set(shown) or shown != shown.strip() or not shown else f"`{shown}`"
    )


def _protect(match: re.Match[str]) -> str:
    if match.group(1):
        return "\\" + match.group(1)
    mark: str = match.group(3)
    return match.group(2) + (f"{mark[:-1]}\\{mark[-1]}" if mark[0].isdigit() else "\\" + mark)
