"""One grammar: the kinds of line it knows, their columns, and the constants that find them.

Everything is read out of `grammars/NAME.lark`; the conventions are in docs/architecture.md. Nothing
about the shape of a line is written down in Python.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Lark, Token, Tree, UnexpectedInput
from lark.grammar import NonTerminal, Terminal
from lark.lexer import PatternStr
from lark.load_grammar import Grammar as LarkGrammar
from lark.load_grammar import load_grammar

from kvforensics.parsing.terminals import characters_of, escaped, is_constant, width_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from lark.grammar import Rule, Symbol
    from lark.lexer import TerminalDef

UNSIGNED = frozenset({"INT"})
INTEGERS = frozenset({"INT", "SINT"})
FLOATS = frozenset({"FLOAT", "NUM"})
BOOLEANS = frozenset({"BOOL"})
SCALAR = "SCALAR"  # whatever the word is: the settings that rare lines quote
_CONSTANTS = {"True": True, "False": False, "None": None}
_NUMBERS = {"SINT": re.compile(r"-?[0-9]+"), "NUM": re.compile(r"-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?")}
TIMES = frozenset({"STAMP"})
_INT64 = 2**63
_INT64_DIGITS = 19


class Parsed(NamedTuple):
    """What a grammar says of one line."""

    kind: str
    fields: dict[str, Any]


def folder() -> Path:
    """Return the folder of the grammars: in the wheel beside this package, else the checkout's."""
    packaged = Path(__file__).parents[1] / "_grammars"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "grammars"


def names() -> tuple[str, ...]:
    """Return the names of the grammars that know kinds of line, in alphabetical order."""
    found = (path for path in folder().glob("*.lark") if re.search(r"(?m)^kind\s*:", path.read_text("utf-8")))
    return tuple(sorted(path.stem for path in found))


@cache
def load(name: str, root: str = "kind", also: tuple[str, ...] = ()) -> Grammar:
    """Return the grammar of this name, loaded once a process.

    Its kinds are the root rule's alternatives; `also` are rules of which `regex` is to tell.
    """
    return Grammar(name, (folder() / f"{name}.lark").read_text("utf-8"), root, also)


def typed(terminal: str, text: str) -> Any:
    """Return the value that a column's text has by its terminal; None for a number that does not fit."""
    if terminal in INTEGERS:
        # Python refuses to convert very long digit strings, so the length is looked at first.
        digits = text.lstrip("-0") or "0"
        value = int(digits) if len(digits) <= _INT64_DIGITS else _INT64 + 1
        value = -value if text.startswith("-") else value
        return value if -_INT64 <= value < _INT64 else None
    if terminal in FLOATS:
        number = float(text)
        return number if math.isfinite(number) else None
    if terminal in BOOLEANS:
        return text == "True"
    if terminal in TIMES:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    return _scalar(text) if terminal == SCALAR else text


