"""Where nobody asks for the load over time, lines that say no more than others go, and nothing else changes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics import compiled
from kvforensics.analysis import analyse
from kvforensics.intake import Floods, Intake, take_in
from kvforensics.options import Options
from kvforensics.parsing import Parser
from kvforensics.parsing.kinds import kinds
from kvforensics.records import Source
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


def taken(lines, *, alike, size):
    """Read lines in blocks of some size."""
    intake = Intake(samples=Samples(over_time=False), origins=origins())
    parser = Parser(0, Source("x"), intake.origins, "UTC", alike)
    blocks = (frame(lines[at : at + size], first_line=at + 1) for at in range(0, len(lines), size))
    floods = Floods(intake.origins)
    take_in(blocks, parser, floods, intake)
    intake.add(parser.close(), floods)
    return intake


def told(intake):
    """Return all that launches are made of."""
    stretches = intake.samples.stretches()
    serving = stretches.select(*TOLD, served=(pl.col("prefills") + pl.col("decodes")) > 0)
    counts = (intake.records, intake.understood, intake.unknown)
    shapes = {name: asdict(shape) for name, shape in intake.shapes.items()}
    return serving.to_dicts(), intake.samples.records().to_dicts(), intake.events, counts, shapes


@needs_scanner
@settings(deadline=None, max_examples=EXAMPLES)
@given(st.lists(LINE, max_size=150), st.sampled_from([17, 60, 1000]))
def test_what_is_left_out_shows_nowhere(drawn, size):
    lines = messages([(line, "", 0, False) for line in LINES] * 3 + drawn)
    whole, thin = (taken(lines, alike=alike, size=size) for alike in ((), ALIKE))
    for one, other in zip(told(whole), told(thin), strict=True):
        assert one == other


@needs_scanner
def test_most_of_an_even_log_is_left_out():
    parser = Parser(0, Source("x"), origins(), "UTC", ALIKE)
    lines = messages([(line, tag, 1, False) for tag in TAGS for line in LINES])
    parser.feed(parser.thinned(frame(lines)))
    thin = parser.thinned(frame(200 * lines))
    assert thin.height < 0.3 * 200 * len(lines)
    assert thin.height + thin["left_out"].sum() == 200 * len(lines)
    assert thin["left_headed"].sum() == thin["left_out"].sum()


@needs_scanner
@pytest.mark.parametrize("column", [{"at": [datetime(2026, 1, 1)]}, {"origin": [0, 1]}, {"extra": ["{}"]}])
def test_of_other_records_none_is_left_out(column):
    parser = Parser(0, Source("x"), origins(), "UTC", ALIKE)
    lines = 50 * messages([(line, "", 0, False) for line in LINES])
    parser.feed(parser.thinned(frame(lines)))
    assert parser.thinned(frame(lines)).height < len(lines)
    columns = {name: values * (len(lines) // len(values)) for name, values in column.items()}
    assert parser.thinned(frame(lines, **columns)).height == len(lines)


@needs_scanner
@pytest.mark.parametrize("folder", ["container-0.5.23", "plain-0.4.6", "damaged", "incident"])
def test_the_list_of_launches_is_the_same(folder):
    whole, thin = (
        json.dumps(parts_json.launches(analyse([str(SAMPLES / folder)], Options(load=load))), default=str)
        for load in (True, False)
    )
    assert whole == thin
