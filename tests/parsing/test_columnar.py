"""What the layouts take of a block, and what they leave to the way line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from tests.parsing.conftest import frame, origins, sample_lines

from kvforensics.parsing.columnar import _IDLE, MAX_ACTIVE, Columnar, apply
from kvforensics.parsing.heads import HeadReader
from kvforensics.parsing.kinds import Kinds
from kvforensics.parsing.parser import Parser
from kvforensics.parsing.prefix import prefixes
from kvforensics.records import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = "[2026-05-12 10:11:12 TP0] "
DECODE = "Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, #queue-req: 2"


def columnar() -> Columnar:
    return Columnar(0, Kinds())


def taken(engine: Columnar, messages: Sequence[str]) -> list[int]:
    tried = tuple(engine.active)
    rows = pl.int_range(len(messages), dtype=pl.UInt32, eager=True)
    heads = HeadReader(prefixes()).read(rows, pl.Series(messages, dtype=pl.String))
    parts = engine.complete(apply(heads.lines, tried), tried, [])
    return sorted(row for part in parts for row in part.lines["row"])


def test_one_line_teaches_and_all_of_its_make_are_taken() -> None:
    engine = columnar()
    assert engine.active == []
    assert taken(engine, [HEAD + DECODE] * 5) == [0, 1, 2, 3, 4]
    assert [layout.kind for layout in engine.active] == ["decode"]


@pytest.mark.parametrize(
    "line",
    [
        HEAD + "Load weight begin. avail mem=94.10 GB",  # rare
        HEAD + DECODE.replace("7,", "9" * 25 + ","),  # a number beyond its type
        HEAD + DECODE.replace("7,", "+7,"),
        "[2026-05-12 10:11:12 XP0] " + DECODE,  # no prefix
        "[2026-05-1\t 10:11:12 TP0] " + DECODE,
        HEAD + "WARNING a.py:1: " + DECODE,  # more prefix than stands at a fixed place
        "noise " + HEAD + DECODE,
        HEAD + DECODE + "\n",
        HEAD + DECODE + HEAD,
    ],
)
def test_what_the_layouts_leave(line: str) -> None:
    engine = columnar()
    assert taken(engine, [HEAD + DECODE, line]) == [0]
    assert taken(engine, [line]) == []


def test_a_line_that_misfits_its_layout_teaches_nothing() -> None:
    engine = columnar()
    taken(engine, [HEAD + DECODE])
    known = list(engine.active)
    taken(engine, [HEAD + DECODE.replace("7,", str(10**20 + number) + ",") for number in range(50)])
    assert engine.active == known


def test_the_number_of_active_layouts_is_bounded() -> None:
    engine = columnar()
    taken(engine, [HEAD + line for line in sample_lines("scheduler")])
    assert len(engine.active) == MAX_ACTIVE


def test_a_layout_with_hits_stays_when_others_were_known_before() -> None:
    engine = columnar()
    taken(engine, [HEAD + line for line in sample_lines("scheduler")])
    later = Columnar(0, engine.kinds)
    assert len(later.active) == MAX_ACTIVE
    assert taken(later, [HEAD + DECODE]) == [0]
    assert any(layout.fields(DECODE) for layout in later.active)


def test_a_layout_without_hits_is_dropped_and_comes_back() -> None:
    engine = columnar()
    taken(engine, [HEAD + DECODE])
    for _ in range(_IDLE + 1):
        taken(engine, ["x"])
    assert engine.active == []
    assert taken(engine, [HEAD + DECODE]) == [0]


def test_records_of_systemd_are_no_lines_of_a_server() -> None:
    messages = [HEAD + DECODE] * 3
    parser = Parser(0, Source("x"), origins(), "UTC")
    parser.feed(frame(messages))
    mixed = frame(messages).with_columns(extra=pl.Series([None, "{}", None], dtype=pl.String))
    prepared = parser.prepare(mixed)
    (part,) = [*prepared.scanned, *prepared.parted.parts]
    assert part.lines["row"].to_list() == [0, 2]


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_blocks_may_be_prepared_before_those_ahead_are_finished(ahead: int) -> None:
    retract = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.5 -> 0.9"
    blocks = [[HEAD + DECODE, "x"], [HEAD + retract], [HEAD + DECODE], [HEAD + retract, HEAD + DECODE], ["y"]]
    parser = Parser(0, Source("x"), origins(), "UTC")
    alone = [parser.feed(frame(block)) for block in blocks]
    parser, found = Parser(0, Source("x"), origins(), "UTC"), []
    for begin in range(0, len(blocks), ahead):
        prepared = [parser.prepare(frame(block)) for block in blocks[begin : begin + ahead]]
        found += [parser.finish(each) for each in prepared]
    assert [block.understood for block in found] == [block.understood for block in alone] == [1, 1, 1, 2, 0]
    for one, other in zip(found, alone, strict=True):
        assert one.hot.keys() == other.hot.keys()
        assert all(one.hot[kind].equals(other.hot[kind]) for kind in one.hot)


def test_what_tells_nothing_is_read_by_columns_once_it_is_frequent() -> None:
    parser = Parser(0, Source("x"), origins(), "UTC")
    stats = [
        f"{HEAD}ReqTimeStats(rid={number:x}, input_len=640, type=unified): start_time=1.5"
        for number in range(300)
    ]
    assert parser.feed(frame(stats)).understood == 300
    # an id of digits alone is another token to Lark than one with letters, so there may be two layouts
    kinds = {layout.kind for layout in parser._columnar.active if layout.kind.startswith("known_")}
    assert kinds == {"known_request_log"}
    block = parser.feed(frame([*stats, HEAD + DECODE]))
    assert (block.understood, list(block.hot), block.rare) == (301, ["decode"], [])