def _scalar(text: str) -> Any:
    """Return a Python number or constant as a value, any other word as text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    terminal = next((name for name, pattern in _NUMBERS.items() if pattern.fullmatch(text)), "TEXT")
    return typed(terminal, text)


def column_of(rule: str) -> str:
    """Return the column that a rule fills: `gate__pool__input` fills `gate` (with `pool`)."""
    return rule.partition("__")[0]


class Grammar:
    """The kinds of one grammar file.

    `kinds` stand in the order of the file's `kind` rule: where two kinds could read a line, the first
    that does wins. `columns[kind][column]` is the name of the column's terminal, or "" for a tag: a column
    that stands for constants, by their text or, where its rule is named `column__value`, by that value.
    """

    def __init__(self, name: str, source: str, root: str = "kind", also: tuple[str, ...] = ()) -> None:
        self.name = name
        self._grammar = load_grammar(source, f"{name}.lark", [str(folder())], True)[0]  # type: ignore[no-untyped-call]
        self.kinds = _alternatives(self._grammar, root)
        if not self.kinds:
            raise ValueError(f"{name}.lark has no rule `{root}`")
        self._terminals, rules, _ = self._grammar.compile([*self.kinds, *also], set())
        self._rules = _by_origin(rules)
        self._patterns: dict[str, TerminalDef] = {terminal.name: terminal for terminal in self._terminals}
        self._columns = _columns(rules, self._patterns, self.kinds)
        self._parsers: dict[str, Lark] = {}

    @cached_property
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """The columns of each kind, in the order in which its rules name them."""
        found = {}
        for kind in self.kinds:
            reachable = self._reachable(kind)
            found[kind] = MappingProxyType(
                {column_of(n): self._columns[n] for n in reachable if n in self._columns}
            )
        return MappingProxyType(found)

    @cached_property
    def needles(self) -> Mapping[str, tuple[str, ...]]:
        """Of each kind, constants one of which stands in every line of that kind."""
        found = {}
        for kind in self.kinds:
            needles = self._needles(kind, ())
            if needles is None:
                raise ValueError(f"{self.name}.lark: an alternative of {kind} has no constant text")
            found[kind] = tuple(sorted(needles))
        return MappingProxyType(found)

    @cached_property
    def opens(self) -> frozenset[str]:
        """The kinds that prefix-less lines may follow which belong to them: the alternatives of `opens`."""
        return frozenset(_alternatives(self._grammar, "opens"))

    def candidates(self, text: str) -> list[str]:
        """Return the kinds whose constants stand in the text, in the grammar's order."""
        return [kind for kind, needles in self.needles.items() if any(needle in text for needle in needles)]

    def parser(self, kind: str) -> Lark:
        """Return the LALR parser of one kind. Its trees keep every token, with its position."""
        known = self._parsers.get(kind)
        if known is None:
            part = _part(self._grammar, kind)
            known = self._parsers[kind] = Lark(
                part,
                start=kind,
                parser="lalr",
                keep_all_tokens=True,
                maybe_placeholders=False,
                edit_terminals=_constants_first,
            )
        return known

    def tree(self, kind: str, text: str) -> Tree[Token] | None:
        """Return the parse tree of a whole text as this kind, or None when it is none."""
        try:
            return self.parser(kind).parse(text)
        except UnexpectedInput:
            return None

    def parse(self, text: str) -> Parsed | None:
        """Return the kind and fields of a whole text without its prefix, or None when nothing fits."""
        for kind in self.candidates(text):
            tree = self.tree(kind, text)
            if tree is not None:
                return Parsed(kind, self.fields(tree))
        return None

    def fields(self, tree: Tree[Token]) -> dict[str, Any]:
        """Return the typed columns of a tree; a column that is named twice keeps its first value."""
        found: dict[str, Any] = {}
        for rule, token in self.slots(tree):
            column = column_of(rule)
            if column not in found:
                found[column] = self.value(rule, str(token))
        return found

    def value(self, rule: str, text: str) -> Any:
        """Return the value of a column's rule whose token has this text."""
        _, marked, value = rule.partition("__")
        return value.partition("__")[0] if marked else typed(self._columns[rule], text)

    def slots(self, tree: Tree[Token]) -> list[tuple[str, Token]]:
        """Return the rules that are columns of a tree with their tokens, in the order of the text."""
        found: list[tuple[str, Token]] = []
        stack: list[Tree[Token] | Token] = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Token):
                continue
            if node.data in self._columns:
                token = node.children[0]
                assert isinstance(token, Token)
                found.append((str(node.data), token))
            else:
                stack.extend(reversed(node.children))
        return found

    def regex(self, rule: str) -> str:
        """Return a regular expression for a rule's texts; a rule may hold itself at its left end only."""
        bodies = [list(rule_.expansion) for rule_ in self._rules[rule]]
        first = sorted((b for b in bodies if not (b and b[0] == NonTerminal(rule))), key=lambda b: not b)
        again = [b[1:] for b in bodies if b and b[0] == NonTerminal(rule)]
        pattern = f"(?:{'|'.join(map(self._regex_of, first))})"
        return f"{pattern}(?:{'|'.join(map(self._regex_of, again))})*" if again else pattern

    def _regex_of(self, symbols: Iterable[Symbol]) -> str:
        pieces = []
        for symbol in symbols:
            if isinstance(symbol, NonTerminal):
                pieces.append(self.regex(symbol.name))
            else:
                pattern = self._patterns[symbol.name].pattern
                text = str(pattern.value)
                pieces.append(escaped(text) if isinstance(pattern, PatternStr) else f"(?:{text})")
        return "".join(pieces)

    def bodies(self, rule: str) -> list[list[Symbol]]:
        """Return the alternatives of a rule, as Lark compiled them."""
        return [list(body.expansion) for body in self._rules[rule]]

    def pattern(self, terminal: str) -> TerminalDef:
        """Return a terminal by its name."""
        return self._patterns[terminal]

    def is_plain(self, kind: str) -> bool:
        """Tell whether Rust reads the regular expression of this kind as Python does."""
        symbols = (
            s for name in self._reachable(kind) for r in self._rules.get(name, ()) for s in r.expansion
        )
        return all(characters_of(self._patterns[s.name]) is not None for s in symbols if s.is_term)

    def openings(self, kind: str) -> set[tuple[str, str, int, str]]:
        """Return how a kind's texts begin and end: a constant, the column behind it, its width; a constant.

        Empty when some begin otherwise, or with a column whose width differs from text to text.
        """
        found = set()
        for rule in self._rules[kind]:
            opening = self._opening(rule)
            if opening is None:
                return set()
            found.add(opening)
        return found

    def _opening(self, rule: Rule) -> tuple[str, str, int, str] | None:
        constant, column = [*rule.expansion[:2], None, None][:2]
        if not isinstance(constant, Terminal) or column is None or column.name not in self._columns:
            return None
        lead, terminal = self._patterns[constant.name], self._columns[column.name]
        width = width_of(self._patterns[terminal]) if terminal else None
        last = [s.name for s in rule.expansion if s.is_term and is_constant(self._patterns[s.name])][-1:]
        if not is_constant(lead) or not width or not last:
            return None
        return str(lead.pattern.value), column.name, width, str(self._patterns[last[0]].pattern.value)

    def _reachable(self, start: str) -> list[str]:
        """Return the rules and aliases under a rule, depth first in the order of the text."""
        found: dict[str, None] = {}
        stack = [start]
        while stack:
            name = stack.pop()
            if name in found:
                continue
            found[name] = None
            for rule in self._rules.get(name, ()):
                if rule.alias:
                    found[rule.alias] = None
            below = [s.name for rule in self._rules.get(name, ()) for s in rule.expansion if not s.is_term]
            stack.extend(reversed(below))
        return list(found)

    def _needles(self, name: str, above: tuple[str, ...]) -> frozenset[str] | None:
        """Return constants one of which every derivation of a rule holds, or None where one may hold none."""
        if name in above:
            return None
        found: set[str] = set()
        for rule in self._rules[name]:
            choices = [self._constant(symbol, (*above, name)) for symbol in rule.expansion]
            known = [choice for choice in choices if choice]
            if not known:
                return None
            found |= max(known, key=_selectivity)
        return frozenset(found)

    def _constant(self, symbol: Symbol, above: tuple[str, ...]) -> frozenset[str] | None:
        if isinstance(symbol, NonTerminal):
            return self._needles(symbol.name, above)
        pattern = self._patterns[symbol.name].pattern
        return frozenset({pattern.value}) if isinstance(pattern, PatternStr) and not pattern.flags else None


