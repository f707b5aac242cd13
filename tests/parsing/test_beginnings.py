"""How kinds begin: no text and no layout is turned away that Lark would read."""

from __future__ import annotations

import pytest
from tests.parsing.conftest import sample_lines

from kvforensics.parsing.beginnings import Beginning, beginnings, expression, may_begin
from kvforensics.parsing.grammar import Grammar, load
from kvforensics.parsing.sources import names
from kvforensics.parsing.terminals import holds_all, possible_characters, reads_on

RULES = """
%import .common (INT, NAME, TEXT)
kind: a | b | c
a: tag? "x=" n | "y " TEXT
b: name ": " TEXT | name "." n "!"
c: n+ "."
tag: "big "
n: INT
name: ERROR
ERROR: /[A-Z][a-z]+Error/
"""


@pytest.fixture
def grammar() -> Grammar:
    return Grammar("small", RULES)


def test_beginnings_go_through_rules_and_options(grammar: Grammar) -> None:
    assert beginnings(grammar, "a") == (Beginning("", "big "), Beginning("", "x="), Beginning("", "y "))
    assert beginnings(grammar, "b") == (
        Beginning("[A-Z][a-z]+Error", "."),
        Beginning("[A-Z][a-z]+Error", ": "),
    )
    assert expression(grammar, "b").match("ValueError: x")
    assert not expression(grammar, "b").match("Value: x")


@pytest.mark.parametrize(
    ("kind", "lead", "may"),
    [
        ("a", "big x", True),
        ("a", "bi", True),
        ("a", "small", False),
        ("b", "ValueError: no", True),
        ("b", "ValueEr", True),
        ("b", "Receive: obj=", False),
        ("b", "Value=", False),
        ("c", "12", True),
        ("c", "1x", True),  # what repeats itself is not looked into
    ],
)
def test_a_kind_may_begin_with_a_lead(grammar: Grammar, kind: str, lead: str, may: bool) -> None:
    assert may_begin(grammar, kind, lead) is may


@pytest.mark.parametrize("name", names())
def test_a_sample_may_begin_as_it_does(name: str) -> None:
    grammar = load(name)
    for line in sample_lines(name):
        for kind in grammar.kinds:
            if grammar.tree(kind, line) is not None:
                assert expression(grammar, kind).match(line)
                assert all(may_begin(grammar, kind, line[:size]) for size in (1, 3, 6, 12, len(line)))


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (r"[A-Z][a-z]+(?=x)", "AZazx", "0:=("),
        (r"(?:ab|c)+?", "abc", "|?:("),
        (r"\(a\)", "(a)", "b"),
        (r"[^\s,]+", "a:é", ", "),
        (r"\d.", "0x é", ""),
        ("a{2,3}", "a23,", "b"),
    ],
)
def test_characters_that_a_pattern_may_take(pattern: str, inside: str, outside: str) -> None:
    found = possible_characters(pattern)
    assert holds_all(found, inside)
    assert not any(holds_all(found, char) for char in outside)


def test_patterns_that_read_on() -> None:
    assert [reads_on(p) for p in ("a(?=b)", "(?<!x)a", "a$", r"a\\b", "(?:a)", "[$]")] == [
        True,
        True,
        True,
        True,
        False,
        True,
    ]
