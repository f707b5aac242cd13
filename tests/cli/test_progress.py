from __future__ import annotations

import io
import itertools

import pytest

from kvforensics.cli import progress
from kvforensics.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def seconds(monkeypatch):
    """A clock that goes on by a second whenever it is asked."""
    ticks = itertools.count()
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(ticks)))


def test_a_short_read_says_nothing(monkeypatch):
    monkeypatch.setattr(progress.time, "monotonic", lambda: 0.0)
    stream = Terminal()
    shown = Progress(stream)
    shown("a.log", 1, 2)
    shown.close()
    assert stream.getvalue() == ""


@pytest.mark.usefixtures("seconds")
def test_a_terminal_has_one_line_that_moves_and_is_gone_at_the_end():
    stream = Terminal()
    shown = Progress(stream)
    for done in range(1, 6):
        shown("a.log", done * 2**20, 10 * 2**20)
    shown.close()
    text = stream.getvalue()
    assert "\n" not in text
    assert "\rreading a.log: 5 of 10 MiB (50 %)" in text
    assert text.endswith("\r")


@pytest.mark.usefixtures("seconds")
def test_elsewhere_a_plain_line_stands_now_and_then():
    stream = io.StringIO()
    shown = Progress(stream)
    for done in range(25):
        shown("a.log", done * 2**20, None)
    shown.close()
    lines = stream.getvalue().splitlines()
    assert 1 <= len(lines) <= 3
    assert lines[0].startswith("reading a.log: ")
    assert "\r" not in stream.getvalue()


@pytest.mark.usefixtures("seconds")
def test_a_name_does_not_steer_the_terminal():
    stream = Terminal()
    shown = Progress(stream)
    for _ in range(5):
        shown("\x1b[31m\u202ea.log", 1, None)
    assert "\x1b" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
