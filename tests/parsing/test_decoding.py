"""Layouts in polars: the same values as by Lark, whatever way the slots are cut."""

from __future__ import annotations

import polars as pl
import pytest
from tests.parsing.conftest import sample_lines

from kvforensics.parsing.decoding import decode, schema_of
from kvforensics.parsing.grammar import Grammar, load
from kvforensics.parsing.layouts import Layout, learn

RULES = {
    "one slot between constants": ('a: "x=" v ";"\nv: INT', "x=5;"),
    "a separator": ('a: "x: " v ", y: " w\nv: INT\nw: FLOAT', "x: 5, y: 0.5"),
    "free text that holds the separator": ('a: "x: " v ", y: " t\nv: INT\nt: TEXT', "x: 5, y: a, b, c: d"),
    "no separator": ('a: v "x" w "yz" u\nv: INT\nw: INT\nu: NAME\nNAME: /[A-Zxyz]+/', "5x6yzAB"),
    "a fixed width first": (
        'a: "[" s f " " v\ns: STAMP\nf: FRACTION\nv: INT\nSTAMP: /[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}/\nFRACTION: /[.][0-9]+/',
        "[2026-05-12 10:11:12.345 7",
    ),
    "beyond ASCII": ('a: "é█ " v " 漢 " t\nv: NAME\nt: TEXT', "é█ ab 漢 ü😀"),
    "a slot that is no column": ('a: "x " NAME " y " v\nv: INT', "x abc y 7"),
    "booleans": ('a: "x " v ", " w\nv: BOOL\nw: BOOL', "x True, False"),
    "constants alone": ('a: s__on "nothing"\ns__on: "x "', "x nothing"),
}


def layout_for(rules: str, text: str) -> tuple[Grammar, Layout]:
    terminals = [t for t in ("INT", "FLOAT", "BOOL", "TEXT", "NAME") if f"{t}: " not in rules]
    grammar = Grammar("small", f"%import .common ({', '.join(terminals)})\nkind: a\n{rules}\n")
    tree = grammar.tree("a", text)
    assert tree is not None
    layout = learn(grammar, "a", text, tree)
    assert layout is not None
    return grammar, layout


@pytest.mark.parametrize(("rules", "text"), RULES.values(), ids=RULES.keys())
def test_every_way_to_cut_gives_what_lark_gives(rules: str, text: str) -> None:
    grammar, layout = layout_for(rules, text)
    parsed = grammar.parse(text)
    assert parsed is not None
    assert pl.Series([text]).str.contains(layout.regex).all()
    assert decode(layout, pl.Series([text, text])).to_dicts() == [parsed.fields] * 2


@pytest.mark.parametrize("text", sample_lines("scheduler"))
def test_every_sample(text: str) -> None:
    grammar = load("scheduler")
    parsed = grammar.parse(text)
    assert parsed is not None
    tree = grammar.tree(parsed.kind, text)
    assert tree is not None
    layout = learn(grammar, parsed.kind, text, tree)
    assert layout is not None
    frame = decode(layout, pl.Series([text]))
    assert (frame.to_dicts() or [{}]) == [parsed.fields]
    schema = schema_of(grammar, parsed.kind)
    assert all(frame.schema[name] == schema[name] for name in frame.columns)


def test_no_text_no_row() -> None:
    _, layout = layout_for(*RULES["a separator"])
    assert decode(layout, pl.Series([], dtype=pl.String)).shape == (0, 2)


def test_numbers_too_large_are_null_or_infinite_and_do_not_wrap() -> None:
    _, layout = layout_for(*RULES["a separator"])
    frame = decode(layout, pl.Series([f"x: {2**64 + 5}, y: {'9' * 400}.0"]))
    assert frame["v"].to_list() == [None]
    assert frame["w"].is_infinite().all()


def test_the_schema_is_the_grammars() -> None:
    schema = schema_of(load("scheduler"), "too_long")
    assert schema == {
        "layer": pl.String,
        "gate": pl.String,
        "input_tokens": pl.Int64,
        "limit_tokens": pl.Int64,
        "rid": pl.String,
        "total_tokens": pl.Int64,
        "output_tokens": pl.Int64,
    }
