"""Scheduler samples in time buckets."""

from datetime import datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics.events import BASE_SCHEMA, RANK_TAGS, SEEN_SCHEMA, Event, EventBlock
from kvforensics.samples import Samples

START = datetime(2026, 5, 20, 9, 0)


def hot(lines, source=0, origin=0, tp=None, step=0.25, **columns):
    """A hot frame: one row a line, a quarter of a second apart."""
    count = len(lines)
    return pl.DataFrame(
        {
            "source": [source] * count,
            "line": lines,
            "at": [START + timedelta(seconds=line * step) for line in lines],
            "origin": [origin] * count,
            **{tag: [tp if tag == "tp" else None] * count for tag in RANK_TAGS},
            **{name: list(values) for name, values in columns.items()},
        },
        schema_overrides=dict(BASE_SCHEMA),
    )


def seen(lines, times, source=0, ours=True):
    return pl.DataFrame(
        {
            "source": [source] * len(lines),
            "line": lines,
            "at": [None if t is None else START + timedelta(seconds=t) for t in times],
            "origin": [0] * len(lines),
            "records": [1] * len(lines),
            "ours": [int(ours)] * len(lines),
        },
        schema=SEEN_SCHEMA,
    )


def rare(line, source=0):
    return Event("ready", {}, source, line, 0)


def decode(lines, **kwargs):
    usage = [line / 100 for line in lines]
    return {
        "decode": hot(lines, usage=usage, running=lines, queue=lines, tokens=lines, gen_tps=usage, **kwargs)
    }


def test_a_bucket_keeps_peaks_and_last_values():
    samples = Samples()
    frame = hot(
        [1, 2, 3],
        usage=[0.2, 0.9, 0.4],
        running=[3, 9, 4],
        queue=[1, 0, 0],
        tokens=[5, 6, 7],
        gen_tps=[10.0, 20.0, 60.0],
    )
    samples.add(EventBlock(hot={"decode": frame}))
    (row,) = samples.frame().to_dicts()
    assert (row["usage_max"], row["usage_last"], row["running_max"], row["running_last"]) == (0.9, 0.4, 9, 4)
    assert (row["queue_max"], row["queue_last"], row["tokens_last"], row["gen_tps"]) == (1, 0, 7, 30.0)
    assert (row["first_line"], row["last_line"], row["decodes"], row["prefills"]) == (1, 3, 3, 0)
    assert row["slot_at"] == START
    assert (row["first_at"], row["last_at"]) == (
        START + timedelta(seconds=0.25),
        START + timedelta(seconds=0.75),
    )


def test_sums_do_not_wrap():
    samples = Samples()
    big = pl.Series([4_000_000_000, 4_000_000_000], dtype=pl.UInt32)
    frame = hot([1, 2], new_tokens=big, cached_tokens=big, usage=[0.1, 0.1]).with_columns(
        pl.col("new_tokens").cast(pl.UInt32)
    )
    samples.add(EventBlock(hot={"prefill": frame}))
    assert samples.frame()["new_tokens"].to_list() == [8_000_000_000]


def test_a_bucket_never_spans_a_rare_event():
    samples = Samples()
    samples.add(EventBlock(rare=[rare(3)], hot=decode([1, 2, 4])))
    assert samples.frame().select("after_line", "first_line", "last_line").rows() == [(0, 1, 2), (3, 4, 4)]


def test_a_rare_event_that_is_known_only_later_still_cuts():
    samples = Samples()
    samples.add(EventBlock(hot=decode([1, 2, 4])))
    samples.add(EventBlock(rare=[rare(3)], hot=decode([5])))
    assert samples.frame().select("after_line", "decodes").rows() == [(0, 2), (3, 2)]


def test_boundaries_may_be_fewer_than_the_rare_events():
    samples = Samples()
    samples.add(EventBlock(rare=[rare(2), rare(4)], hot=decode([1, 3])), boundaries=[4])
    assert samples.frame()["after_line"].to_list() == [0]


def test_processes_and_ranks_are_kept_apart():
    samples = Samples()
    samples.add(EventBlock(hot=decode([1], tp=0)))
    samples.add(EventBlock(hot=decode([2], tp=1)))
    samples.add(EventBlock(hot=decode([3], origin=7)))
    assert len(samples.frame()) == 3
    assert len(samples.stretches()) == 3


