"""One grammar: the kinds of line it knows, their columns, and the constants that find them.

Everything is read out of `grammars/NAME.lark`, or of the table that was made of that very text; the
conventions are in docs/architecture.md. Nothing about the shape of a line is written down in Python.
"""

from __future__ import annotations

from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from lark import Token, Tree, UnexpectedInput

from kvforensics.parsing import tables
from kvforensics.parsing.beginnings import Beginning
from kvforensics.parsing.rules import column_of
from kvforensics.parsing.sources import KIND, text_of
from kvforensics.parsing.values import typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lark import Lark

    from kvforensics.parsing.rules import Rules


class Parsed(NamedTuple):
    """What a grammar says of one line."""

    kind: str
    fields: dict[str, Any]


@cache
def load(name: str, root: str = KIND, also: tuple[str, ...] = ()) -> Grammar:
    """Return the grammar of this name, loaded once a process.

    Its kinds are the root rule's alternatives; `also` are rules of which `regex` is to tell.
    """
    return Grammar(name, text_of(name), root, also)


class Grammar:
    """The kinds of one grammar file.

    `kinds` stand in the order of the file's `kind` rule: where two kinds could read a line, the first
    that does wins. `columns[kind][column]` is the name of the column's terminal, or "" for a tag: a column
    that stands for constants, by their text or, where its rule is named `column__value`, by that value.
    """

    def __init__(self, name: str, source: str, root: str = KIND, also: tuple[str, ...] = ()) -> None:
        self.name = name
        kept = tables.find(name, source, root, *also)
        self._made = kept if kept is not None else tables.compiled(name, source, root, *also)
        self.kinds = self._made.kinds
        self.opens = frozenset(self._made.opens)  # lines without a prefix that follow these belong to them
        self._parsers: dict[str, Lark] = {}

    @cached_property
    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """The columns of each kind, in the order in which its rules name them."""
        return MappingProxyType(
            {kind: MappingProxyType(columns) for kind, columns in self._made.columns.items()}
        )

    @cached_property
    def needles(self) -> Mapping[str, tuple[str, ...]]:
        """Of each kind, constants one of which stands in every line of that kind."""
        return MappingProxyType(self._made.needles)

    @property
    def grams(self) -> Mapping[str, str]:
        """Of each constant that is not very short, characters by which to look for it."""
        return self._made.grams

    @cached_property
    def rules(self) -> Rules:
        """What the rules say of texts."""
        return self._made.rules

    def beginnings(self, kind: str) -> tuple[Beginning, ...]:
        """Return how the texts of a kind begin."""
        return tuple(Beginning(slot, constant) for slot, constant in self._made.beginnings[kind])

    def regex(self, rule: str) -> str:
        """Return a regular expression for a rule's texts; a rule may hold itself at its left end only."""
        return self.rules.regex(rule)

    def candidates(self, text: str) -> list[str]:
        """Return the kinds whose constants stand in the text, in the grammar's order."""
        return [kind for kind, needles in self.needles.items() if any(needle in text for needle in needles)]

    def parser(self, kind: str) -> Lark:
        """Return the LALR parser of one kind. Its trees keep every token, with its position."""
        known = self._parsers.get(kind)
        if known is None:
            known = self._parsers[kind] = self._made.parser(kind)
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
        return value.partition("__")[0] if marked else typed(self._made.slots[rule], text)

    def slots(self, tree: Tree[Token]) -> list[tuple[str, Token]]:
        """Return the rules that are columns of a tree with their tokens, in the order of the text."""
        found: list[tuple[str, Token]] = []
        stack: list[Tree[Token] | Token] = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Token):
                continue
            if node.data in self._made.slots:
                token = node.children[0]
                assert isinstance(token, Token)
                found.append((str(node.data), token))
            else:
                stack.extend(reversed(node.children))
        return found
