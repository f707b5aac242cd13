"""The prefix: what SGLang, or the formatter of a site, puts in front of a line's body.

It is searched for, never expected at column 0. The expressions that search are made from
`grammars/prefix.lark`; what a prefix says is read by Lark once for each make, then by its layout.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kvforensics.events import NO_RANKS, RANK_TAGS, Ranks
from kvforensics.parsing.grammar import load
from kvforensics.parsing.layouts import Layout, learn, match_any
from kvforensics.parsing.sources import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LAYOUTS = 256
MAX_RANK = 2**31 - 1


class Head(NamedTuple):
    """What a prefix says. `inner_at` is local time of the writer, without a zone."""

    inner_at: datetime | None = None
    ranks: Ranks = NO_RANKS


class Form(NamedTuple):
    """How a kind of prefix begins, so that its time can be cut out by position: `[`, then 19 characters."""

    lead: str
    column: str  # stamp | clock
    width: int
    close: str  # the last constant; the prefix ends with it, unless more follows that is optional


class Prefixes:
    """Finds prefixes and reads them. One for a process: what it learns does not change what it says."""

    def __init__(self) -> None:
        self.grammar = load("prefix", PREFIX[0], PREFIX[1:])
        self._layouts: list[Layout] = []
        self.pattern = "|".join(self.grammar.regex(kind) for kind in self.grammar.kinds)
        self._anywhere = re.compile(self.pattern)
        self._envelope = re.compile(f"{self.grammar.regex('envelope')}+")
        self._glue = re.compile(f"{self.grammar.regex('glue')}(?=\\S)")

    @property
    def forms(self) -> list[Form]:
        """The forms whose time stands at a fixed place."""
        found = (opening for kind in self.grammar.kinds for opening in self.grammar.rules.openings(kind))
        return [Form(*opening) for opening in found]

    def find(self, text: str, limit: int) -> list[tuple[int, int]]:
        """Return where prefixes stand in a text, the first `limit` of them."""
        found = []
        for match in self._anywhere.finditer(text):
            found.append(match.span())
            if len(found) == limit:
                break
        return found

    def at_start(self, text: str) -> int:
        """Return the length of the prefix that a text begins with, or 0."""
        match = self._anywhere.match(text)
        return match.end() if match else 0

    def without_envelope(self, text: str) -> str:
        """Return the text without what a job runner wrote at its start."""
        match = self._envelope.match(text)
        return text[match.end() :] if match else text

    def unglued(self, text: str) -> list[str]:
        """Return the pieces of a text without prefix: bars that follow each other without a line break."""
        cuts = [0, *(match.end() for match in self._glue.finditer(text)), len(text)]
        return [text[start:end] for start, end in pairwise(cuts) if start < end]

    def head(self, text: str) -> Head | None:
        """Return what a whole prefix says, or None when the text is none."""
        known = match_any(self._layouts, text)
        if known is not None:
            return _head(known[1])
        for kind in self.grammar.candidates(text):
            tree = self.grammar.tree(kind, text)
            if tree is not None:
                layout = learn(self.grammar, kind, text, tree)
                if layout is not None and len(self._layouts) < MAX_LAYOUTS:
                    self._layouts.append(layout)
                return _head(self.grammar.fields(tree))
        return None


@cache
def prefixes() -> Prefixes:
    """Return this process's prefixes."""
    return Prefixes()


def _head(fields: Mapping[str, object]) -> Head:
    stamp, fraction = fields.get("stamp"), fields.get("fraction")
    if isinstance(stamp, datetime) and isinstance(fraction, str):
        stamp += timedelta(seconds=float(f"0.{fraction[1:]}"))
    numbers = (fields.get(tag) for tag in RANK_TAGS)
    ranks = Ranks(*(n if isinstance(n, int) and n <= MAX_RANK else None for n in numbers))
    return Head(stamp if isinstance(stamp, datetime) else None, ranks)
