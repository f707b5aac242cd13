"""A grammar's text, compiled by Lark: what a table keeps so that it need not be done again."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from lark import Lark
from lark.grammar import NonTerminal, Terminal
from lark.lexer import PatternStr
from lark.load_grammar import Grammar as LarkGrammar
from lark.load_grammar import load_grammar

from kvforensics.parsing.beginnings import beginnings_of
from kvforensics.parsing.needles import rarest
from kvforensics.parsing.rules import Rules
from kvforensics.parsing.sources import folder

if TYPE_CHECKING:
    from lark.lexer import TerminalDef


class Compilation:
    """A grammar whose kinds are the alternatives of the rule `root`; `also` are further rules to compile."""

    # Of the parser of one kind. Its trees keep every token, with its position.
    options: ClassVar[dict[str, Any]] = {
        "parser": "lalr",
        "lexer": "contextual",
        "keep_all_tokens": True,
        "maybe_placeholders": False,
    }

    def __init__(self, name: str, source: str, root: str, also: tuple[str, ...] = ()) -> None:
        self._grammar = load_grammar(source, f"{name}.lark", [str(folder())], True)[0]  # type: ignore[no-untyped-call]
        self.kinds = _alternatives(self._grammar, root)
        if not self.kinds:
            raise ValueError(f"{name}.lark has no rule `{root}`")
        self.opens = _alternatives(self._grammar, "opens")
        terminals, rules, _ = self._grammar.compile([*self.kinds, *also], set())
        self.rules = Rules(self.kinds, rules, terminals)
        self.slots = self.rules.slots

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """The columns of each kind, in the order in which its rules name them."""
        return {kind: self.rules.columns(kind) for kind in self.kinds}

    @cached_property
    def needles(self) -> dict[str, tuple[str, ...]]:
        """Of each kind, constants one of which stands in every line of that kind."""
        return {kind: self.rules.needles(kind) for kind in self.kinds}

    @cached_property
    def grams(self) -> dict[str, str]:
        """Of each constant, characters by which it is looked for."""
        return rarest(sorted({needle for needles in self.needles.values() for needle in needles}))

    @cached_property
    def beginnings(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Of each kind, how its texts begin: a slot's expression, and the constant behind it."""
        return {kind: beginnings_of(self.rules, kind) for kind in self.kinds}

    def parser(self, kind: str) -> Lark:
        """Return a parser of one kind: such parsers build fast and never conflict."""
        part = _part(self._grammar, kind)
        return Lark(part, start=kind, edit_terminals=_constants_first, **self.options)


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


def _part(grammar: LarkGrammar, kind: str) -> LarkGrammar:
    """Return what one kind needs of a grammar."""
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
