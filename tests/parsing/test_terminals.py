"""What is said of terminals without reading a text."""

from __future__ import annotations

import re

import polars as pl
import pytest
from lark.lexer import PatternRE, PatternStr, TerminalDef

from kvforensics.parsing.terminals import characters_of, escaped, holds, is_constant, width_of


def terminal(pattern: str) -> TerminalDef:
    return TerminalDef("T", PatternRE(pattern))


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("[0-9]+", "0", "-+.٣ a"),
        (r"-?[0-9]+\.[0-9]+", "-.5", "+e,"),
        ("True|False", "TrueFals", "x,"),
        (r'[^"\r\n]+', "aé漢 ", '"\r\n'),
        (r"[A-Za-z_][A-Za-z0-9_.]*", "aZ_0.", "-é"),
        (r"[0-9]{4}-[0-9]{2}", "0-", "."),
    ],
)
def test_characters_of_a_plain_pattern(pattern: str, inside: str, outside: str) -> None:
    characters = characters_of(terminal(pattern))
    assert characters is not None
    assert all(holds(characters, char) for char in inside)
    assert not any(holds(characters, char) for char in outside)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[0-9]+(?=x)",
        "a|ab",
        "(ab)?c",
        r"\d+",
        r"\w",
        "a+?",
        r"[\d]",
        ".+",
        "é",
        "[^\\s]+",
        "a(?!b)",
        "a{2}+",
    ],
)
def test_a_pattern_that_proves_nothing_is_not_plain(pattern: str) -> None:
    assert characters_of(terminal(pattern)) is None


def test_a_constant_is_its_text() -> None:
    constant = TerminalDef("C", PatternStr(", "))
    assert is_constant(constant)
    assert characters_of(constant) == {",", " "}
    assert width_of(constant) == 2
    assert not is_constant(terminal("a"))


def test_width() -> None:
    assert width_of(terminal("[0-9]{4}-[0-9]{2}")) == 7
    assert width_of(terminal("[0-9]+")) is None


def test_an_escaped_text_matches_itself_in_python_and_rust() -> None:
    text = "".join(map(chr, range(32, 127))) + "\t\r\né漢"
    assert re.fullmatch(escaped(text), text)
    assert pl.Series([text, text + "x"]).str.contains(f"^{escaped(text)}$").to_list() == [True, False]