def test_sources_have_lines_of_their_own():
    samples = Samples()
    samples.add(EventBlock(rare=[rare(3)], hot=decode([1, 4])))
    samples.add(EventBlock(hot=decode([1, 5], source=1)))
    assert samples.stretches().select("source", "after_line").rows() == [(0, 0), (0, 3), (1, 0)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_blocks_do_not_show(size):
    def build(chunk):
        samples = Samples(max_rows=10)
        for first in range(1, 41, chunk):
            lines = list(range(first, min(first + chunk, 41)))
            events = [rare(line) for line in lines if line in (9, 23)]
            rows = [line for line in lines if line not in (9, 23)]
            block = EventBlock(
                rare=events,
                hot=decode(rows, step=3) if rows else {},
                seen=seen(lines, [line * 3 for line in lines]),
            )
            samples.add(block)
        return samples

    one, other = build(40), build(size)
    assert one.frame().equals(other.frame())
    assert one.stretches().equals(other.stretches())
    assert one.records().equals(other.records())
    assert one.width_s == other.width_s


def test_the_width_grows_until_the_rows_fit():
    samples = Samples(max_rows=8)
    samples.add(EventBlock(hot=decode(list(range(1, 101)), step=1)))
    frame = samples.frame()
    assert samples.width_s == 16
    assert len(frame) <= 8
    assert frame["decodes"].sum() == 100
    assert frame["usage_max"].max() == 1.0


def test_stretches_add_the_buckets_up():
    samples = Samples()
    samples.add(
        EventBlock(rare=[rare(50)], hot=decode([line for line in range(1, 101) if line != 50], step=1))
    )
    rows = samples.stretches().to_dicts()
    assert [(row["first_line"], row["last_line"], row["decodes"], row["usage_max"]) for row in rows] == [
        (1, 49, 49, 0.49),
        (51, 100, 50, 1.0),
    ]


def test_without_time_the_stretches_are_the_same():
    wide, fine = Samples(over_time=False), Samples()
    for begin in range(0, 300, 50):
        block = EventBlock(
            hot=decode(list(range(begin, begin + 50)), tp=begin % 3, step=900.0), rare=[rare(begin + 7)]
        )
        wide.add(block)
        fine.add(block)
    assert wide.stretches().equals(fine.stretches())
    assert len(wide.frame()) < len(fine.frame())


def test_sums_made_before_a_block_is_added_are_the_same():
    early, late = Samples(max_rows=40), Samples(max_rows=40)
    for begin in range(0, 600, 50):
        lines = list(range(begin, begin + 50))
        rares = [rare(begin + 7)] if begin % 150 == 0 else []
        block = EventBlock(
            hot={
                **decode(lines, tp=0),
                "access": hot(lines, status=[200 + line % 3 * 150 for line in lines]),
            },
            rare=rares,
        )
        early.add(block, sums=early.sums(block))
        late.add(block)
    assert early.frame().equals(late.frame())
    assert early.width_s == late.width_s > 1


BLOCKS = st.lists(
    st.tuples(
        st.integers(1, 12),  # records
        st.sets(st.integers(-3, 11), max_size=3),  # events: places in the block, or in the one before
        st.booleans(),  # whether all of them are boundaries
        st.lists(
            st.sampled_from([None, 0.0, 1.0, 4.0, 9.0]), min_size=12, max_size=12
        ),  # seconds since the last
    ),
    min_size=1,
    max_size=6,
)


def blocks_of(drawn, *, late):
    """Make blocks, and the lines of each that are boundaries."""
    begin, clock = 1, 0.0
    for count, events, all_kept, steps in drawn:
        lines = list(range(begin, begin + count))
        times = []
        for step in steps[:count]:
            clock += step or 0.0
            times.append(None if step is None else clock)
        told = sorted({begin + at for at in events if at < count and (late or at >= 0) and begin + at > 0})
        rows = [line for line in lines if line not in told]
        found = decode(rows, step=2) if rows else {}
        block = EventBlock(rare=[rare(line) for line in told], hot=found, seen=seen(lines, times))
        yield block, told if all_kept else told[:1]
        begin += count


@settings(deadline=None)
@given(BLOCKS)
def test_what_is_added_up_in_advance_is_the_same_wherever_events_are(drawn):
    early, late = Samples(), Samples()
    for block, kept in blocks_of(drawn, late=True):
        early.add(block, kept, early.sums(block))
        late.add(block, kept)
    assert early.records().equals(late.records())
    assert early.frame().equals(late.frame())


@settings(deadline=None)
@given(BLOCKS)
def test_runs_of_records_are_the_same_line_by_line(drawn):
    whole, single = Samples(), Samples()
    for block, kept in blocks_of(drawn, late=False):
        whole.add(block, kept, whole.sums(block))
        for row in range(block.seen.height):
            line = block.seen["line"][row]
            single.add(EventBlock(seen=block.seen[row : row + 1]), [each for each in kept if each == line])
    assert whole.records().equals(single.records())


def test_lines_without_time_are_counted_too():
    samples = Samples()
    frame = decode([1, 2])["decode"].with_columns(at=pl.lit(None, dtype=pl.Datetime("us")))
    samples.add(EventBlock(hot={"decode": frame}))
    (row,) = samples.frame().to_dicts()
    assert (row["slot_at"], row["decodes"]) == (None, 2)


def test_refusals_by_gate_and_layer():
    samples = Samples()
    frame = hot(
        [1, 2, 3],
        gate=["pool_input", "pool_input", "context_total"],
        layer=[None, "[http_server] Error: ", "[http_server] Error: "],
        input_tokens=[9, 9, 9],
        limit_tokens=[5, 5, 5],
    )
    samples.add(EventBlock(hot={"too_long": frame}))
    (row,) = samples.frame().to_dicts()
    names = ("refused_pool", "refused_pool_front", "refused_context", "refused_context_front")
    assert [row[name] for name in names] == [1, 1, 0, 1]
    assert (row["first_refused_pool"], row["first_refused_context"], row["first_retraction"]) == (1, 3, None)
    first, third = START + timedelta(seconds=0.25), START + timedelta(seconds=0.75)
    assert (row["first_refused_pool_at"], row["first_refused_context_at"]) == (first, third)
    assert row["first_retraction_at"] is None


def test_requests_by_status():
    samples = Samples()
    samples.add(EventBlock(hot={"access": hot([0, 1, 2, 3], status=[200, 400, 503, 204])}))
    (row,) = samples.frame().to_dicts()
    assert (row["access_ok"], row["access_client_error"], row["access_server_error"]) == (2, 1, 1)
    assert row["usage_max"] is None


def test_usage_of_a_hybrid_is_the_largest_over_its_pools():
    samples = Samples()
    samples.add(
        EventBlock(
            hot={"decode": hot([1], usage=[0.1], full_usage=[0.2], swa_usage=[0.7], mamba_usage=[0.3])}
        )
    )
    assert samples.frame()["usage_max"].to_list() == [0.7]


def test_an_input_printed_newest_first():
    forward, backward = Samples(), Samples()
    forward.add(
        EventBlock(rare=[rare(4)], hot=decode([1, 2, 3, 5, 6]), seen=seen([1, 2, 3, 4, 5, 6], range(6)))
    )
    backward.add(
        EventBlock(seen=seen([6], [0]))
    )  # the first block has one line: nothing tells the direction yet
    backward.add(
        EventBlock(rare=[rare(3)], hot=decode([5, 4, 2, 1]), seen=seen([5, 4, 3, 2, 1], range(1, 6)))
    )
    assert backward.stretches()["after_line"].to_list() == [0, 3]
    assert backward.stretches()["first_line"].to_list() == [-5, -2]
    assert backward.records()["records"].to_list() == [3, 3]
    assert backward.frame()["first_line"].to_list() == [5, 2]


def test_records_know_their_last_burst():
    samples = Samples()
    samples.add(EventBlock(seen=seen([1, 2, 3, 4], [0, 1, 60, 62])))
    samples.add(EventBlock(seen=seen([5, 6], [64, None])))
    (row,) = samples.records().to_dicts()
    assert (row["records"], row["ours"], row["first_line"], row["last_line"]) == (6, 6, 1, 6)
    assert (row["burst_line"], row["burst_at"]) == (3, START + timedelta(seconds=60))
    assert row["last_at"] == START + timedelta(seconds=64)


def test_records_of_others_go_first_when_there_are_too_many():
    samples = Samples(max_rows=5)
    for line in range(1, 30):
        frame = seen([line], [line], ours=line == 7).with_columns(origin=pl.lit(line, dtype=pl.UInt32))
        samples.add(EventBlock(seen=frame))
    assert samples.records()["origin"].to_list() == [7]


def test_nothing_gives_nothing():
    samples = Samples()
    samples.add(EventBlock())
    assert (len(samples.frame()), len(samples.stretches()), len(samples.records())) == (0, 0, 0)


def test_a_bucket_of_load_and_access_lines_begins_at_its_first_line_and_blocks_have_an_order_of_their_own():
    samples, one_by_one = Samples(), Samples()
    load, access = decode([1, 2]), {"access": hot([0, 3], status=[200, 500])}
    samples.add(EventBlock(hot=load | access))
    for line in range(4):
        kind = {"access": hot([line], status=[200 if line < 3 else 500])}
        one_by_one.add(EventBlock(hot=kind if line in (0, 3) else decode([line])))
    (row,) = samples.frame().to_dicts()
    assert (row["first_line"], row["first_at"], row["last_line"]) == (0, START, 3)
    assert row["last_at"] == START + timedelta(seconds=0.75)
    assert (row["tokens_last"], row["access_ok"], row["access_server_error"]) == (2, 1, 1)
    assert samples.frame().equals(one_by_one.frame())
    assert samples.parts()[0].equals(one_by_one.parts()[0])


def test_prefill_and_decode_lines_of_one_bucket_give_the_last_values_by_line():
    samples = Samples()
    prefill = hot([2, 4], usage=[0.5, 0.7], running=[1, 2], queue=[0, 3], new_tokens=[8, 8])
    samples.add(EventBlock(hot={**decode([1, 3], step=0.1), "prefill": prefill.with_columns(at=START)}))
    (row,) = samples.frame().to_dicts()
    assert (row["usage_last"], row["running_last"], row["queue_last"], row["tokens_last"]) == (0.7, 2, 3, 3)
    assert (row["usage_max"], row["new_tokens"], row["decodes"], row["prefills"]) == (0.7, 16, 2, 2)
