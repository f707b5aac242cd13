"""The scanner says of every line what the expressions say, or leaves it to them."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.parsing.conftest import frame, origins, sample_lines

from kvforensics import compiled
from kvforensics.parsing import native
from kvforensics.parsing.kinds import kinds
from kvforensics.parsing.parser import Parser
from kvforensics.parsing.prefix import prefixes
from kvforensics.records import Source

if TYPE_CHECKING:
    from kvforensics.events import EventBlock

EXAMPLES = int(os.environ.get("KVFORENSICS_EXAMPLES", "150"))
HEAD = "[2026-05-12 10:11:12 TP0] "
DECODE = "Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, cuda graph: True, #queue-req: 2"
ACCESS = 'INFO:     10.0.0.7:4711 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
MADE = [HEAD + DECODE, HEAD[:20] + "] " + ACCESS, ACCESS, HEAD.replace(":12 ", ":13,250 ") + DECODE]
PIECES = [
    "+",
    "-",
    ".",
    "0",
    "9" * 19,
    "1e3",
    "nan",
    "٣",
    ", ",
    ": ",
    " ",
    "True",
    "]",
    "] ",
    "[",
    '"',
    "\r",
    "é",
    "",
]

needs_scanner = pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")


def both(first: list[str | None], lines: list[str | None], monkeypatch: pytest.MonkeyPatch, tz: str = "UTC"):
    """Read lines after a block that teaches, with the scanner and without."""
    found = []
    for wanted in ("1", "0"):
        monkeypatch.setenv("KVFORENSICS_NATIVE", wanted)
        parser = Parser(0, Source("x"), origins(), tz)
        parser.feed(frame(first))
        found.append(parser.feed(frame(lines)))
    return found


def assert_same(one: EventBlock, other: EventBlock) -> None:
    assert one.hot.keys() == other.hot.keys()
    for kind, read in one.hot.items():
        assert read.schema == other.hot[kind].schema
        assert read.equals(other.hot[kind]), kind
    assert one.seen is not None
    assert other.seen is not None
    assert one.seen.equals(other.seen)
    assert (one.rare, one.records, one.understood, one.unknown) == (
        other.rare,
        other.records,
        other.understood,
        other.unknown,
    )
    assert one.shapes == other.shapes


@needs_scanner
def test_lines_are_taken_by_the_scanner() -> None:
    parser = Parser(0, Source("x"), origins(), "UTC")
    parser.feed(frame(MADE))
    known = parser._heads.known
    scanned = native.scan(pl.Series([*MADE, "x", None]), known.beginnings, parser._columnar.active)
    assert scanned is not None
    assert sorted(row for _, lines in scanned.taken for row in lines["row"]) == [0, 1, 2, 3]
    assert scanned.left.to_list() == [4, 5]
    assert scanned.lines["headed"].to_list() == [1, 1, 0, 1, 0, 0]
    assert scanned.local.gather(scanned.lines["run"]).dt.second().to_list() == [12, 12, None, 13, None, None]


@needs_scanner
def test_coloured_lines_are_scanned_once_they_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = [*MADE, f"{HEAD}\x1b[32m{DECODE}\x1b[0m", f"\x1b[1m{ACCESS}"]
    with monkeypatch.context() as patch:
        scanned = []
        scan = native.scan
        patch.setattr(native, "scan", lambda *given: scanned.append(scan(*given)) or scanned[-1])
        parser = Parser(0, Source("x"), origins(), "UTC")
        parser.feed(frame(MADE))
        assert parser.feed(frame(coloured)).understood == len(coloured)
    assert scanned[-2] is None
    assert scanned[-1] is not None
    assert_same(*both(MADE, coloured, monkeypatch))


@needs_scanner
@pytest.mark.parametrize("tz", ["UTC", "Europe/Berlin"])
def test_the_samples_of_every_kind(monkeypatch: pytest.MonkeyPatch, tz: str) -> None:
    heads = [HEAD, "", HEAD[:20] + "] ", "[2026-10-25 02:30:00 DP1 TP3] ", "[10:11:12 TP0] ", "x " + HEAD]
    lines = [head + line for line in sample_lines("scheduler") for head in heads]
    assert_same(*both(lines, lines[::-1], monkeypatch, tz))


@needs_scanner
@pytest.mark.parametrize(
    "stamp",
    [
        "2026-02-29 10:00:00",
        "2024-02-29 10:00:00",
        "2026-13-01 10:00:00",
        "2026-00-10 10:00:00",
        "2026-04-31 10:00:00",
        "2026-05-12 24:00:00",
        "2026-05-12 23:60:00",
        "2026-05-12 23:59:60",
        "0000-01-01 00:00:00",
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59",
        "1900-03-01 00:00:00",
        "1969-12-31 23:59:59",
        "2000-02-29 12:34:56",
    ],
)
def test_every_moment_and_what_is_none(monkeypatch: pytest.MonkeyPatch, stamp: str) -> None:
    lines = [HEAD + DECODE, f"[{stamp} TP0] {DECODE}", f"[{stamp}] {ACCESS}", HEAD + DECODE]
    assert_same(*both([HEAD + DECODE, HEAD[:20] + "] " + ACCESS], lines, monkeypatch))


@needs_scanner
@pytest.mark.parametrize(
    "number",
    [
        "0.0",
        "-0.0",
        "-12.5",
        "007.10",
        "0.1",
        "123456789.123456",
        "1234567890.123456",
        "0.123456789012345678",
        "1.",
        ".5",
        "1e3",
        "-",
        "9" * 15 + ".9",
        "9" * 14 + ".9",
    ],
)
def test_decimal_numbers_are_the_nearest(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    lines = [HEAD + DECODE.replace("0.20", number)]
    one, other = both([HEAD + DECODE], lines, monkeypatch)
    assert_same(one, other)
    if "decode" in one.hot:
        assert str(one.hot["decode"]["usage"][0]) == str(float(number))


@needs_scanner
@pytest.mark.parametrize(
    "number", ["0", "00", "9" * 18, "9" * 19, "9" * 25, str(2**63 - 1), str(2**63), "+7", "-7", "7 ", "٣"]
)
def test_whole_numbers_up_to_what_their_type_holds(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    assert_same(*both([HEAD + DECODE], [HEAD + DECODE.replace("20227", number)], monkeypatch))


@needs_scanner
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_damaged_lines(seed: int) -> None:
    chance = random.Random(seed)
    lines: list[str | None] = []
    for text in chance.choices([*MADE, *(HEAD + line for line in sample_lines("scheduler"))], k=30):
        for _ in range(chance.randrange(3)):
            at, size = chance.randrange(len(text) + 1), chance.randrange(3)
            text = text[:at] + chance.choice(PIECES) + text[at + size :]  # noqa: PLW2901
        lines.append(text if chance.random() > 0.02 else None)
    with pytest.MonkeyPatch.context() as patch:
        assert_same(*both(list(MADE), lines, patch))


@needs_scanner
def test_a_layout_that_the_scanner_does_not_know_is_left() -> None:
    programs = {
        layout.kind: native._program(layout)
        for layout in kinds().hot_layouts
        if layout.rivals or layout.barred
    }
    assert all(program is None for program in programs.values())
    beginnings = [native.Beginning(form, "(?:[A-Z]+)", (), b"") for form in prefixes().forms]
    assert native.scan(pl.Series(["x"]), beginnings, kinds().hot_layouts) is None


@needs_scanner
@pytest.mark.parametrize(
    "layout",
    [
        (b"", (), b""),
        (b"i", (b"",), b"\1"),
        (b"cs", (b"x", b"short"), b"\0\0"),
        (b"cz", (b"x", b""), b"\0\0"),
        (b"c", (b"",), b"\0"),
        (b"c", (b"x", b"y"), b"\0"),
    ],
)
def test_a_program_that_cannot_be_is_refused(layout: tuple[bytes, tuple[bytes, ...], bytes]) -> None:
    with pytest.raises(ValueError, match=r"layout|item"):
        compiled.module().scan(pl.Series(["x"]).__arrow_c_stream__(None), (), (layout,))
