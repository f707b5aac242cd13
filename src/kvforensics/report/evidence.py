"""A place of the log and, where it is known, the line itself: the part that tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.analysis import Analysis

_LONGEST = 320  # characters of a line that a page shows
_BEFORE = 80  # of them, those before the word that is looked for


class Evidence:
    """Looks up the lines that an analysis kept; scheduler lines are known by their place alone."""

    def __init__(self, analysis: Analysis) -> None:
        self._texts = {
            (analysis.sources[event.source].path, event.line): event.text
            for service in analysis.services
            for event in [*service.trail, *(e for launch in service.launches for e in launch.events)]
            if event.text
        }

    def __call__(self, place: Mapping[str, Any], word: str | None = None) -> dict[str, Any]:
        """Return `where` (path:line) and `text`: of a long line the part around `word`, or its beginning."""
        text = self._texts.get((place["path"], place["line"]))
        return {"where": f"{place['path']}:{place['line']}", "text": text and excerpt(text, word)}


def excerpt(text: str, word: str | None = None) -> str:
    """Return a line, or of a long one the part that holds a setting `word`, cuts shown as `…`."""
    if len(text) <= _LONGEST:
        return text
    found = [
        at for mark in (f" {word}=", f"'{word}':", f"({word}=", f"{word}") if (at := text.find(mark)) >= 0
    ]
    start = max(0, found[0] - _BEFORE) if word and found else 0
    part = text[start : start + _LONGEST]
    return f"{'… ' if start else ''}{part}{' …' if start + _LONGEST < len(text) else ''}"
