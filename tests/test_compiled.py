"""What the compiled module says is what is said without it."""

import gc
import importlib.util
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics import compiled
from kvforensics.carriers import blocks

ROOT = Path(__file__).parents[1]
TEXTS = [
    "[2026-05-12] x",
    "",
    "(a pid=1) y",
    None,
    "x",
    "\x1b[0mz",
    "[rank0]: a",
    "[default1]: b",
    "\u00e9",
    "\0a",
]


@pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], [], [None], TEXTS * 50])
def test_how_texts_begin(texts, monkeypatch):
    series = pl.Series(texts, dtype=pl.String)
    with_module = {text for text in compiled.beginnings(series) if text}
    monkeypatch.setenv(compiled.WANTED, "0")
    without = {text for text in compiled.beginnings(series) if text}
    assert {text for text in with_module if text.isascii()} == {text for text in without if text.isascii()}


@pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")
@pytest.mark.parametrize(
    ("text", "printable"),
    [
        ("", True),
        (" ~", True),
        ("a long line of plain text, longer than a view", True),
        ("\t", False),
        ("\x1f", False),
        ("\x7f", False),
        ("caf\u00e9, and some more so that it stands in a buffer", False),
        ("twenty characters\x1b[0m", False),
    ],
)
def test_what_is_printable(text, printable, monkeypatch):
    series = pl.Series(["x" * 50, None, text, "y"])
    assert compiled.are_printable(series) is printable
    assert compiled.are_printable(series[:2])
    monkeypatch.setenv(compiled.WANTED, "0")
    assert not compiled.are_printable(series)


ODD = [
    b"\xff",
    b"\xc0\x80",
    b"\xe0\x9f\xbf",
    b"\xed\xa0\x80",
    b"\xf0\x8f\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x96",
]
GOOD = [b"\n", b"\r", b"\r\n", b"a", b"a line that is no view", "é█😀".encode(), b"\x00"]
PIECES = st.sampled_from(3 * GOOD + ODD)


@pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")
@settings(deadline=None)
@given(
    st.lists(PIECES, max_size=30).map(b"".join) | st.binary(max_size=60),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_lines_where_they_lie(data, cuts):
    ends = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = tuple(data[start:end] for start, end in pairwise(ends)) or (b"",)
    with pytest.MonkeyPatch.context() as patch:
        found = compiled.lines(pieces)
        patch.setenv(compiled.WANTED, "0")
        wanted, valid = blocks._lines_of(pieces)
    assert (found is not None) == valid
    assert found is None or found.to_list() == wanted.to_list()


@pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")
def test_lines_outlive_their_bytes_and_may_go_in_any_thread():
    def pieces(data):
        return tuple(data[at : at + 5000] for at in range(0, len(data), 5000))

    def made(number):
        text = f"line {number} that is longer than a view"
        found = compiled.lines(pieces("\n".join([text] * 1000).encode()))
        gc.collect()
        part = found[number % 7 :: 3]
        del found
        return text, part

    with ThreadPoolExecutor(4) as threads:
        for text, part in list(threads.map(made, range(200))):
            assert part.n_unique() == 1
            assert part[0] == text


@pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")
@pytest.mark.parametrize("text", ["", "x", "x" * 12, "x" * 13])
def test_one_line(text):
    assert compiled.lines((text.encode() + b"\n",)).to_list() == [text]
    assert compiled.lines((b"",)).to_list() == []
    assert compiled.lines(()).to_list() == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_module_is_built_where_there_is_a_compiler(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    build = importlib.import_module("hatch_build")
    monkeypatch.setenv("CC", "cc")
    assert build.compiled(ROOT / build.SOURCES, tmp_path / build.NAME)
    spec = importlib.util.spec_from_file_location("_scan", tmp_path / build.NAME)
    assert importlib.util.module_from_spec(spec).PROGRAM == compiled.PROGRAM
    monkeypatch.setenv("CC", "false")
    assert not build.compiled(ROOT / build.SOURCES, tmp_path / "other.so")
    assert [path.name for path in tmp_path.iterdir()] == [build.NAME]


def test_a_user_may_do_without(monkeypatch):
    monkeypatch.setenv(compiled.WANTED, "0")
    assert compiled.module() is None


def test_a_module_of_another_version_is_not_used(monkeypatch):
    monkeypatch.setattr(compiled, "PROGRAM", -1)
    compiled._module.cache_clear()
    assert compiled.module() is None
    monkeypatch.undo()
    compiled._module.cache_clear()
