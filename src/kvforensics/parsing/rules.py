"""What the rules of a grammar say of texts: columns, constants, beginnings, regular expressions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lark.grammar import NonTerminal, Terminal
from lark.lexer import PatternStr

from kvforensics.parsing.terminals import characters_of, escaped, is_constant, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from lark.grammar import Rule, Symbol
    from lark.lexer import Pattern, TerminalDef


def column_of(rule: str) -> str:
    """Return the column that a rule fills: `gate__pool__input` fills `gate` (with `pool`)."""
    return rule.partition("__")[0]


class Rules:
    """The rules and terminals that Lark compiled from a grammar whose kinds are these."""

    def __init__(self, kinds: Iterable[str], rules: Sequence[Rule], terminals: Sequence[TerminalDef]) -> None:
        self.kinds = tuple(kinds)
        self.rules = rules
        self.terminals = terminals
        self._patterns = {terminal.name: terminal for terminal in terminals}
        self._by_origin: dict[str, list[Rule]] = {}
        for rule in rules:
            self._by_origin.setdefault(rule.origin.name, []).append(rule)

    @cached_property
    def slots(self) -> dict[str, str]:
        """The rules that have exactly one terminal as only child, with that terminal's name.

        A rule whose alternatives are constants is a tag and has "" for its terminal. Constants may stand
        beside a terminal: they are values of the column that the terminal does not read, or not there.
        """
        expansions: dict[str, list[list[Symbol]]] = {}
        for rule in self.rules:
            expansions.setdefault(rule.alias or rule.origin.name, []).append(list(rule.expansion))
        found: dict[str, str] = {}
        for name, bodies in expansions.items():
            if name in self.kinds or name.startswith("_"):
                continue
            if any(len(body) != 1 or not body[0].is_term for body in bodies):
                continue
            slots = {b[0].name for b in bodies if not isinstance(self._pattern(b[0]), PatternStr)}
            if len(slots) > 1:
                raise ValueError(f"column {name} has more than one terminal: {sorted(slots)}")
            found[name] = slots.pop() if slots else ""
        return found

    def columns(self, kind: str) -> dict[str, str]:
        """Return the columns of a kind, in the order in which its rules name them."""
        return {column_of(n): self.slots[n] for n in self._reachable(kind) if n in self.slots}

    def needles(self, kind: str) -> tuple[str, ...]:
        """Return constants one of which stands in every line of a kind."""
        needles = self._needles(kind, ())
        if needles is None:
            raise ValueError(f"an alternative of {kind} has no constant text")
        return tuple(sorted(needles))

    def bodies(self, rule: str) -> list[list[Symbol]]:
        """Return the alternatives of a rule, as Lark compiled them."""
        return [list(body.expansion) for body in self._by_origin[rule]]

    def terminal(self, name: str) -> TerminalDef:
        """Return a terminal by its name."""
        return self._patterns[name]

    def regex(self, rule: str) -> str:
        """Return a regular expression for a rule's texts; a rule may hold itself at its left end only."""
        bodies = self.bodies(rule)
        first = sorted((b for b in bodies if not (b and b[0] == NonTerminal(rule))), key=lambda b: not b)
        again = [b[1:] for b in bodies if b and b[0] == NonTerminal(rule)]
        pattern = f"(?:{'|'.join(map(self._regex_of, first))})"
        return f"{pattern}(?:{'|'.join(map(self._regex_of, again))})*" if again else pattern

    def is_plain(self, kind: str) -> bool:
        """Tell whether Rust reads the regular expression of this kind as Python does."""
        symbols = (
            s for name in self._reachable(kind) for r in self._by_origin.get(name, ()) for s in r.expansion
        )
        return all(characters_of(self._patterns[s.name]) is not None for s in symbols if s.is_term)

    def openings(self, kind: str) -> set[tuple[str, str, int, str]]:
        """Return how a kind's texts begin and end: a constant, the column behind it, its width; a constant.

        Empty when some begin otherwise, or with a column whose width differs from text to text.
        """
        found = set()
        for rule in self._by_origin[kind]:
            opening = self._opening(rule)
            if opening is None:
                return set()
            found.add(opening)
        return found

    def _opening(self, rule: Rule) -> tuple[str, str, int, str] | None:
        constant, column = [*rule.expansion[:2], None, None][:2]
        if not isinstance(constant, Terminal) or column is None or column.name not in self.slots:
            return None
        lead, terminal = self._patterns[constant.name], self.slots[column.name]
        width = width_of(self._patterns[terminal]) if terminal else None
        last = [s.name for s in rule.expansion if s.is_term and is_constant(self._patterns[s.name])][-1:]
        if not is_constant(lead) or not width or not last:
            return None
        return str(lead.pattern.value), column.name, width, str(self._patterns[last[0]].pattern.value)

    def _regex_of(self, symbols: Iterable[Symbol]) -> str:
        pieces = []
        for symbol in symbols:
            if isinstance(symbol, NonTerminal):
                pieces.append(self.regex(symbol.name))
            else:
                pattern = self._pattern(symbol)
                text = str(pattern.value)
                pieces.append(escaped(text) if isinstance(pattern, PatternStr) else f"(?:{text})")
        return "".join(pieces)

    def _pattern(self, symbol: Symbol) -> Pattern:
        return self._patterns[symbol.name].pattern

    def _reachable(self, start: str) -> list[str]:
        """Return the rules and aliases under a rule, depth first in the order of the text."""
        found: dict[str, None] = {}
        stack = [start]
        while stack:
            name = stack.pop()
            if name in found:
                continue
            found[name] = None
            for rule in self._by_origin.get(name, ()):
                if rule.alias:
                    found[rule.alias] = None
            below = [
                s.name for rule in self._by_origin.get(name, ()) for s in rule.expansion if not s.is_term
            ]
            stack.extend(reversed(below))
        return list(found)

    def _needles(self, name: str, above: tuple[str, ...]) -> frozenset[str] | None:
        """Return constants one of which every derivation of a rule holds, or None where one may hold none."""
        if name in above:
            return None
        found: set[str] = set()
        for rule in self._by_origin[name]:
            choices = [self._constant(symbol, (*above, name)) for symbol in rule.expansion]
            known = [choice for choice in choices if choice]
            if not known:
                return None
            found |= max(known, key=_selectivity)
        return frozenset(found)

    def _constant(self, symbol: Symbol, above: tuple[str, ...]) -> frozenset[str] | None:
        if isinstance(symbol, NonTerminal):
            return self._needles(symbol.name, above)
        pattern = self._pattern(symbol)
        return frozenset({pattern.value}) if isinstance(pattern, PatternStr) and not pattern.flags else None


def _selectivity(needles: AbstractSet[str]) -> tuple[int, int]:
    """Order sets of constants: the longer its shortest one, the fewer lines pass in vain."""
    return min(map(len, needles)), -len(needles)
