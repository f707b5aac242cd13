"""Layouts: what Lark says of one line, kept so that it can be said of every line of the same make.

A layout is the sequence of constants and slots of one parse. It may be applied to another text only
where Lark would cut that text into the same tokens. That is decided when the layout is learnt, from the
terminals that the lexer could have taken at each place; a layout that cannot be proved is not made, and
its lines stay with Lark.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from lark import UnexpectedInput
from msgspec import Struct

from kvforensics.parsing.beginnings import may_begin
from kvforensics.parsing.rules import column_of
from kvforensics.parsing.terminals import (
    characters_of,
    escaped,
    holds,
    is_constant,
    pattern_of,
    width_of,
)
from kvforensics.parsing.values import typed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from lark import Lark, Token, Tree
    from lark.lexer import TerminalDef

    from kvforensics.parsing.grammar import Grammar

MAX_ITEMS = 96  # of one layout: beyond, its expression would grow without bound
FROZEN = "KEY"  # a terminal of this name is part of a layout by its text


class Slot(Struct, frozen=True):
    """A place whose text differs from line to line."""

    column: str | None
    terminal: str
    pattern: str
    width: int | None
    characters: frozenset[str]


class Layout(Struct, frozen=True, dict=True):
    """Constants and slots of one make of line, and the columns that its constants fill."""

    grammar: str
    kind: str
    items: tuple[str | Slot, ...]
    constants: tuple[tuple[str, Any], ...]
    rivals: tuple[str, ...] = ()  # expressions for what another kind reads first, though it looks alike
    barred: tuple[str, ...] = ()  # texts with one of these may be another kind's

    @cached_property
    def lead(self) -> str:
        """The constant that every line of this layout begins with."""
        return self.items[0] if isinstance(self.items[0], str) else ""

    @cached_property
    def has_columns(self) -> bool:
        """Whether anything is to be cut out of a text."""
        return any(isinstance(item, Slot) and item.column for item in self.items)

    def mask(self, text: pl.Expr) -> pl.Expr:
        """Return an expression that tells which texts have this make."""
        fits = text.str.contains(self.regex)
        for rival in self.rivals:
            fits &= ~text.str.contains(f"^{rival}$")
        return fits & ~text.str.contains_any(list(self.barred)) if self.barred else fits

    @cached_property
    def regex(self) -> str:
        """The whole text, for Rust: no groups that capture."""
        return "^" + "".join(i.pattern if isinstance(i, Slot) else escaped(i) for i in self.items) + "$"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        pieces = (
            (f"({i.pattern})" if i.column else i.pattern) if isinstance(i, Slot) else escaped(i)
            for i in self.items
        )
        return re.compile("".join(pieces))

    @cached_property
    def _slots(self) -> tuple[tuple[str, str], ...]:
        """The columns that are cut out of a text, and their terminals."""
        slots = (item for item in self.items if isinstance(item, Slot))
        return tuple((slot.column, slot.terminal) for slot in slots if slot.column)

    def fits(self, text: str) -> bool:
        """Tell whether a whole text has this make."""
        return self._match(text) is not None

    def fields(self, text: str) -> dict[str, Any] | None:
        """Return the columns of a whole text, or None when it has another make."""
        match = self._match(text)
        if match is None:
            return None
        found = dict(self.constants)
        for (column, terminal), part in zip(self._slots, match.groups(), strict=True):
            found[column] = typed(terminal, part)
        return found

    def _match(self, text: str) -> re.Match[str] | None:
        match = self._compiled.fullmatch(text) if text.startswith(self.lead) else None
        if match is None or (self.barred and any(needle in text for needle in self.barred)):
            return None
        if self.rivals and any(re.fullmatch(rival, text) for rival in self.rivals):
            return None
        return match


def learn(grammar: Grammar, kind: str, text: str, tree: Tree[Token]) -> Layout | None:
    """Return the layout of a text that Lark has parsed as this kind, or None where none can be proved."""
    steps = list(islice(_steps(grammar.parser(kind), text), 2 * MAX_ITEMS))
    if len(steps) == 2 * MAX_ITEMS:
        return None
    items: list[str | Slot] = []
    columns = {token.start_pos: rule for rule, token in grammar.slots(tree)}
    constants: dict[str, Any] = {}
    named: set[str] = set()
    for token, terminal, _ in steps:
        rule = columns.get(token.start_pos)
        column = column_of(rule) if rule and column_of(rule) not in named else None
        if column is not None:
            named.add(column)
        if is_constant(terminal) or token.type == FROZEN:
            if column is not None and rule is not None:
                constants[column] = grammar.value(rule, str(token))
            _append(items, str(token))
            continue
        characters = characters_of(terminal)
        if characters is None:
            return None
        items.append(Slot(column, token.type, pattern_of(terminal), width_of(terminal), characters))
    if (
        not items
        or len(items) > MAX_ITEMS
        or not _ends_are_certain(items)
        or not _tokens_are_certain(items, steps)
    ):
        return None
    rivals, barred = _rivals(grammar, kind, items[0])
    layout = Layout(grammar.name, kind, tuple(items), tuple(constants.items()), rivals, barred)
    return layout if layout.fields(text) == grammar.fields(tree) else None


def _rivals(grammar: Grammar, kind: str, first: str | Slot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return how to tell the texts that kinds before this one may read."""
    rivals, barred = [], set[str]()
    for other in grammar.kinds[: grammar.kinds.index(kind)]:
        if not may_begin(grammar, other, first if isinstance(first, str) else ""):
            continue
        if grammar.rules.is_plain(other):
            rivals.append(grammar.regex(other))
        else:
            barred |= set(grammar.needles[other])
    return tuple(rivals), tuple(sorted(barred))


