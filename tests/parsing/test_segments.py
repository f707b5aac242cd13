"""Lines of a message, records of a line."""

from __future__ import annotations

import polars as pl
import pytest

from kvforensics.parsing.kinds import Known
from kvforensics.parsing.prefix import prefixes
from kvforensics.parsing.segments import MAX_LINES, lines, plain, plain_series, segments

HEAD, OTHER = "[2026-05-12 10:11:12 TP0] ", "[2026-05-12 10:11:13 TP1] "


def read(body: str, bare: bool) -> Known | None:
    """Know `a…`, and without a prefix bars and JSON."""
    fits = (body.startswith("a") and "[" not in body) or (
        bare and ((body.endswith("it/s]") and body.count("it/s]") == 1) or body.startswith("{"))
    )
    return Known("k", {}, "g") if fits or body.startswith("free") else None


def cut(line: str) -> list[tuple[str | None, str, bool]]:
    return [(s.head, s.body, s.known is not None) for s in segments(line, prefixes(), read)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a", [(None, "a", True)]),
        ("x", [(None, "x", False)]),
        (f"{HEAD}a", [(HEAD, "a", True)]),
        (f"{HEAD}x", [(HEAD, "x", False)]),
        (f"bar ?it/s]{HEAD}a", [(None, "bar ?it/s]", True), (HEAD, "a", True)]),
        (
            f"bar ?it/s]bar 9it/s]{HEAD}a",
            [(None, "bar ?it/s]", True), (None, "bar 9it/s]", True), (HEAD, "a", True)],
        ),
        (f"noise {HEAD}x", [(None, "noise ", False), (HEAD, "x", False)]),
        (f"  {HEAD}a", [(HEAD, "a", True)]),
        (f"{HEAD}a{OTHER}a2", [(HEAD, "a", True), (OTHER, "a2", True)]),
        (f"{HEAD}x{OTHER}a2", [(HEAD, "x", False), (OTHER, "a2", True)]),
        (f"{HEAD}a{OTHER}x", [(HEAD, "a", True), (OTHER, "x", False)]),
        (f"{HEAD}{OTHER}a", [(HEAD, "", False), (OTHER, "a", True)]),
        (f"(Engine pid=12) {HEAD}a", [(HEAD, "a", True)]),
    ],
)
def test_what_was_glued_is_cut_apart(line: str, expected: list[tuple[str | None, str, bool]]) -> None:
    assert cut(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{HEAD}free text='{OTHER}a'", [(HEAD, f"free text='{OTHER}a'", True)]),
        (f'{{"text": "{OTHER}a"}}', [(None, f'{{"text": "{OTHER}a"}}', True)]),
        (f"{HEAD}x '{OTHER}y'", [(HEAD, f"x '{OTHER}y'", False)]),
    ],
)
def test_a_line_that_quotes_a_log_stays_whole(
    line: str, expected: list[tuple[str | None, str, bool]]
) -> None:
    assert cut(line) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("a\nb\r\nc", ["a", "b", "c"]),
        ("  0%|   |\r 50%|## |\r", ["  0%|   |", " 50%|## |"]),
        ("a\n\n \n b", ["a", " b"]),
        ("\x1b[32mINFO\x1b[0m:  x\x1b]8;;http://y\x07link\x1b]8;;\x07", ["INFO:  xlink"]),
        ("", []),
    ],
)
def test_lines_of_a_message(message: str, expected: list[str]) -> None:
    assert list(lines(message)) == expected


def test_a_message_has_a_bounded_number_of_lines() -> None:
    assert len(list(lines("a\n" * (MAX_LINES * 2)))) == MAX_LINES


@pytest.mark.parametrize(
    "text", ["\x1b", "\x1b[", "\x1b]8;;x", "a\x1b[1;31mb\x1bc", "\x1b[" * 1000, "\x1bPq\x1b\\x"]
)
def test_no_escape_is_left_that_a_terminal_would_obey(text: str) -> None:
    assert plain_series(pl.Series([text, "x"])).to_list() == [plain(text), "x"], "Rust reads it alike"
    assert "\x1b[" not in plain(text) or text.startswith("\x1b[")
    assert "\x1b]" not in plain(text)
