"""Settings read one by one are those that a parse of the whole text gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lark import UnexpectedInput

from kvforensics.parsing import settings_scan
from kvforensics.parsing.server_args import _parsed
from kvforensics.parsing.settings_scan import whole
from kvforensics.parsing.settings_values import parser

LINES = [
    line.split("server_args=", 1)[1]
    for line in (Path(__file__).parents[1] / "samples" / "sglang-line-samples.txt")
    .read_text("utf-8")
    .splitlines()
    if "] server_args=" in line
]
# what values, names and separators are made of, to be put together in any order
PIECES = st.sampled_from(
    ["None", "True", "1", "-2.5e-3", "inf", "nan", ".5", "'a'", '"b"', "r'\\'", "b'x'", "'it\\'s'", "''", "torch.bfloat16",
     "x", "set()", "C(", "C(k=1", "k=", "'k': ", "(", ")", "[", "]", "{", "}", "<A: 'b'>", "<", ">", "'", '"', "\\", ",", ", ",
     ",\t", " ", "\n", "=", ":", "é", "None.x", "Nonex", "1x", "<a <b> c>"]
)  # fmt: skip
VALUES = st.lists(PIECES, min_size=1, max_size=5).map("".join)
PLAIN = st.sampled_from(
    ["None", "5", "0.85", "'auto'", "[1, 2]", "{'a': 'b'}", "C(k=[1])", "<A.b: 'c'>", "torch.x", "'a' 'b'"]
)


def by_a_parse(text):
    try:
        parser().parse(text)
    except UnexpectedInput:
        return None
    return _parsed(text)[0]


def written(form, values):
    if form == "repr":
        return "ServerArgs(" + ", ".join(f"s{n}={value}" for n, value in enumerate(values)) + ")"
    return "{" + ", ".join(f"'s{n}': {value}" for n, value in enumerate(values)) + "}"


def agrees(text):
    found, expected = whole(text), by_a_parse(text)
    assert found is None or found == expected, text
    if found is not None:
        assert [type(value) for value in found.values()] == [type(value) for value in expected.values()], text
    return found


@pytest.mark.parametrize("text", LINES, ids=lambda text: str(len(text)))
def test_the_lines_of_eight_releases_need_no_parse_of_the_whole(text):
    assert agrees(text) is not None


@pytest.mark.parametrize("form", ["repr", "dict"])
@given(values=st.lists(PLAIN, min_size=1, max_size=4))
def test_well_formed_settings_are_all_read(form, values):
    assert len(agrees(written(form, values)) or ()) == len(values)


@settings(max_examples=400)
@given(
    st.sampled_from(["repr", "dict"]),
    st.lists(PLAIN | VALUES, min_size=1, max_size=3),
    st.sampled_from(["", " ", "x", ")", ",", "\n"]),
)
@example("repr", ["1, b=2"], "")
@example("repr", ["C(k=1), d=(2"], "")
@example("repr", ["<a>, b=<c>"], "")
@example("dict", ["1}, {'b': 2"], "")
def test_any_values_are_those_of_a_parse_or_left_to_it(form, values, tail):
    agrees(written(form, values) + tail)


@settings(max_examples=200)
@given(st.sampled_from(LINES), st.integers(0, 10_000), st.integers(0, 3), PIECES)
def test_a_damaged_line_is_read_as_a_parse_reads_it_or_left_to_it(line, at, gone, piece):
    at %= len(line)
    agrees(line[:at] + piece + line[at + gone :])


def test_a_name_that_is_there_twice_has_its_first_value():
    assert whole("ServerArgs(a=1, a=2)") == {"a": 1}


@pytest.mark.parametrize(
    "text",
    ["ServerArgs()", "ServerArgs(a=1", "ServerArgs(a=1,)", "ServerArgs(a=1) and more", "Other(a=1)", "{1: 2}", "", "ServerArgs(a=)",
     "ServerArgs(a=1, b=[" + "1, " * 5_000 + "1])", "ServerArgs(a=1, b='" + "x" * 500_000],
)  # fmt: skip
def test_what_is_left_to_a_parse(text):
    assert whole(text) is None


def test_values_that_were_parsed_are_remembered(monkeypatch):
    text = "ServerArgs(a=[1, 2], b=[3, 4])"
    first = whole(text)
    monkeypatch.setattr(settings_scan, "value_of", lambda *_: pytest.fail("it was parsed again"))
    assert whole(text) == first == {"a": [1, 2], "b": [3, 4]}
