"""What the compiled module says is what is said without it."""

import polars as pl
import pytest

from kvforensics import compiled

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


def test_a_user_may_do_without(monkeypatch):
    monkeypatch.setenv(compiled.WANTED, "0")
    assert compiled.module() is None


def test_a_module_of_another_version_is_not_used(monkeypatch):
    monkeypatch.setattr(compiled, "PROGRAM", -1)
    compiled._module.cache_clear()
    assert compiled.module() is None
    monkeypatch.undo()
    compiled._module.cache_clear()
