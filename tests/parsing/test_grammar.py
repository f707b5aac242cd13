"""The loader: kinds, columns, types and the literal filter come out of the grammar's text."""

from __future__ import annotations

from datetime import datetime

import pytest
from lark import Lark
from tests.parsing.conftest import sample_lines

from kvforensics.parsing.grammar import Grammar, load
from kvforensics.parsing.sources import folder, names
from kvforensics.parsing.values import typed

SMALL = """
%import .common (INT, FLOAT, BOOL, NAME, TEXT)
kind: pool | word | note
opens: note
pool: state__new "pool " size ["/" share] | state__old__style "old pool of " size
word: "word " name ": " text | name " alone"
note: "note " flag
state__new: "new "
state__old__style: "an "
size: INT
share: FLOAT
name: NAME
text: TEXT
flag: BOOL
"""


@pytest.fixture
def small() -> Grammar:
    return Grammar("small", SMALL)


def test_kinds_stand_in_the_order_of_the_rule(small: Grammar) -> None:
    assert small.kinds == ("pool", "word", "note")


def test_columns_are_rules_with_one_terminal(small: Grammar) -> None:
    assert dict(small.columns["pool"]) == {"state": "", "size": "INT", "share": "FLOAT"}
    assert dict(small.columns["word"]) == {"name": "NAME", "text": "TEXT"}


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("new pool 5", "pool", {"state": "new", "size": 5}),
        ("new pool 5/0.25", "pool", {"state": "new", "size": 5, "share": 0.25}),
        ("an old pool of 7", "pool", {"state": "old", "size": 7}),
        ("word a: b: c", "word", {"name": "a", "text": "b: c"}),
        ("word alone", "word", {"name": "word"}),
        ("note True", "note", {"flag": True}),
    ],
)
def test_a_text_gives_its_kind_and_typed_fields(
    small: Grammar, text: str, kind: str, fields: dict[str, object]
) -> None:
    if text == "word alone":
        assert small.parse(text) is None, "a constant wins over a slot at the same place"
    else:
        assert small.parse(text) == (kind, fields)


@pytest.mark.parametrize("text", ["new pool", "new pool 5 ", "new pool x", "xnew pool 5", "", "note true"])
def test_a_text_that_is_not_wholly_of_a_kind_is_none(small: Grammar, text: str) -> None:
    assert small.parse(text) is None


def test_the_literal_filter_is_made_of_the_constants(small: Grammar) -> None:
    assert small.needles["pool"] == ("old pool of ", "pool ")
    assert small.candidates("xx old pool of xx") == ["pool"]
    assert small.candidates("nothing") == []


def test_kinds_that_open_a_block(small: Grammar) -> None:
    assert small.opens == {"note"}


def test_an_alternative_without_a_constant_is_refused() -> None:
    bad = Grammar("bad", '%import .common (NAME)\nkind: a\na: name | "b"\nname: NAME\n')
    with pytest.raises(ValueError, match="no constant"):
        _ = bad.needles


def test_a_column_with_two_types_is_refused() -> None:
    with pytest.raises(ValueError, match="more than one terminal"):
        Grammar("bad", '%import .common (INT, NAME)\nkind: a\na: "x " b\nb: INT | NAME\n')


def test_a_grammar_without_kinds_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule `kind`"):
        Grammar("bad", 'a: "x"\n')


@pytest.mark.parametrize(
    ("terminal", "text", "value"),
    [
        ("INT", "0042", 42),
        ("INT", str(2**63 - 1), 2**63 - 1),
        ("INT", str(2**63), None),
        ("SINT", str(-(2**63)), -(2**63)),
        ("INT", "9" * 10_000, None),
        ("INT", "0" * 10_000 + "1", 1),
        ("FLOAT", "0.5", 0.5),
        ("FLOAT", "9" * 400 + ".0", None),
        ("BOOL", "False", False),
        ("STAMP", "2026-05-12 10:11:12", datetime(2026, 5, 12, 10, 11, 12)),
        ("STAMP", "2026-02-30 10:11:12", None),
        ("NAME", "x", "x"),
    ],
)
def test_values_by_terminal(terminal: str, text: str, value: object) -> None:
    assert typed(terminal, text) == value


@pytest.mark.parametrize("name", names())
def test_every_grammar_has_filters_samples_and_parsers(name: str) -> None:
    loaded = load(name)
    assert set(loaded.needles) == set(loaded.kinds)
    assert all(isinstance(loaded.parser(kind), Lark) for kind in loaded.kinds)
    read = {parsed.kind for parsed in map(loaded.parse, sample_lines(name)) if parsed is not None}
    assert read == set(loaded.kinds), "a kind without a sample"


def test_no_pattern_takes_digits_of_other_scripts() -> None:
    for path in folder().glob("*.lark"):
        assert r"\d" not in path.read_text("utf-8").replace("never \\d", ""), path.name
