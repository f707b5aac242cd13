"""The prefix: every form, tags in any order, anywhere in a line."""

from __future__ import annotations

from datetime import datetime
from itertools import permutations

import pytest
from tests.parsing.conftest import sample_lines

from kvforensics.events import Ranks
from kvforensics.parsing.prefix import Head, prefixes

AT = datetime(2026, 5, 12, 10, 11, 12)


@pytest.mark.parametrize("text", sample_lines("prefix"))
def test_every_sample_is_found_whole_wherever_it_stands(text: str) -> None:
    assert prefixes().find(f"{text}body", 9) == [(0, len(text))]
    assert prefixes().find(f"bar 50% 3.5s/it]{text}body", 9) == [(16, 16 + len(text))]
    assert prefixes().head(text) is not None


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("[2026-05-12 10:11:12] ", Head(AT)),
        ("[2026-05-12 10:11:12 DP1 TP4] ", Head(AT, Ranks(dp=1, tp=4))),
        ("[2026-05-12 10:11:12 DP0 PP1 ATTN_CP2 MOE_DP3 TP4 EP5] ", Head(AT, Ranks(0, 1, 2, 3, 4, 5))),
        ("[2026-05-12 10:11:12.345 TP0] ", Head(AT.replace(microsecond=345_000), Ranks(tp=0))),
        ("[2026-05-12 10:11:12,345678 TP0] ", Head(AT.replace(microsecond=345_678), Ranks(tp=0))),
        ("[18:39:03 DP1 TP0] ", Head(None, Ranks(dp=1, tp=0))),
        ("[2026-06-12 10:11:12 encode_dp_worker[1]] ", Head(datetime(2026, 6, 12, 10, 11, 12))),
        (
            "2026-05-12 10:11:12,345 INFO 48213 [DP0 TP3 scheduler.py:222] ",
            Head(AT.replace(microsecond=345_000), Ranks(dp=0, tp=3)),
        ),
        ("[2026-05-12 10:11:12] WARNING server_args.py:1191: ", Head(AT)),
        ("WARNING:sglang.srt.server_args:", Head()),
        ("[2026-13-45 99:99:99 TP1] ", Head(None, Ranks(tp=1))),
        (f"[2026-05-12 10:11:12 TP{2**40}] ", Head(AT)),
    ],
)
def test_what_a_prefix_says(text: str, head: Head) -> None:
    assert prefixes().head(text) == head
    assert prefixes().head(text) == head, "by its layout as by Lark"


def test_tags_in_any_order() -> None:
    for order in permutations(["DP1", "PP2", "TP3", "EP4"]):
        head = prefixes().head(f"[2026-05-12 10:11:12 {' '.join(order)}] ")
        assert head == Head(AT, Ranks(dp=1, pp=2, tp=3, ep=4))


@pytest.mark.parametrize(
    "text",
    [
        "[2026-05-12 10:11:12 XP0] ",
        "[Gloo] ",
        "[00:00<?, ?it/s]",
        "[W512 10:11:12.1 a.cpp:4] ",
        "[2026-05-12 10:11:12 TP0]body",
        "[٢٠٢٦-05-12 10:11:12] ",
    ],
)
def test_what_is_no_prefix(text: str) -> None:
    assert prefixes().find(text, 9) == []
    assert prefixes().head(text) is None


def test_no_more_prefixes_than_asked_for() -> None:
    assert len(prefixes().find("[10:11:12] " * 50, 7)) == 7


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("(SGLangEngine pid=322526) [2025-12-31 05:52:21] x", "[2025-12-31 05:52:21] x"),
        ("(SchedulerActor pid=1234, ip=10.0.0.2) x", "x"),
        ("[rank3]: Traceback", "Traceback"),
        ("[rank3]:[W512 10:11:12] x", "[W512 10:11:12] x"),
        ("Subprocess (python3 pid=12) died", "Subprocess (python3 pid=12) died"),
    ],
)
def test_a_job_runners_envelope_goes_from_the_start_only(text: str, rest: str) -> None:
    assert prefixes().without_envelope(text) == rest


def test_bars_behind_each_other_come_apart() -> None:
    assert prefixes().unglued("a: 0% [00:00<?, ?it/s]a: 50% [00:01<00:01,  1.2s/it] end") == [
        "a: 0% [00:00<?, ?it/s]",
        "a: 50% [00:01<00:01,  1.2s/it] end",
    ]


def test_forms_with_a_time_at_a_fixed_place() -> None:
    assert {(form.lead, form.column, form.width, form.close) for form in prefixes().forms} == {
        ("[", "stamp", 19, "] "),
        ("[", "clock", 8, "] "),
    }
