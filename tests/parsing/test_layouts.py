"""Layouts are learnt from Lark's parse, and only where they can be proved."""

from __future__ import annotations

import pytest

from kvforensics.parsing.grammar import Grammar, load
from kvforensics.parsing.layouts import Layout, Slot, learn, match_any

DECODE = "Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, cuda graph: True, #queue-req: 2"


def learnt(text: str, grammar: Grammar | None = None) -> Layout | None:
    grammar = grammar or load("scheduler")
    parsed = grammar.parse(text)
    assert parsed is not None
    tree = grammar.tree(parsed.kind, text)
    assert tree is not None
    return learn(grammar, parsed.kind, text, tree)


def test_a_layout_is_the_constants_and_slots_of_one_parse() -> None:
    layout = learnt(DECODE)
    assert layout is not None
    assert [item if isinstance(item, str) else item.column for item in layout.items] == [
        "Decode batch, #running-req: ", "running", ", #token: ", "tokens", ", token usage: ", "usage",
        ", cuda graph: ", "cuda_graph", ", #queue-req: ", "queue",
    ]  # fmt: skip
    assert layout.fields(DECODE.replace("20227", "5")) == {
        "running": 7,
        "tokens": 5,
        "usage": 0.2,
        "cuda_graph": True,
        "queue": 2,
    }


def test_lines_of_one_make_have_one_layout_and_others_another() -> None:
    assert learnt(DECODE) == learnt(DECODE.replace("7,", "19,").replace("True", "False"))
    assert learnt(DECODE) != learnt(DECODE + ", ")
    assert learnt(DECODE) != learnt(DECODE.replace("cuda graph", "cpu graph"))


@pytest.mark.parametrize(
    "text",
    [
        f"{DECODE} ",
        f"{DECODE}\n",
        f" {DECODE}",
        DECODE.replace("7,", "+7,"),
        DECODE.replace("0.20", "0.2e1"),
        DECODE[:-1],
    ],
)
def test_a_text_of_another_make_gives_nothing(text: str) -> None:
    layout = learnt(DECODE)
    assert layout is not None
    assert layout.fields(text) is None


def test_tags_and_keys_are_part_of_a_layout() -> None:
    line = "Decode batch, #running-req: 7, tree budget: 8, #queue-req: 2"
    layout = learnt(line)
    assert layout is not None
    assert layout.fields(line.replace("budget: 8", "budget: 9")) == {"running": 7, "queue": 2}
    assert layout.fields(line.replace("tree budget", "other key")) is None
    refused = learnt(
        "[http_server] Error: The input (5 tokens) is longer than the model's context length (4 tokens)."
    )
    assert refused is not None
    assert dict(refused.constants) == {"layer": "[http_server] Error: ", "gate": "context"}


@pytest.mark.parametrize(
    ("rules", "text", "why"),
    [
        ('a: "x " v "5y"\nv: INT', None, "a successor that the slot could swallow never parses"),
        ('a: "x " v w\nv: NAME\nw: LOW\nLOW.-1: /[a-z0-9;]+/', "x a;b", "two slots that share characters"),
        (
            'a: "x " v | "x " f "."\nv: NAME\nf: FLAG\nFLAG.2: /on|off/',
            "x b",
            "a terminal that outranks the slot",
        ),
        ('a: "x " v | "x " "y: " w\nv: NAME\nw: INT', "x b", "a constant that may begin where the slot does"),
        ('a: "x " v\nv: AHEAD\nAHEAD: /[a-z]+(?=$)/', "x b", "look-ahead"),
        ('a: "x " v\nv: WORDS\nWORDS: /a|ab/', "x a", "words that begin each other"),
    ],
)
def test_what_cannot_be_proved_is_not_learnt(rules: str, text: str | None, why: str) -> None:
    grammar = Grammar("doubtful", f"%import .common (INT, NAME)\nkind: a\n{rules}\n")
    if text is None:
        assert grammar.parse("x 55y") is None, why
    else:
        assert learnt(text, grammar) is None, why


def test_a_slot_may_be_followed_by_free_text_at_the_end() -> None:
    grammar = Grammar("free", '%import .common (NAME, TEXT)\nkind: a\na: "x " v ": " t\nv: NAME\nt: TEXT\n')
    layout = learnt("x a: b, c: d", grammar)
    assert layout is not None
    assert layout.fields("x zz: e: f, g") == {"v": "zz", "t": "e: f, g"}
    assert layout.fields("x zz: e\nf") is None


def test_a_layout_gives_way_to_a_kind_that_is_tried_before() -> None:
    grammar = Grammar(
        "two",
        '%import .common (INT, TEXT)\nkind: first | second\nfirst: "x " n "!"\nsecond: "x " t\nn: INT\nt: TEXT\n',
    )
    layout = learnt("x abc", grammar)
    assert layout is not None
    assert layout.kind == "second"
    assert layout.fields("x 5?") == {"t": "5?"}
    assert layout.fields("x 5!") is None, "the first kind reads that"


def test_fixed_width_slots_may_touch() -> None:
    layout = learnt("[2026-05-12 10:11:12.345 TP0] ", load("prefix", "prefix"))
    assert layout is not None
    assert [i.column for i in layout.items if isinstance(i, Slot)] == ["stamp", "fraction", "tp"]


def test_the_first_layout_that_fits_is_taken() -> None:
    layout = learnt(DECODE)
    assert layout is not None
    found = match_any([layout], DECODE)
    assert found is not None
    assert found[0] is layout
    assert match_any([layout], "x") is None


def test_a_line_of_very_many_pairs_is_not_learnt() -> None:
    line = "Decode batch, #running-req: 7" + ", a key: 1" * 200
    assert load("scheduler").parse(line) is not None
    assert learnt(line) is None
