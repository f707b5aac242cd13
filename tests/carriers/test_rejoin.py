from __future__ import annotations

import polars as pl
import pytest

from kvforensics.carriers import rejoin
from kvforensics.carriers.carrier import Context
from kvforensics.carriers.frames import MORE_CERTAIN, MORE_MAYBE, MORE_NO, MORE_OPEN, record_frame
from kvforensics.carriers.rejoin import rejoined
from kvforensics.options import Options
from kvforensics.records import Origin, Origins, Source


def joined(*frames):
    context = Context(0, Source("input"), Options(), Origins())
    context.origins.intern(Origin())
    made = [
        record_frame(
            context,
            {
                "line": [row[0] for row in rows],
                "message": [row[1] for row in rows],
                "_key": [row[2] for row in rows],
                "_more": [row[3] for row in rows],
                "origin": [0] * len(rows),
            },
        )
        for rows in frames
    ]
    found = pl.concat([frame for frame in rejoined(made, context) if frame.height], how="diagonal")
    return list(found.select("line", "message", "damage").iter_rows())


ROWS = [
    (1, "a", "x", MORE_CERTAIN),
    (2, "other", "y", MORE_NO),
    (3, "b", "x", MORE_CERTAIN),
    (4, "p", "y", MORE_OPEN),
    (5, "c", "x", MORE_NO),
    (6, "next", "x", MORE_NO),
    (7, "q", "y", MORE_NO),
]
WHOLE = [(1, "abc", None), (2, "other", None), (4, "pq", None), (6, "next", None)]


@pytest.mark.parametrize("cut", range(1, 7))
def test_pieces_are_joined_where_the_first_stood(cut):
    assert joined(ROWS) == WHOLE
    assert joined(ROWS[:cut], ROWS[cut:]) == WHOLE
    assert joined(*([row] for row in ROWS)) == WHOLE


def test_frames_without_pieces_pass_untouched():
    rows = [(number, str(number), None, MORE_NO) for number in range(5)]
    assert joined(rows, rows) == [(number, str(number), None) for number in range(5)] * 2


def test_what_never_ends():
    assert joined([(1, "a", "x", MORE_CERTAIN), (2, "b", "y", MORE_NO)]) == [
        (1, "a", "split_lost"),
        (2, "b", None),
    ]
    assert joined([(1, "a", "x", MORE_OPEN)]) == [(1, "a", None)]
    assert joined([(1, "a", "x", MORE_MAYBE)]) == [(1, "a", None)]


@pytest.mark.parametrize("begin", ["[2026", "\r 9%", "INFO: x"])
def test_what_may_go_on_does_not_take_a_line_of_its_own(begin):
    rows = [(1, "a", "x", MORE_MAYBE), (2, begin, "x", MORE_NO)]
    assert joined(rows) == [(1, "a", None), (2, begin, None)]
    assert joined(rows[:1], rows[1:]) == [(1, "a", None), (2, begin, None)]


@pytest.mark.parametrize("step", [1, 3, 100])
def test_pieces_too_far_apart_are_lost_wherever_blocks_end(monkeypatch, step):
    monkeypatch.setattr(rejoin, "GAP_RECORDS", 5)
    near = [
        (1, "a", "x", MORE_CERTAIN),
        *[(n, "o", "y", MORE_NO) for n in range(2, 6)],
        (6, "b", "x", MORE_NO),
    ]
    far = [
        (1, "a", "x", MORE_CERTAIN),
        *[(n, "o", "y", MORE_NO) for n in range(2, 8)],
        (8, "b", "x", MORE_NO),
    ]
    assert joined(*(near[at : at + step] for at in range(0, len(near), step)))[0] == (1, "ab", None)
    found = joined(*(far[at : at + step] for at in range(0, len(far), step)))
    assert found[0] == (1, "a", "split_lost")
    assert found[-1] == (8, "b", None)


def test_a_joined_message_is_bounded(monkeypatch):
    monkeypatch.setattr(rejoin, "LINE_BYTES", 10)
    rows = [(number, "abcd", "x", MORE_CERTAIN if number < 5 else MORE_NO) for number in range(1, 6)]
    assert joined(rows) == [(1, "abcdabcdab", "too_long_line")]
