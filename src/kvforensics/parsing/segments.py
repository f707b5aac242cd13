r"""From a record's message to the lines it holds: control sequences gone, what was glued cut apart.

One message may be several lines (a journal record with `\n`, a terminal's `\r`), and one line several
records (a progress bar without a line break, two ranks writing at once). A line is cut at an inner prefix
only where it makes no sense as a whole: the text of a request may quote a log.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from kvforensics.parsing.kinds import Known
    from kvforensics.parsing.prefix import Prefixes

MAX_LINES = 4_096  # of one message
MAX_PREFIXES = 64  # of one line
LONGEST_WHOLE = 20_000  # characters behind an inner prefix that are tried as one body

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC and other strings: links, titles, clipboard
    r"|\x1b[ -/]*[0-~]"
)

_BAR = "known_progress"
_BAR_ENDS = ("it/s]", "s/it]")
_SWALLOW = (_BAR, "known_continuation")  # kinds whose lines end in any text
# What `cat -n` puts in front, and what ends as carriers' prefixes do: a time, `host ident[pid]: `, `name | `
_CARRIED = re.compile(r"\s*[0-9]{1,9}[:\s]\s*|[^\"']*(?:[0-9]{2}:[0-9]{2}:[0-9]{2}[0-9.,Z+:]*|\]:?| \|)\s+")

_WIDEST_CARRIED = 400


class Segment(NamedTuple):
    """One line of one writer. `known` is what its body is, where that was found out while cutting."""

    head: str | None  # the prefix, or None
    body: str
    known: Known | None


def plain(text: str) -> str:
    """Return a text without the control sequences of terminals."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def plain_series(texts: pl.Series) -> pl.Series:
    """Return texts without the control sequences of terminals."""
    if not texts.str.contains("\x1b", literal=True).any():
        return texts
    return texts.str.replace_all(_ANSI.pattern, "")


def lines(message: str) -> Iterator[str]:
    """Yield the lines of a message; a line that a terminal would overwrite counts as one."""
    text = plain(message)
    several = "\n" in text or "\r" in text
    for number, line in enumerate(re.split(r"[\r\n]+", text) if several else (text,)):
        if number == MAX_LINES:
            return
        if line.strip():
            yield line


def segments(line: str, prefixes: Prefixes, read: Callable[[str, bool], Known | None]) -> Iterator[Segment]:
    """Yield the records of a line. `read(body, bare)` tells what a body is, or None."""
    text = prefixes.without_envelope(line)
    start = prefixes.at_start(text)
    if not start and text[:1].isspace():
        start = prefixes.at_start(text.lstrip())
        text = text.lstrip() if start else text
    whole = read(text[start:], not start)
    spans = (
        prefixes.find(text, MAX_PREFIXES) if whole is None or (not start and whole.kind in _SWALLOW) else []
    )
    first = spans[0][0] if spans else len(text)
    if whole is not None and not (spans and _ends_before(text[:first], read)):
        yield Segment(text[:start] or None, text[start:], whole)
        return
    if first:
        yield from _bare(text[:first], prefixes, read)
    at = 0
    while at < len(spans):
        taken, segment = _headed(text, spans[at:], read)
        yield segment
        at += taken


def _ends_before(text: str, read: Callable[[str, bool], Known | None]) -> bool:
    """Tell whether a bar or a carrier's prefix stands before SGLang's own, and no text that quotes a log."""
    if _CARRIED.fullmatch(text[-_WIDEST_CARRIED:]) or text.rstrip().endswith(_BAR_ENDS):
        return True
    known = read(text, True)
    return known is not None and known.kind == _BAR


def _bare(text: str, prefixes: Prefixes, read: Callable[[str, bool], Known | None]) -> Iterator[Segment]:
    whole = read(text, True)
    pieces = [text] if whole is not None else prefixes.unglued(text)
    for piece in pieces:
        if piece.strip():
            yield Segment(None, piece, whole if len(pieces) == 1 else read(piece, True))


def _headed(
    text: str, spans: list[tuple[int, int]], read: Callable[[str, bool], Known | None]
) -> tuple[int, Segment]:
    """Return the segment of the first prefix, and how many prefixes are done with it."""
    start, end = spans[0]
    head = text[start:end]
    whole = read(text[end:], False) if len(text) - end <= LONGEST_WHOLE else None
    if whole is not None or len(spans) == 1:
        return len(spans), Segment(head, text[end:], whole)
    cut = spans[1][0]
    left = read(text[end:cut], False)
    right_end = spans[2][0] if len(spans) > 2 else len(text)  # noqa: PLR2004
    if left is not None or not text[end:cut].strip() or read(text[spans[1][1] : right_end], False):
        return 1, Segment(head, text[end:cut], left)
    return len(spans), Segment(head, text[end:], None)
