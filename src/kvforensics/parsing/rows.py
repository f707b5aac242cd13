"""Rows: rules, terminals and parsers of Lark as plain values, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from lark import Lark
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.lexer import PatternRE, PatternStr, TerminalDef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lark.grammar import Symbol

_HIDDEN = "-"  # before the name of a terminal that trees leave out


class TerminalRow(msgspec.Struct, array_like=True, frozen=True):
    """A terminal."""

    name: str
    text: str
    is_constant: bool
    flags: list[str]
    priority: int
    width: tuple[int, int]

    @classmethod
    def of(cls, terminal: TerminalDef) -> TerminalRow:
        """Return the row of a terminal."""
        pattern = terminal.pattern
        is_constant = isinstance(pattern, PatternStr)
        width = int(pattern.min_width), int(pattern.max_width)
        return cls(
            str(terminal.name),
            str(pattern.value),
            is_constant,
            sorted(pattern.flags),
            terminal.priority,
            width,
        )

    def terminal(self) -> TerminalDef:
        """Return the terminal."""
        if self.is_constant:
            return TerminalDef(self.name, PatternStr(self.text, self.flags), self.priority)
        pattern = PatternRE(self.text, self.flags)
        pattern._width = self.width  # noqa: SLF001 - else Lark parses the expression to tell it
        return TerminalDef(self.name, pattern, self.priority)


class RuleRow(msgspec.Struct, array_like=True, frozen=True):
    """One alternative of a rule."""

    origin: str
    expansion: list[str]
    order: int
    alias: str | None
    keep_all_tokens: bool
    expand1: bool
    empty_indices: list[bool]

    @classmethod
    def of(cls, rule: Rule) -> RuleRow:
        """Return the row of a rule."""
        options = rule.options
        if options.priority is not None or options.template_source:
            raise ValueError(f"{rule}: tables know neither priorities nor templates of rules")
        return cls(
            str(rule.origin.name),
            [_named(symbol) for symbol in rule.expansion],
            rule.order,
            None if rule.alias is None else str(rule.alias),
            bool(options.keep_all_tokens),
            bool(options.expand1),
            list(options.empty_indices),
        )

    def rule(self) -> Rule:
        """Return the rule."""
        options = RuleOptions(self.keep_all_tokens, self.expand1, empty_indices=tuple(self.empty_indices))
        symbols = [_symbol(name) for name in self.expansion]
        return Rule(NonTerminal(self.origin), symbols, self.order, self.alias, options)


def _named(symbol: Symbol) -> str:
    if isinstance(symbol, Terminal) and symbol.filter_out:
        return _HIDDEN + str(symbol.name)
    return str(symbol.name)


def _symbol(name: str) -> Symbol:
    if name.startswith(_HIDDEN):
        return Terminal(name[1:], filter_out=True)
    return Terminal(name) if name.lstrip("_")[:1].isupper() else NonTerminal(name)


class ParserRow(msgspec.Struct, array_like=True, frozen=True):
    """An LALR parser. A state says of each symbol: go to state n, or at -n apply rule n - 1."""

    start: str
    terminals: list[TerminalRow]
    ignored: list[str]
    rules: list[RuleRow]
    states: list[dict[str, int]]
    end: int

    @classmethod
    def of(cls, parser: Lark) -> ParserRow:
        """Return the row of a parser. Its states are numbered from the start in the order of symbols.

        (Lark numbers them by the hashes of strings, in another way in each process.)
        """
        (start,) = parser.options.start
        table: Any = parser.parser.parser._parse_table  # noqa: SLF001 - what `Lark.save` saves
        rules = {rule: number for number, rule in enumerate(parser.rules)}
        numbers = {table.start_states[start]: 0}
        states: list[dict[str, int]] = []
        for state in (reached := list(numbers)):
            row = {}
            for symbol, (_, to) in sorted(table.states[state].items()):
                if isinstance(to, Rule):
                    row[symbol] = -1 - rules[to]
                    continue
                if to not in numbers:
                    numbers[to] = len(numbers)
                    reached.append(to)
                row[symbol] = numbers[to]
            states.append(row)
        return cls(
            start,
            [TerminalRow.of(terminal) for terminal in parser.terminals],
            list(parser.ignore_tokens),
            [RuleRow.of(rule) for rule in parser.rules],
            states,
            numbers[table.end_states[start]],
        )

    def parser(self, options: Mapping[str, Any]) -> Lark:
        """Return the parser, as `Lark.load` gives one that `Lark.save` saved."""
        made: list[Any] = [*(row.rule() for row in self.rules), *(row.terminal() for row in self.terminals)]
        rules = [{"@": number} for number in range(len(self.rules))]
        terminals = [{"@": number} for number in range(len(self.rules), len(made))]
        symbols = sorted({symbol for state in self.states for symbol in state})
        states = {
            number: {symbol: (1, rules[-1 - to]) if to < 0 else (0, to) for symbol, to in state.items()}
            for number, state in enumerate(self.states)
        }
        data = {
            "options": {**options, "start": [self.start]},
            "rules": rules,
            "parser": {
                "lexer_conf": {
                    "terminals": terminals,
                    "ignore": self.ignored,
                    "g_regex_flags": 0,
                    "use_bytes": False,
                    "lexer_type": options["lexer"],
                },
                "parser_conf": {"rules": rules, "start": [self.start], "parser_type": options["parser"]},
                "parser": {
                    "tokens": {symbol: symbol for symbol in symbols},
                    "states": states,
                    "start_states": {self.start: 0},
                    "end_states": {self.start: self.end},
                },
            },
        }
        return Lark.load({"data": data, "memo": dict(enumerate(made))})
