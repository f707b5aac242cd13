"""All kinds of all grammars: which one a body is, found by its constants and then read by Lark.

A text is read once: what is said of it is remembered, since ranks say the same. What Lark read of a hot
or known kind becomes a layout, and the next line of that make needs no Lark.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from kvforensics.parsing import server_args
from kvforensics.parsing.beginnings import expression, may_begin
from kvforensics.parsing.grammar import Grammar, load
from kvforensics.parsing.layouts import Layout, learn, match_any
from kvforensics.parsing.needles import Needles
from kvforensics.parsing.sources import names, samples
from kvforensics.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

HOT = "scheduler"  # the grammar whose kinds become frames
SYSTEM = "systemd"  # the grammar of lines that are not the server's
FOREIGN = "foreign"
KNOWN = "known_"

MAX_LAYOUTS = 128  # of one kind, learnt from the input; then the packaged samples' are added, and no more
_SYSTEM_IDENT = re.compile(r"systemd(?:-[a-z]+)?|kernel|sudo|su|audit[d]?|init", re.IGNORECASE)
_LEAD = 24  # characters by which texts are said to begin alike
_KEY = 6  # characters by which layouts are looked up
_REMEMBERED = 20_000
_LONGEST_REMEMBERED = 2_000
_LONGEST_HOT = 4_096  # characters; the longest line of a scheduler has 500
_DIGITS = re.compile("[0-9]+")
_SHAPE = 200  # characters of a text that make the shape on which a kind fails
_FAILURES = 8  # texts of one shape on which a kind may fail before Lark is not asked again
_SHAPES = 20_000  # such shapes in all; beyond, new ones are tried only for what tells an event


class Writer(Enum):
    """Who wrote a line, as far as that decides which grammars may read it."""

    SERVER = "server"  # behind SGLang's prefix
    SYSTEM = "system"  # the service manager, the kernel, sudo
    ANY = "any"

    @classmethod
    def of(cls, ident: str | None) -> Writer:
        """Return the writer that a syslog identifier names."""
        return cls.SYSTEM if ident is not None and _SYSTEM_IDENT.fullmatch(ident) else cls.ANY


_OURS = frozenset({"known_sglang", "known_tokenizer"})  # of the grammar of foreign lines
_ANYBODYS = frozenset(
    {"known_traceback", "known_continuation", "known_usage", "exception", "usage_error", "request_error"}
)


class Known(NamedTuple):
    """What a body is. `fields` are redacted."""

    kind: str
    fields: Mapping[str, Any]
    grammar: str
    opens: bool = False  # lines without a prefix that follow belong to it

    @property
    def is_hot(self) -> bool:
        """Whether it belongs into a frame."""
        return self.grammar == HOT and not self.tells_nothing

    @property
    def tells_nothing(self) -> bool:
        """Whether it is understood and that is all."""
        return self.kind.startswith(KNOWN)

    @property
    def is_ours(self) -> bool:
        """Whether SGLang wrote it: no program beside it, and nothing that any Python program prints."""
        if self.kind in _ANYBODYS:
            return False
        return self.grammar not in (SYSTEM, FOREIGN) or self.kind in _OURS


class Kinds:
    """Every kind of line that the grammars know."""

    def __init__(self) -> None:
        # Hot kinds stand first, so that no other kind can claim a line that their layouts read.
        found = sorted(names(), key=lambda name: (name == FOREIGN, name == SYSTEM, name != HOT, name))
        self.grammars = {name: load(name) for name in found}
        self._kinds = [(grammar, kind) for grammar in self.grammars.values() for kind in grammar.kinds]
        self._needles = Needles(
            {n: grammar.needles[kind] for n, (grammar, kind) in enumerate(self._kinds)},
            {
                constant: gram
                for grammar in self.grammars.values()
                for constant, gram in grammar.grams.items()
            },
        )
        self._layouts: dict[str, list[Layout]] = {}  # by the first characters of their lead
        self._counts: dict[str, int] = {}
        self._seeded: set[str] = set()
        self._unlearnt: dict[tuple[str, str], int] = {}  # how often texts that begin alike gave no layout
        self._remembered: dict[tuple[str, Writer], Known | None] = {}
        self._failures: dict[tuple[str, str], int] = {}
        self.hot_layouts: list[Layout] = []

    def candidates(self, text: str, writer: Writer) -> list[tuple[Grammar, str]]:
        """Return the kinds that a text may be, in the order in which they are tried."""
        found = []
        for number in self._needles.owners(text):
            grammar, kind = self._kinds[number]
            other = Writer.SERVER if grammar.name == SYSTEM else Writer.SYSTEM
            if writer is not other and expression(grammar, kind).match(text):
                found.append((grammar, kind))
        return found

    def read(self, text: str, writer: Writer) -> Known | None:
        """Return what a body is, or None."""
        key = (text, writer)
        if key in self._remembered:
            return self._remembered[key]
        found = None if writer is Writer.SYSTEM else self._by_layout(text)
        found = found or self._by_lark(text, writer)
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = found
        return found

    def system(self, kind: str) -> Known:
        """Return what a record of the service manager is by the kind that its fields name."""
        return Known(kind, {}, SYSTEM)

    def layout_of(self, text: str) -> Layout | None:
        """Return the layout that reads this text, if one was learnt."""
        found = match_any(self._layouts.get(text[:_KEY], ()), text)
        return found[0] if found is not None else None

    def layouts_of(self, kind: str) -> list[Layout]:
        """Return the layouts of a kind that were learnt."""
        return [layout for bucket in self._layouts.values() for layout in bucket if layout.kind == kind]

    def _by_layout(self, text: str) -> Known | None:
        found = match_any(self._layouts.get(text[:_KEY], ()), text)
        if found is None:
            return None
        return self._known(self.grammars[found[0].grammar], found[0].kind, found[1])

    def _by_lark(self, text: str, writer: Writer) -> Known | None:
        if text.startswith(server_args.START) and writer is not Writer.SYSTEM:
            settings = server_args.read(text)
            if settings is not None:
                names = ("values", "form", "truncated")
                return Known("server_args", {name: getattr(settings, name) for name in names}, "server_args")
        shape = ""
        for grammar, kind in self.candidates(text, writer):
            shape = shape or _DIGITS.sub("0", text[:_SHAPE])
            # What tells an event is asked for whatever it costs; a flood of the others must not cost much.
            rare = grammar.name != HOT and not kind.startswith(KNOWN)
            if self._gives_up(kind, shape, rare=rare) or (grammar.name == HOT and len(text) > _LONGEST_HOT):
                continue
            tree = grammar.tree(kind, text)
            if tree is None:
                self._note_failure(kind, shape)
                continue
            if not rare:
                self._learn(grammar, kind, text)
            return self._known(grammar, kind, grammar.fields(tree))
        return None

    def _known(self, grammar: Grammar, kind: str, fields: Mapping[str, Any]) -> Known:
        safe = {name: redact(value) if isinstance(value, str) else value for name, value in fields.items()}
        return Known(kind, safe, grammar.name, kind in grammar.opens)

    def _gives_up(self, kind: str, shape: str, *, rare: bool) -> bool:
        """Tell whether a kind has failed on texts of this shape, or all kinds on very many, often enough."""
        many = len(self._failures) >= _SHAPES and not rare
        return self._failures.get((kind, shape), _FAILURES if many else 0) >= _FAILURES

    def _note_failure(self, kind: str, shape: str) -> None:
        if len(self._failures) < _SHAPES or (kind, shape) in self._failures:
            self._failures[kind, shape] = self._failures.get((kind, shape), 0) + 1

    def _learn(self, grammar: Grammar, kind: str, text: str) -> None:
        if self._unlearnt.get((kind, text[:_LEAD]), 0) >= _FAILURES:
            return
        if self._counts.get(kind, 0) >= MAX_LAYOUTS:
            if kind in self._seeded:
                return
            self._seeded.add(kind)
            for line in samples(grammar.name):
                self._add(grammar, kind, line)
        self._add(grammar, kind, text)

    def _add(self, grammar: Grammar, kind: str, text: str) -> None:
        layout = self._layout(grammar, kind, text)
        if layout is None:
            key = (kind, text[:_LEAD])
            if len(self._unlearnt) < _SHAPES:
                self._unlearnt[key] = self._unlearnt.get(key, 0) + 1
            return
        bucket = self._layouts.setdefault(layout.lead[:_KEY], [])
        if layout not in bucket:
            bucket.append(layout)
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if grammar.name == HOT:
                self.hot_layouts.append(layout)

    def _layout(self, grammar: Grammar, kind: str, text: str) -> Layout | None:
        tree = grammar.tree(kind, text)
        layout = learn(grammar, kind, text, tree) if tree is not None else None
        if layout is None or len(layout.lead) < _KEY:
            return None
        if grammar.name != HOT:
            layout = replace(layout, barred=(*layout.barred, *self._needles_before(grammar, layout.lead)))
        return layout if layout.fields(text) is not None else None

    def _needles_before(self, grammar: Grammar, lead: str) -> list[str]:
        """Return the constants of kinds in grammars that are tried earlier and may begin as `lead` does."""
        earlier = list(self.grammars.values())
        earlier = earlier[: earlier.index(grammar)]
        rivals = ((g, kind) for g in earlier for kind in g.kinds if may_begin(g, kind, lead))
        return sorted({needle for g, kind in rivals for needle in g.needles[kind]})


@cache
def kinds() -> Kinds:
    """Return this process's kinds. What they learn does not change what they say."""
    return Kinds()
