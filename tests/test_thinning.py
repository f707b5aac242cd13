"""Where nobody asks for the load over time, lines that say no more than others go, and nothing else changes."""

from __future__ import annotations

import json
import os
from datetime import datetime
from itertools import cycle
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from kvforensics import compiled
from kvforensics.analysis import analyse
from kvforensics.carriers.opening import open_stream
from kvforensics.intake import Floods, Intake, read, take_in
from kvforensics.options import Options
from kvforensics.parsing import Parser
from kvforensics.parsing.kinds import kinds
from kvforensics.records import Source, Thinned
from kvforensics.report import parts_json
from kvforensics.samples import ALIKE, Samples
from tests.parsing.conftest import frame, origins

EXAMPLES = int(os.environ.get("KVFORENSICS_EXAMPLES", "150"))
SAMPLES = Path(__file__).parents[1] / "sample_logs"
LINES = [
    *(
        f"Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage}, cuda graph: True, "
        f"gen throughput (token/s): 80.25, #queue-req: {queue}"
        for running, tokens, usage, queue in [
            (7, 20227, "0.20", 2),
            (3, 99, "0.95", 0),
            (7, 20228, "0.19", 9),
        ]
    ),
    "Prefill batch, #new-seq: 1, #new-token: 8, #cached-token: 0, token usage: 0.31, #running-req: 1, #queue-req: 0",
    'INFO:     10.0.0.7:4711 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    'INFO:     10.0.0.7:4711 - "GET /health HTTP/1.1" 503 Service Unavailable',
]
RARE = [
    "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_tokens_gained: 5, #new_token_ratio: 0.2 -> 0.3",
    "The server is fired up and ready to roll!",
    "Traceback (most recent call last):",
    "ValueError: no",
    "nobody knows what this is",
    "",
    "nobody knows \u00e9t\u00e9",
    "\udcffbroken",
    'INFO:     10.0.0.7:4711 - "GET /\u00e9 HTTP/1.1" 200 OK',
]
TAGS = ["", " TP0", " TP1", " DP1 TP0"]
STEPS = [0, 0, 0, 1, 4, 5, 6, 3600, -2, -90]
LINE = st.tuples(
    st.sampled_from(12 * LINES + RARE), st.sampled_from(TAGS), st.sampled_from(STEPS), st.booleans()
)

needs_scanner = pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")
TOLD = [
    *("source", "after_line", "origin", "dp", "tp", "first_line", "last_line", "first_at", "last_at"),
    *("usage_max", "running_max", "queue_max", "tokens_last", "usage_last", "running_last", "queue_last"),
    *("retractions", "retracted", "first_retraction", "first_retraction_at"),
]


@pytest.fixture(autouse=True)
def _fresh_kinds():
    kinds.cache_clear()  # a process that has learnt very many layouts learns no more


def messages(drawn):
    """Write lines; a prefix is missing here and there. No gap leads back to a time that was there before."""
    at, found, seen = 5000, [], set()
    for body, tag, step, bare in drawn:
        at += step if abs(step) <= 5 or at + step not in seen else 0
        seen.add(at)
        head = f"[2026-05-12 {at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}{tag}] "
        found.append(body if bare and not body.startswith(("Decode", "Prefill")) else head + body)
    return found


def written(lines, ends):
    """Return the lines as a file's bytes; what cannot be encoded was no text."""
    each = [
        line.encode(errors="surrogateescape") + end for line, end in zip(lines, cycle(ends), strict=False)
    ]
    return b"".join(each)


def taken(data, *, thin, piece, block):
    """Read a file that comes in pieces, in blocks of about some size."""
    intake = Intake(samples=Samples(over_time=False))
    options = Options(load=False, carrier="plain")
    raw = (data[at : at + piece] for at in range(0, len(data), piece))
    opened = open_stream(raw, None, "x", options, intake.origins, 0)
    opened.blocks.block_bytes = block
    intake.sources = [opened.source]
    parser = Parser(0, opened.source, intake.origins, "UTC", ALIKE if thin else ())
    opened.thin_by(parser)
    floods = Floods(intake.origins)
    take_in(opened, parser, floods, intake)
    intake.add(parser.close(), floods)
    return intake


def told(intake):
    """Return all that launches are made of."""
    stretches = intake.samples.stretches()
    serving = stretches.select(*TOLD, served=(pl.col("prefills") + pl.col("decodes")) > 0)
    counts = (intake.records, intake.understood, intake.unknown)
    shapes = {name: asdict(shape) for name, shape in intake.shapes.items()}
    records = intake.samples.records().to_dicts()
    return serving.to_dicts(), records, intake.events, counts, shapes, intake.sources


