"""The parser as a whole: events, times, ranks, continuations, coverage."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from tests.parsing.conftest import frame, origins

from kvforensics.errors import UsageError
from kvforensics.events import BASE_SCHEMA, SEEN_SCHEMA, Ranks
from kvforensics.parsing import Parser
from kvforensics.parsing.decoding import schema_of
from kvforensics.parsing.grammar import load
from kvforensics.parsing.leftovers import LONGEST_TEXT, MAX_FOLLOWING
from kvforensics.records import Origin, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvforensics.events import Event, EventBlock

AT = datetime(2026, 5, 12, 10, 11, 12)
HEAD = "[2026-05-12 10:11:12 TP0] "
LOAD = "Load weight begin. avail mem=94.10 GB"
DECODE = "Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, #queue-req: 2"
TRACEBACK = [
    f"{HEAD}Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/x/scheduler.py", line 3905, in run_scheduler_process',
    "    scheduler = Scheduler(",
    "                ^^^^^^^^^^",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static=0.6",
]


def kinds_of(events: Sequence[Event]) -> list[str]:
    return [event.kind for event in events]


# --- events and frames ---


def test_an_event_has_its_place_time_ranks_and_text(parse: Callable[..., EventBlock]) -> None:
    block = parse(
        "x",
        "[2026-05-12 10:11:12.5 DP1 TP3] ".replace(".5", ".500") + LOAD,
        line=[10, 20],
        mono=[None, 77],
        cursor=[None, "c"],
    )
    (event,) = block.rare
    assert (event.kind, dict(event.fields)) == ("load_begin", {"avail_gib": 94.1})
    assert (event.source, event.line, event.origin, event.mono, event.cursor) == (0, 20, 0, 77, "c")
    assert event.at == event.inner_at == AT.replace(microsecond=500_000)
    assert event.ranks == Ranks(dp=1, tp=3)
    assert event.text == "[2026-05-12 10:11:12.500 DP1 TP3] " + LOAD


def test_a_hot_frame_has_the_base_columns_and_all_of_its_grammar(parse: Callable[..., EventBlock]) -> None:
    hot = parse(HEAD + DECODE, line=[5]).hot["decode"]
    assert dict(hot.schema) == {**BASE_SCHEMA, **schema_of(load("scheduler"), "decode")}
    row = hot.to_dicts()[0]
    assert (row["source"], row["line"], row["at"], row["origin"], row["tp"], row["dp"]) == (
        0,
        5,
        AT,
        0,
        0,
        None,
    )
    assert (row["running"], row["tokens"], row["usage"], row["swa_usage"]) == (7, 20227, 0.2, None)


def test_frames_keep_the_order_of_lines_over_layouts(parse: Callable[..., EventBlock]) -> None:
    lines = [
        f"{HEAD}{DECODE}",
        f"{HEAD}{DECODE}, ",
        f"{HEAD}{DECODE.replace('7,', '9' * 25 + ',')}",
        f"{HEAD}{DECODE}",
    ]
    assert parse(*lines).hot["decode"]["line"].to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "head",
    [
        "",
        "[10:11:12 TP0] ",
        "2026-05-12 10:11:12,345 INFO 48213 [DP0 TP3 scheduler.py:222] ",
        "noise 3s/it][2026-05-12 10:11:12] ",
        "(Engine pid=5) [2026-05-12 10:11:12] ",
    ],
)
def test_a_hot_line_behind_any_prefix(head: str, parse: Callable[..., EventBlock]) -> None:
    assert parse(head + DECODE).hot["decode"]["tokens"].to_list() == [20227]


def test_two_records_in_one_line_are_two(parse: Callable[..., EventBlock]) -> None:
    block = parse(f"{HEAD}{LOAD}{HEAD.replace('TP0', 'TP1')}{LOAD}{HEAD}{DECODE}")
    assert [(event.kind, event.ranks.tp) for event in block.rare] == [("load_begin", 0), ("load_begin", 1)]
    assert block.hot["decode"].height == 1
    assert (block.records, block.understood) == (1, 1)


@pytest.mark.parametrize(
    "bar",
    [
        "Capturing batches (bs=64 avail_mem=11.28 GB):   0%|          | 0/12 [00:00<?, ?it/s]",
        "\rCapturing batches (bs=8 avail_mem=11.28 GB):  50%|#####     | 6/12 [00:03<00:03,  1.75s/it]",
        "  0%|          | 0/12 [00:00<?, ?it/s]",
        "100%|██████████| 12/12 [00:21<00:00,  1.75s/it]",
        "Loading safetensors checkpoint shards:  50% Completed | 32/64 [01:29<01:29,  2.80s/it]",
        "Loading weights: 12it [00:01,  9.91it/s]",
        "a:  0%| | 0/2 [00:00<?, ?it/s]a:  50%|# | 1/2 [00:00<00:00,  9.91it/s]",
        "    17\t",  # `cat -n`
        "17:",
        "    May 20 14:03:11 gpu01 python3[71]: ",
        "    sglang-1  | 2026-05-20T14:03:11.123456789Z ",
        "    sglang-1  | ",
        "  [pod/sglang-0/server] ",
    ],
)
def test_a_record_behind_a_bar_or_an_indented_prefix(bar: str, parse: Callable[..., EventBlock]) -> None:
    block = parse(bar + HEAD + LOAD, bar + HEAD + DECODE)
    assert kinds_of(block.rare) == ["load_begin"]
    assert block.rare[0].ranks.tp == 0
    assert block.hot["decode"]["tokens"].to_list() == [20227]
    assert (block.understood, block.unknown) == (2, 0)


def test_a_bar_or_a_following_line_that_quotes_a_record(parse: Callable[..., EventBlock]) -> None:
    block = parse(
        f"{HEAD}Receive: obj=GenerateReqInput(text='why 50%|x {HEAD}{LOAD}')",
        f"    what does {HEAD}{LOAD} mean",
        f"  File \"x.py\", line 3: '{HEAD}{LOAD}'",
    )
    assert block.rare == []


def test_an_empty_frame_gives_an_empty_block(parse: Callable[..., EventBlock]) -> None:
    block = parse()
    assert (block.records, block.rare, block.hot) == (0, [], {})


# --- times ---


def test_the_carriers_time_wins_over_the_lines(parse: Callable[..., EventBlock]) -> None:
    carried = datetime(2026, 5, 12, 8, 11, 13, 7)
    block = parse(HEAD + LOAD, HEAD + DECODE, "[2026-05-12 10:11:12.345 TP0] " + DECODE, at=[carried] * 3)
    assert block.rare[0].at == carried
    assert block.rare[0].inner_at == AT
    assert block.hot["decode"]["at"].to_list() == [carried] * 2
    assert block.seen is not None
    assert block.seen["at"].to_list() == [carried] * 3


def test_the_lines_time_goes_through_the_zone(parse: Callable[..., EventBlock]) -> None:
    block = parse(
        HEAD + LOAD, HEAD + DECODE, "[2026-05-12 10:11:12.345 TP0] " + DECODE, "x", tz="Europe/Berlin"
    )
    summer = datetime(2026, 5, 12, 8, 11, 12)
    assert block.rare[0].at == summer
    assert block.rare[0].inner_at == AT
    assert block.hot["decode"]["at"].to_list() == [summer, summer.replace(microsecond=345_000)]
    assert block.seen is not None
    assert block.seen["at"].to_list() == [summer, summer, summer.replace(microsecond=345_000), None]


def test_events_and_frames_agree_on_the_hour_that_comes_twice(parse: Callable[..., EventBlock]) -> None:
    heads = [f"[2026-10-25 {time}:00] " for time in ("02:30", "02:59", "02:01", "02:30", "03:00")]
    block = parse(*(head + body for head in heads for body in (LOAD, DECODE)), tz="Europe/Berlin")
    expected = [datetime(2026, 10, 25, *time) for time in ((0, 30), (0, 59), (1, 1), (1, 30), (2, 0))]
    assert [event.at for event in block.rare] == expected
    assert block.hot["decode"]["at"].to_list() == expected


def test_a_prefix_without_a_date_gives_no_time(parse: Callable[..., EventBlock]) -> None:
    block = parse("[18:39:03 TP0] " + LOAD, "[18:39:03 TP0] " + DECODE)
    assert (block.rare[0].at, block.rare[0].ranks.tp) == (None, 0)
    assert block.hot["decode"].select("at", "tp").row(0) == (None, 0)


def test_the_source_learns_its_times_from_the_lines() -> None:
    source = Source("x")
    parser = Parser(0, source, origins(), "+02:00")
    parser.feed(frame(["x"]))
    parser.close()
    assert (source.time_basis, source.first_at) == ("none", None)
    parser.feed(frame([HEAD + LOAD, HEAD.replace(":12 ", ":59 ") + DECODE]))
    parser.feed(frame([HEAD.replace(":12 ", ":02 ") + LOAD]))
    parser.close()
    assert source.time_basis == "inner"
    assert source.first_at == datetime(2026, 5, 12, 8, 11, 2)
    assert source.last_at == datetime(2026, 5, 12, 8, 11, 59)


def test_an_unknown_zone_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        Parser(0, Source("x"), origins(), "Mars/Base")


# --- continuations ---


def test_lines_of_a_traceback_belong_to_its_first_line(parse: Callable[..., EventBlock]) -> None:
    block = parse(*TRACEBACK, f"{HEAD}what is this")
    assert (block.records, block.understood, list(block.shapes)) == (6, 5, ["what is this"])
    memory = next(event for event in block.rare if event.kind == "not_enough_memory")
    assert (memory.line, memory.at, memory.ranks.tp) == (5, AT, 0)
    assert memory.fields["mem_fraction_static"] == 0.6
    assert memory.fields["phase"] == "Scheduler"


def test_one_record_with_line_breaks_is_the_same(parse: Callable[..., EventBlock]) -> None:
    apart, whole = parse(*TRACEBACK), parse("\n".join(TRACEBACK))
    assert [(e.kind, e.fields, e.at, e.ranks) for e in whole.rare] == [
        (e.kind, e.fields, e.at, e.ranks) for e in apart.rare
    ]
    assert (whole.records, whole.understood) == (1, 1)


def test_a_line_with_a_prefix_ends_the_traceback(parse: Callable[..., EventBlock]) -> None:
    for between in (HEAD + DECODE, HEAD + LOAD):
        block = parse(*TRACEBACK[:2], between, "scheduler = Scheduler(")
        assert (block.understood, block.unknown) == (3, 1)


def test_processes_are_kept_apart() -> None:
    code = "scheduler = Scheduler("
    lines = [TRACEBACK[0], HEAD + DECODE, code, HEAD + LOAD, code]
    parser = Parser(0, Source("x"), origins(Origin(pid=1), Origin(pid=2)), "UTC")
    block = parser.feed(frame(lines, origin=[0, 1, 0, 1, 1]))
    assert block.shapes.keys() == {code}
    assert (block.understood, block.unknown) == (4, 1)


@pytest.mark.parametrize("cut", range(1, 5))
def test_a_traceback_goes_on_in_the_next_block(cut: int) -> None:
    parser = Parser(0, Source("x"), origins(), "UTC")
    blocks = [
        parser.feed(frame(TRACEBACK[:cut])),
        parser.feed(frame(TRACEBACK[cut:], first_line=cut + 1)),
        parser.close(),
    ]
    assert sum(block.unknown for block in blocks) == 0
    assert kinds_of([e for b in blocks for e in b.rare]) == kinds_of(
        Parser(0, Source("x"), origins(), "UTC").feed(frame(TRACEBACK)).rare
    )


def test_a_block_of_following_lines_is_bounded(parse: Callable[..., EventBlock]) -> None:
    block = parse(TRACEBACK[0], *(f"whatever {number}" for number in range(MAX_FOLLOWING + 10)))
    assert block.unknown == 10


# --- who wrote it ---


def test_systemds_words_are_systemds_alone(parse: Callable[..., EventBlock]) -> None:
    line = "sglang.service: Main process exited, code=killed, status=9/KILL"
    assert kinds_of(parse(line, origin=Origin(ident="systemd")).rare) == ["unit_main_exited"]
    assert kinds_of(parse(line).rare) == ["unit_main_exited"], "a plain file does not tell who wrote it"
    assert parse(HEAD + line).rare == []
    assert parse(LOAD, origin=Origin(ident="systemd")).rare == []


def test_journal_fields_complete_the_text_and_name_the_kind_without_it(
    parse: Callable[..., EventBlock],
) -> None:
    fields = {
        "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf",
        "UNIT": "sglang.service",
        "JOB_TYPE": "restart",
        "JOB_ID": "812",
        "INVOCATION_ID": "abc",
    }
    extra = [json.dumps(fields)] * 3
    block = parse(
        "Started sglang.service - SGLang.",
        "サービスを開始しました。",
        None,
        extra=extra,
        origin=Origin(ident="systemd"),
    )
    assert kinds_of(block.rare) == ["unit_started"] * 3
    for event in block.rare:
        assert (
            event.fields["unit"],
            event.fields["job_type"],
            event.fields["job_id"],
            event.fields["invocation"],
        ) == ("sglang.service", "restart", 812, "abc")
    assert block.rare[0].fields["description"] == "SGLang"
    assert block.understood == 3


@pytest.mark.parametrize("extra", ["", "[]", "{", '{"MESSAGE_ID": 5}', '{"MESSAGE_ID": "0"}', "null"])
def test_broken_journal_fields_do_no_harm(extra: str, parse: Callable[..., EventBlock]) -> None:
    block = parse("Reloading.", "??", extra=[extra, extra], origin=Origin(ident="systemd"))
    assert kinds_of(block.rare) == ["unit_reloading"]
    assert block.unknown == 1


def test_seen_says_which_records_are_surely_the_servers(parse: Callable[..., EventBlock]) -> None:
    main = "[2026-05-12 10:11:12] "
    block = parse(
        HEAD + "what", DECODE, LOAD, main + LOAD, main + DECODE, main + "what", line=[3, 4, 5, 6, 9, 10]
    )
    assert block.seen is not None
    assert block.seen.schema == SEEN_SCHEMA
    assert block.seen["line"].to_list() == [3, 4, 5, 6, 9, 10]
    assert block.seen["ours"].to_list() == [True, False, False, True, True, False]


# --- coverage ---


def test_every_record_is_counted_once(parse: Callable[..., EventBlock]) -> None:
    block = parse(
        HEAD + DECODE,
        HEAD + LOAD,
        "",
        None,
        "what 1",
        "what 2",
        f"{HEAD}what 3",
        "\x1b[31m",
        "WARNING: nothing",
    )
    assert block.records == 9
    assert block.understood + block.unknown == 9
    assert sum(shape.count for shape in block.shapes.values()) == block.unknown
    assert block.shapes["what <n>"].count == 3
    assert block.shapes["what <n>"].first_line == 5
    assert block.shapes["<no message>"].count == 1


def test_a_million_shapes_take_bounded_memory() -> None:
    parser = Parser(0, Source("x"), origins(), "UTC")
    names: set[str] = set()
    total = 0
    letters = "abcdefghij"
    for start in range(0, 30_000, 10_000):
        words = [
            "".join(letters[int(digit)] for digit in str(number)) for number in range(start, start + 10_000)
        ]
        block = parser.feed(frame([f"odd {word} thing" for word in words], first_line=start + 1))
        names |= set(block.shapes)
        total += sum(shape.count for shape in block.shapes.values())
    assert total == 30_000
    assert len(names) == 10_001
    assert "<other>" in names


@pytest.mark.parametrize(
    "message",
    [
        "\x00",
        "\ufeff",
        "\ud7ff",
        "[" * 10_000,
        "[2026-05-12 10:11:12" * 1000,
        HEAD * 500,
        "(" * 10_000,
        "\x1b]" * 5000,
        "=" * 100_000,
        HEAD + "server_args=ServerArgs(" + "(" * 20_000,
        HEAD + "server_args={" + "'a': [" * 20_000,
        "Decode batch, " * 5000,
        HEAD + "Decode batch, " + "key: 1, " * 100_000,
        ": " * 20_000,
        "\r" * 10_000,
    ],
)
def test_hostile_lines_are_counted_and_nothing_else(message: str, parse: Callable[..., EventBlock]) -> None:
    block = parse(message, HEAD + DECODE)
    assert block.understood + block.unknown == 2
    assert block.hot["decode"].height == 1


# --- secrets ---


def test_no_secret_leaves_the_parser(parse: Callable[..., EventBlock]) -> None:
    secret = "hunter2-very-secret"
    lines = [
        f"{HEAD}server_args=ServerArgs(model_path='/m', api_key='{secret}', tp_size=8)",
        f"{HEAD}what is api_key='{secret}' for",
        f"{HEAD}RuntimeError: cannot log in with api_key={secret}",
        f"sudo: root : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/sglang --api-key {secret}",
        f"[http_server] Error: bad token sk-{secret}",
    ]
    block = parse(*lines)
    assert secret not in repr(block)
    assert all(secret not in repr(event) for event in block.rare)
    assert all(secret not in str(hot.to_dicts()) for hot in block.hot.values())
    assert next(e for e in block.rare if e.kind == "server_args").fields["values"]["api_key"] == "<redacted>"


def test_the_text_of_an_event_is_bounded(parse: Callable[..., EventBlock]) -> None:
    (event,) = parse(f"{HEAD}server_args=ServerArgs(model_path='{'x' * 50_000}', tp_size=8)").rare
    assert event.text is not None
    assert len(event.text) <= LONGEST_TEXT
    assert event.fields["values"]["tp_size"] == 8
