"""How the texts of a kind begin: enough to tell most texts and most layouts from it without Lark."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from lark.grammar import NonTerminal
from msgspec import Struct

from kvforensics.parsing.terminals import escaped, holds_all, is_constant, possible_characters, reads_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lark.grammar import Symbol

    from kvforensics.parsing.grammar import Grammar
    from kvforensics.parsing.rules import Rules


class Beginning(Struct, frozen=True):
    """A slot's pattern ("" for none) and the constant behind it ("" where another slot follows)."""

    slot: str
    constant: str

    @property
    def regex(self) -> str:
        """An expression that every text with this beginning matches at its start."""
        return (f"(?:{self.slot})" if self.slot else "") + escaped(self.constant)

    def may_be(self, lead: str) -> bool:
        """Tell whether a text with this beginning may start with `lead`. May say yes where none does."""
        if not self.slot:
            return _alike(self.constant, lead)
        if holds_all(possible_characters(self.slot), lead):
            return True
        ends = (at for at in range(1, len(lead)) if _alike(self.constant, lead[at:]))
        return any(reads_on(self.slot) or re.fullmatch(self.slot, lead[:at]) for at in ends)


@cache
def beginnings(grammar: Grammar, kind: str) -> tuple[Beginning, ...]:
    """Return the beginnings of a kind's texts."""
    return grammar.beginnings(kind)


def beginnings_of(rules: Rules, kind: str) -> tuple[tuple[str, str], ...]:
    """Return slot and constant of each beginning of a kind's texts, in one order."""
    return tuple(sorted(_beginnings(rules, [NonTerminal(kind)])))


@cache
def expression(grammar: Grammar, kind: str) -> re.Pattern[str]:
    """Return an expression that the beginning of every text of a kind matches."""
    return re.compile("|".join(sorted((b.regex for b in beginnings(grammar, kind)), key=len, reverse=True)))


def may_begin(grammar: Grammar, kind: str, lead: str) -> bool:
    """Tell whether a text of a kind may start with `lead`. May say yes where none does."""
    return any(beginning.may_be(lead) for beginning in beginnings(grammar, kind))


def _alike(constant: str, text: str) -> bool:
    return constant.startswith(text) or text.startswith(constant)


def _beginnings(rules: Rules, symbols: Sequence[Symbol]) -> set[tuple[str, str]]:
    if not symbols:
        return {("", "")}
    first, rest = symbols[0], symbols[1:]
    if isinstance(first, NonTerminal):
        bodies = rules.bodies(first.name)
        if any(first in body for body in bodies):
            return {("", "")}  # it may hold itself: anything may come first
        return {b for body in bodies for b in _beginnings(rules, [*body, *rest])}
    terminal = rules.terminal(first.name)
    if is_constant(terminal):
        return {("", str(terminal.pattern.value))}
    after = rules.terminal(rest[0].name) if rest and rest[0].is_term else None
    constant = str(after.pattern.value) if after is not None and is_constant(after) else ""
    return {(str(terminal.pattern.value), constant)}
