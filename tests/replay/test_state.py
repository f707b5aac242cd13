"""The state at a moment, from the index and from a recomputation that looks at everything each time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.build import START, event, launch

from kvforensics.analysis import Service, analyse
from kvforensics.changes import Change
from kvforensics.replay.state import StateIndex
from kvforensics.verdicts.verdict import Effect, Effects, Verdict

ROOT = Path(__file__).parents[2]
RANKS = ("dp", "pp", "attn_cp", "moe_dp", "tp", "ep")
SCHEMA = {
    "service": pl.String,
    "launch": pl.String,
    "last_at": pl.Datetime("us"),
    "last_line": pl.Int64,
    **dict.fromkeys(RANKS, pl.Int32),
    "usage_last": pl.Float64,
    "running_last": pl.Int64,
    "queue_last": pl.Int64,
}


def minutes(count):
    return START + timedelta(minutes=count)


def from_scratch(service, samples, at):
    """What a reader who goes through all launches and samples from the first one on would say of `at`."""
    now = None
    for one in service.launches:
        started = one.started_at is not None and one.started_at <= at
        if started and (now is None or one.started_at >= now.started_at):
            now = one
    if now is None:
        return ("unseen", None, None, None, None, None, None)
    told = min((e.at for e in now.events if e.kind == "summary"), default=now.ready_at)
    pool = now.pool_tokens if told is not None and told <= at else None
    last = {}
    for row in sorted(samples.iter_rows(named=True), key=lambda row: (row["last_at"], row["last_line"])):
        if (row["service"], row["launch"]) == (service.id, now.id) and row["last_at"] <= at:
            group = last.setdefault(row["dp"], {})
            for name in ("usage_last", "running_last", "queue_last"):
                if row[name] is not None:
                    group[name] = row[name]
                    group["at"] = max(group.get("at", row["last_at"]), row["last_at"])

    def all_of(name):
        return [group[name] for group in last.values() if name in group]

    running, queue = all_of("running_last"), all_of("queue_last")
    return (
        phase_from_scratch(now, at),
        now.id,
        pool,
        max(all_of("usage_last"), default=None),
        sum(running) if running else None,
        sum(queue) if queue else None,
        max(all_of("at"), default=None),
    )


def phase_from_scratch(now, at):
    if now.ended_at is not None and now.ended_at <= at:
        return "down"
    if now.ready_at is not None and now.ready_at <= at:
        return "ready"
    return "starting" if now.complete_start else "ready"


def seen(state):
    figures = (state.token_usage, state.running, state.queue, state.sampled_at)
    return (state.phase, state.launch, state.pool_tokens, *figures)


@st.composite
def histories(draw):
    launches, clock = [], 0
    for number in range(draw(st.integers(0, 5))):
        clock += draw(st.integers(0, 30))
        ready = draw(st.none() | st.integers(0, 20))
        end = draw(st.none() | st.integers(0, 40))
        summary = draw(st.none() | st.integers(0, 20))
        launches.append(
            replace(
                launch(f"L{number + 1}", tokens=1000 * (number + 1)),
                started_at=None if draw(st.integers(0, 9)) == 0 else minutes(clock),
                ready_at=None if ready is None else minutes(clock + ready),
                ended_at=None if end is None else minutes(clock + end),
                complete_start=draw(st.booleans()),
                events=() if summary is None else (event("summary", minutes(clock + summary)),),
            )
        )
    if draw(st.booleans()) and launches:
        launches.append(replace(launches.pop(0), id="L9"))  # a clock that was set back
    figure = st.none() | st.integers(0, 9)
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["s", "s", "other"]), st.sampled_from([*(f"L{n}" for n in range(1, 6)), None]),
                st.integers(0, 200), st.none() | st.integers(0, 1), figure, figure, figure,
            ),
            max_size=30,
        )
    )  # fmt: skip
    samples = pl.DataFrame(
        [
            (
                service,
                name,
                minutes(at),
                line,
                dp,
                None,
                None,
                None,
                tp,
                None,
                usage and usage / 10,
                running,
                queue,
            )
            for line, (service, name, at, dp, usage, running, queue) in enumerate(rows)
            for tp in (0,)
        ],
        schema=SCHEMA,
        orient="row",
    )
    return Service("s", "node", "unit", tuple(launches)), samples


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.lists(st.integers(-5, 300), min_size=1, max_size=12))
def test_the_index_says_what_a_recomputation_says(history, moments):
    service, samples = history
    index = StateIndex(service, samples)
    for moment in moments:
        at = minutes(moment)
        assert seen(index.at(at)) == from_scratch(service, samples, at)


@pytest.fixture(scope="module")
def incident():
    return analyse([str(ROOT / "sample_logs/incident/incident.export")])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(second=st.integers(-600, 8000))
def test_also_of_the_incident(incident, second):
    service = incident.services[0]
    at = service.launches[0].started_at + timedelta(seconds=second)
    index = StateIndex(service, incident.samples)
    assert seen(index.at(at)) == from_scratch(service, incident.samples, at)


def test_nothing_is_known_before_its_line(incident):
    service = incident.services[0]
    index = StateIndex(service, incident.samples)
    second = service.launches[1]
    just_before = index.at(second.started_at + timedelta(seconds=1))
    assert (just_before.phase, just_before.launch, just_before.pool_tokens) == ("starting", "L2", None)
    assert (just_before.token_usage, just_before.ready_at) == (None, None)
    ready = index.at(second.ready_at)
    assert (ready.phase, ready.pool_tokens, ready.context_len) == ("ready", 101134, 200000)


def test_the_edge_moments_belong_to_what_begins(incident):
    service = incident.services[0]
    index = StateIndex(service, incident.samples)
    assert index.at(service.launches[0].started_at).launch == "L1"
    assert index.at(service.launches[0].started_at - timedelta(microseconds=1)).phase == "unseen"


def test_ranks_of_one_group_are_one_and_groups_add_up():
    rows = [
        ("s", "L1", minutes(5), 1, 0, None, None, None, 0, None, 0.5, 3, 1),
        ("s", "L1", minutes(5), 2, 0, None, None, None, 1, None, 0.5, 3, 1),
        ("s", "L1", minutes(6), 3, 1, None, None, None, 0, None, 0.7, 4, 0),
    ]
    service = Service("s", None, None, (launch("L1"),))
    state = StateIndex(service, pl.DataFrame(rows, schema=SCHEMA, orient="row")).at(minutes(9))
    assert (state.token_usage, state.running, state.queue) == (0.7, 7, 1)


def test_changed_settings_with_those_apart_named():
    unknown = Effect(None, None, "unknown")

    def verdict(setting, code):
        change = Change("L1", "L2", setting, 1, 2)
        return Verdict(change, "no_op", code, "r", None, Effects(*[unknown] * 4), "none")

    two = replace(launch("L2"), started_at=minutes(60))
    service = Service(
        "s", None, None, (launch("L1"), two),
        verdicts=(verdict("random_seed", "not_a_memory_setting"), verdict("context_length", "not_a_pool_input")),
    )  # fmt: skip
    state = StateIndex(service, None).at(minutes(61))
    assert dict(state.changed) == {"random_seed": (1, 2), "context_length": (1, 2)}
    assert state.apart == ("random_seed",)
    assert StateIndex(service, None).at(minutes(59)).changed == {}