@needs_scanner
@settings(deadline=None, max_examples=EXAMPLES)
@given(
    st.lists(LINE, max_size=150),
    st.sampled_from([700, 6000, 1 << 20]),
    st.sampled_from([61, 997, 1 << 20]),
    st.sampled_from([[b"\n"], [b"\n", b"\n", b"\r\n"]]),
)
def test_what_is_left_out_shows_nowhere(drawn, block, piece, ends):
    lines = messages([(line, "", 0, False) for line in LINES] * 3 + drawn)
    data = written(lines, ends)
    whole, thin = (taken(data, thin=thin, piece=piece, block=block) for thin in (False, True))
    for one, other in zip(told(whole), told(thin), strict=True):
        assert one == other


def thinner():
    """Return a parser that knows the layouts of LINES."""
    parser = Parser(0, Source("x"), origins(), "UTC", ALIKE)
    assert not parser.may_thin
    parser.feed(frame(messages([(line, tag, 1, False) for tag in TAGS for line in LINES])))
    return parser


@needs_scanner
def test_most_of_an_even_log_is_left_out():
    parser = thinner()
    assert parser.may_thin
    data = written(messages([(line, tag, 1, False) for tag in TAGS for line in 200 * LINES]), [b"\n"])
    thin = parser.thinned((data[:1000], data[1000:]))
    assert thin.height == data.count(b"\n")
    assert len(thin.rows) == len(thin.texts) < 0.3 * thin.height
    assert len(thin.rows) + thin.left_out.sum() == thin.height
    assert thin.left_headed.sum() == thin.left_out.sum()
    lines = data.decode().splitlines()
    assert thin.texts.to_list() == [lines[row] for row in thin.rows]


@needs_scanner
@pytest.mark.parametrize(
    "columns", [{}, {"at": [datetime(2026, 1, 1)]}, {"origin": [0, 1]}, {"extra": ["{}"]}]
)
def test_records_are_thinned_where_one_writer_has_no_other_times(columns):
    lines = 50 * messages([(line, "", 0, False) for line in LINES])
    columns = {name: values * (len(lines) // len(values)) for name, values in columns.items()}
    whole = frame(lines, **columns)
    thin = thinner().thinned_frame(whole)
    if columns:
        assert thin is None
        return
    assert thin.height < 0.1 * whole.height
    assert thin.height + thin["left_out"].sum() == whole.height
    assert thin["message"].to_list() == [lines[line - 1] for line in thin["line"]]


@needs_scanner
def test_two_logs_are_thinned_and_nothing_else_changes(tmp_path):
    lines = messages([(line, tag, 1, False) for tag in TAGS for line in (*LINES, *RARE)] * 60)
    for number, part in enumerate((lines[: len(lines) // 2], lines[len(lines) // 2 :])):
        (tmp_path / f"{number}.log").write_bytes(written(part, [b"\n"]))
    whole, thin = (read([str(tmp_path)], Options(load=load)) for load in (True, False))
    assert told(whole) == told(thin)


@needs_scanner
@pytest.mark.parametrize("odd", [b"\xff", b"\xc3", b"\x1b[31mred"])
def test_of_a_block_that_is_no_plain_text_nothing_is_left_out(odd):
    lines = 50 * messages([(line, "", 0, False) for line in LINES])
    data = written(lines, [b"\n"])
    assert thinner().thinned((data,)) is not None
    assert thinner().thinned((data + odd + b"\n",)) is None


def opened(data, carrier):
    """Open bytes as a carrier's, with whoever leaves out all lines but the first."""

    class First:
        may_thin = True

        def thinned(self, pieces):
            count = b"".join(pieces).count(b"\n")
            whole = pl.DataFrame({"row": [0], "left_out": [0], "left_headed": [0]})
            return Thinned(pl.Series(["first"]), *whole.cast(pl.Int64), count)

    options = Options(carrier=carrier)
    source = open_stream(iter([data]), None, "x", options, origins(), 0)
    source.blocks.block_bytes = 1000
    source.thin_by(First())
    return source


def test_only_what_is_plain_text_by_itself_is_thinned():
    line = b"2026-05-12T09:00:01.123456789Z stdout F [2026-05-12 09:00:01] hello\n"
    data = 400 * line
    assert sum(frame.height for frame in opened(data, "cri")) == 400
    assert sum(frame.height for frame in opened(400 * line[40:], "plain")) < 40


def test_a_line_that_was_cut_is_kept_with_what_it_lost():
    source = opened(b"a\n" * 600 + b"b" * 3000 + b"\n" + b"c\n" * 600, "plain")
    source.blocks.line_bytes = 2000
    frames = list(source)
    assert source.source.damaged["too_long_line"].first_line == 601
    assert any((frame["message"].str.len_bytes() == 2000).any() for frame in frames)
    assert source.source.lines == 1201


@needs_scanner
@pytest.mark.parametrize("folder", ["container-0.5.23", "plain-0.4.6", "damaged", "incident"])
def test_the_list_of_launches_is_the_same(folder):
    whole, thin = (
        json.dumps(parts_json.launches(analyse([str(SAMPLES / folder)], Options(load=load))), default=str)
        for load in (True, False)
    )
    assert whole == thin
