from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.report.inert import encodable, inert, inert_values


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", r"\x1b]8;;http://x\x07link\x1b]8;;\x07"),
        ("\x1b]52;c;Zm9v\x07", r"\x1b]52;c;Zm9v\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
        ("two\nlines\r\n", r"two\nlines\r\n"),
        ("tab\there", "tab here"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("[red]markup[/red] {x} 漢字 é", "[red]markup[/red] {x} 漢字 é"),
    ],
)
def test_text_that_steers_arrives_as_letters(hostile, shown):
    assert inert(hostile) == shown


@given(st.text(st.characters()))
def test_nothing_that_steers_survives(text):
    assert not {unicodedata.category(c) for c in inert(text)} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_long_text_is_cut_and_says_so():
    assert inert("x" * 50, 10) == "x" * 9 + "…"
    assert inert("x" * 10, 10) == "x" * 10


def test_what_an_encoding_cannot_say_is_escaped():
    assert encodable("→ 漢", "ascii") == r"\u2192 \u6f22"
    assert encodable("→ 漢", "utf-8") == "→ 漢"


def test_values_keep_their_shape_and_line_ends():
    value = {"a\x1b": ["x\ny\x07", 1, None, ("\u202e", {"k": 2.5})]}
    assert inert_values(value) == {r"a\x1b": ["x\ny\\x07", 1, None, [r"\u202e", {"k": 2.5}]]}