def _selectivity(needles: AbstractSet[str]) -> tuple[int, int]:
    """Order sets of constants: the longer its shortest one, the fewer lines pass in vain."""
    return min(map(len, needles)), -len(needles)


def _constants_first(terminal: TerminalDef) -> None:
    """Let a constant win over a slot that could stand at the same place."""
    if isinstance(terminal.pattern, PatternStr):
        terminal.priority += 1


def _alternatives(grammar: LarkGrammar, root: str) -> tuple[str, ...]:
    """Return the alternatives of a rule, in their order; none when there is no such rule."""
    for rule, _, tree, _ in grammar.rule_defs:
        if rule == root:
            symbols = tree.scan_values(lambda value: isinstance(value, NonTerminal))
            return tuple(dict.fromkeys(str(symbol.name) for symbol in symbols))
    return ()


def _by_origin(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.origin.name, []).append(rule)
    return found


def _columns(
    rules: Iterable[Rule], patterns: Mapping[str, TerminalDef], kinds: tuple[str, ...]
) -> dict[str, str]:
    """Return the rules that have exactly one terminal as only child, with that terminal's name.

    A rule whose alternatives are constants is a tag and has "" for its terminal. Constants may stand
    beside a terminal: they are values of the column that the terminal does not read, or not there.
    """
    expansions: dict[str, list[list[Symbol]]] = {}
    for rule in rules:
        expansions.setdefault(rule.alias or rule.origin.name, []).append(list(rule.expansion))
    found: dict[str, str] = {}
    for name, bodies in expansions.items():
        if name in kinds or name.startswith("_") or any(len(b) != 1 or not b[0].is_term for b in bodies):
            continue
        slots = {b[0].name for b in bodies if not isinstance(patterns[b[0].name].pattern, PatternStr)}
        if len(slots) > 1:
            raise ValueError(f"column {name} has more than one terminal: {sorted(slots)}")
        found[name] = slots.pop() if slots else ""
    return found


def _part(grammar: LarkGrammar, kind: str) -> LarkGrammar:
    """Return what one kind needs of a grammar: parsers of single kinds build fast and never conflict."""
    rules = {definition[0]: definition for definition in grammar.rule_defs}
    terminals = dict(grammar.term_defs)
    wanted, stack = {kind}, [rules[kind][2]]
    while stack:
        tree = stack.pop()
        for symbol in tree.scan_values(lambda value: isinstance(value, (NonTerminal, Terminal))):
            if symbol.name in wanted:
                continue
            wanted.add(symbol.name)
            if symbol.name in rules:
                stack.append(rules[symbol.name][2])
            elif symbol.name in terminals:
                stack.append(terminals[symbol.name][0])
    return LarkGrammar(
        [definition for name, definition in rules.items() if name in wanted],
        [(name, definition) for name, definition in terminals.items() if name in wanted],
        grammar.ignore,
    )
