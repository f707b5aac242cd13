"""What stands in front of a message in journalctl's short family: `TIME [HOST] IDENT[PID]: `.

A block is matched one stamp form after another, the form of the lines before first, so that a file of one
form costs one pattern.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.journal_stamps import STAMPS, Stamp
from kvforensics.records import Origin

if TYPE_CHECKING:
    from kvforensics.carriers.carrier import Head

# a head that holds what only text holds is none, unless a process stands at its end; what the first form's
# pattern takes, which is the fast one, each other takes alike
_STRICT = r"([^:\"'{}=]+):(?: |$)"
_LENIENT = r"([^\"'{}=]+?|[^:]+\[[0-9]+\]):(?: |$)"
_RECORD = re.compile(
    "(?:" + "|".join(stamp.pattern.replace(r"\p{L}", r"[^\W\d_]") for stamp in STAMPS) + ") "
    r"(?:[\w.:-]+ )?(?![0-9]+:)[^\s:\[\]\"{}]+(?::[^\s:\[\]\"{}]+)*(?:\[[0-9]+\])?:(?: |$)"
)
_HEAD = re.compile(r"(?:(?P<host>[^ ]+) )?(?P<ident>.*?)(?:\[(?P<pid>[0-9]{1,10})\])?", re.DOTALL)
_UNIT = re.compile(r"(?:.*/)?([^/]+\.(?:service|scope|slice|socket|mount|timer|target|path|swap|device))")


def is_record(line: str) -> bool:
    """Tell, for detection, whether a line begins like a record; strict about host and identifier."""
    return _RECORD.match(line) is not None


class Matcher:
    """Cuts lines into stamp, head (`HOST IDENT[PID]`) and message, the form that matched last tried first."""

    def __init__(self) -> None:
        self._forms = list(range(len(STAMPS)))

    def match(self, text: pl.Series) -> pl.DataFrame:
        """Return `form` (index into STAMPS), `stamp`, `head` of each line, null where none matches."""
        first = self._forms[0]
        groups = _groups(text, STAMPS[first], _STRICT)
        stamp, head = groups["1"], groups["2"]
        form = pl.Series([first], dtype=pl.Int8).new_from_index(0, len(text))
        missing = stamp.is_null()
        for number in list(self._forms):
            places = (missing & ~text.str.starts_with("         ")).arg_true()
            if not len(places):
                break
            groups = _groups(text.gather(places), STAMPS[number], _LENIENT)
            hits = groups["1"].is_not_null()
            if not hits.any():
                continue
            found = places.filter(hits)
            stamp = stamp.scatter(found, groups["1"].filter(hits))
            head = head.scatter(found, groups["2"].filter(hits))
            form = form.scatter(found, number)
            missing = stamp.is_null()
            if number != first and len(found) * 2 > len(text):
                self._forms.remove(number)
                self._forms.insert(0, number)
        form = form.zip_with(~missing, pl.Series([None], dtype=pl.Int8))
        return pl.DataFrame([form.alias("form"), stamp.alias("stamp"), head.alias("head")])


def _groups(text: pl.Series, stamp: Stamp, rest: str) -> pl.DataFrame:
    return text.str.extract_groups(f"^({stamp.pattern}) {rest}").struct.unnest()


def is_hostless(head: Head, matcher: Matcher) -> bool:
    """Whether the records have no host (`--no-hostname`): most have a single word before the colon.

    `matcher` learns the form of the records on the way.
    """
    texts = pl.Series("text", [line.decode(errors="replace") for line in head.lines], dtype=pl.String)
    heads = matcher.match(texts)["head"].drop_nulls()
    return int(heads.str.contains(" ", literal=True).sum()) * 2 < len(heads)


def origin_of(head: str, boot: str | None, *, hostless: bool) -> Origin:
    """Return the origin that `HOST IDENT[PID]` names; `with-unit` prints a unit for the identifier."""
    match = _HEAD.fullmatch(head)
    assert match is not None, "the pattern takes any text"
    host, ident, pid = match["host"], match["ident"], match["pid"]
    if host is not None and (hostless or not ident):
        ident, host = f"{host} {ident}".strip(), None
    number = int(pid) if pid else None
    unit = _UNIT.fullmatch(ident)
    if unit is None:
        return Origin(host=host, ident=ident or None, pid=number, boot=boot)
    if unit[1] == "init.scope" and number == 1:
        return Origin(host=host, ident="systemd", pid=1, boot=boot)
    return Origin(host=host, unit=unit[1], pid=number, boot=boot)