def match_any(layouts: Sequence[Layout], text: str) -> tuple[Layout, Mapping[str, Any]] | None:
    """Return the first layout that fits the whole text, with its fields."""
    for layout in layouts:
        fields = layout.fields(text)
        if fields is not None:
            return layout, fields
    return None


def _append(items: list[str | Slot], text: str) -> None:
    if items and isinstance(items[-1], str):
        items[-1] += text
    else:
        items.append(text)


def _steps(parser: Lark, text: str) -> Iterator[tuple[Token, TerminalDef, list[TerminalDef]]]:
    """Yield each token of a text, its terminal, and those that the lexer would have preferred there."""
    interactive: Any = parser.parse_interactive(text)
    lexers: Any = parser.parser.lexer
    try:
        for token in interactive.iter_parse():
            ranked = lexers.lexers[interactive.parser_state.position].terminals
            rank = next(n for n, terminal in enumerate(ranked) if terminal.name == token.type)
            yield token, ranked[rank], ranked[:rank]
    except UnexpectedInput as error:
        raise AssertionError("only a text that was parsed is learnt from") from error


def _ends_are_certain(items: list[str | Slot]) -> bool:
    """Tell whether every slot ends where its characters end: its successor begins with none of them."""
    for item, after in pairwise(items):
        if not isinstance(item, Slot) or item.width is not None:
            continue
        if isinstance(after, str) and holds(item.characters, after[0]):
            return False
        if isinstance(after, Slot) and item.characters & after.characters:
            return False
    return True


def _tokens_are_certain(
    items: list[str | Slot], steps: list[tuple[Token, TerminalDef, list[TerminalDef]]]
) -> bool:
    """Tell whether the lexer takes the same terminal at each place, whatever stands in the slots."""
    number, offset = 0, 0  # the item in which the token stands, and where in that item's constant
    for token, terminal, rivals in steps:
        item = items[number]
        if isinstance(item, Slot):
            if any(_may_begin_with(rival, item.characters) for rival in rivals):
                return False
            number, offset = number + 1, 0
            continue
        after = items[number + 1] if number + 1 < len(items) else None
        if not is_constant(terminal) and offset + len(token) == len(item):
            return False  # a frozen text that a slot follows could go on in it
        run = item[offset:]
        if any(_may_run_on(rival, run, after) for rival in rivals):
            return False
        offset += len(token)
        if offset == len(item):
            number, offset = number + 1, 0
    return True


def _may_begin_with(rival: TerminalDef, characters: frozenset[str]) -> bool:
    if is_constant(rival):
        return holds(characters, rival.pattern.value[0])
    theirs = characters_of(rival)
    return theirs is None or bool(theirs & characters)


def _may_run_on(rival: TerminalDef, run: str, after: str | Slot | None) -> bool:
    """Tell whether a preferred terminal could match a run of constants together with the slot behind it."""
    if not is_constant(rival):
        return True
    text = str(rival.pattern.value)
    if len(text) <= len(run) or not text.startswith(run):
        return False
    return isinstance(after, Slot) and holds(after.characters, text[len(run)])
