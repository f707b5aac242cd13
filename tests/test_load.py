"""Load and pressure as every view counts them."""

from datetime import timedelta

import polars as pl
import pytest

from kvforensics.analysis import Analysis, Coverage, Service
from kvforensics.load import PRESSURE, SCHEMA, load, pressure
from kvforensics.records import Origins
from tests import hostile
from tests.build import START, launch


def analysis(samples):
    service = Service("s", "h", "u", (launch("L1"), launch("L2")))
    return Analysis((), Coverage(1, 1, 0), (service,), Origins(), samples)


def copies(*changes):
    base = hostile.samples("s")
    return pl.concat(
        [base.with_columns(**{k: pl.lit(v, dtype=base.schema[k]) for k, v in c.items()}) for c in changes]
    )


def test_ranks_of_a_group_count_once_and_groups_are_added():
    one = load(analysis(copies({"tp": 0})), "s")
    ranks = load(analysis(copies({"dp": 0, "tp": 0}, {"dp": 0, "tp": 1})), "s")
    groups = load(analysis(copies({"dp": 0}, {"dp": 1})), "s")
    assert ranks.equals(one)
    assert groups["running"].to_list() == [2 * each for each in one["running"]]
    assert groups["usage"].equals(one["usage"])


def test_two_rows_of_one_bucket_are_one_moment():
    """A rare event cuts a bucket in two; both rows have the same start."""
    found = load(analysis(copies({"tp": 0}, {"tp": 0})), "s")
    assert len(found) == 20
    assert found["running"].max() == 19


def test_only_the_service_s_own_rows_that_have_a_figure():
    samples = copies({"service": "s"}, {"service": "other"})
    samples = samples.with_columns(
        usage_max=pl.when(pl.col("first_line") > 25).then("usage_max"),
        running_max=pl.when(pl.col("first_line") > 25).then("running_max"),
        queue_max=pl.when(pl.col("first_line") > 25).then("queue_max"),
    )
    assert len(load(analysis(samples), "s")) == 14


@pytest.mark.parametrize(("function", "schema"), [(load, SCHEMA), (pressure, PRESSURE)])
def test_nothing_from_nothing(function, schema):
    empty = function(analysis(None), "s")
    assert (empty.schema, len(empty)) == (schema, 0)
    assert function(analysis(hostile.samples("other")), "s").schema == schema


def refusals(**columns):
    names = ("refused_pool", "refused_pool_front", "refused_context", "refused_context_front")
    base = hostile.samples("s").head(1)
    return base.with_columns(
        **{name: pl.lit(columns.get(name, 0), dtype=pl.Int64) for name in names},
        first_refused_pool=pl.lit(7, dtype=pl.Int64),
        first_refused_pool_at=pl.lit(START + timedelta(seconds=5)).cast(pl.Datetime("us")),
        **{k: pl.lit(v, dtype=pl.Int32) for k, v in columns.items() if k in ("tp", "dp")},
    )


def test_a_refusal_that_engine_and_front_print_counts_once():
    both = pl.concat([refusals(refused_pool=1, tp=0), refusals(refused_pool_front=1)])
    (row,) = pressure(analysis(both), "s").to_dicts()
    assert (row["kind"], row["requests"], row["line"]) == ("pool", 1, 7)
    assert row["at"] == START + timedelta(seconds=5)


def test_ranks_count_once_and_groups_add_up_here_too():
    ranks = pl.concat([refusals(refused_pool=2, dp=0, tp=0), refusals(refused_pool=2, dp=0, tp=1)])
    groups = pl.concat([refusals(refused_pool=2, dp=0), refusals(refused_pool=2, dp=1)])
    assert pressure(analysis(ranks), "s")["requests"].to_list() == [2]
    assert pressure(analysis(groups), "s")["requests"].to_list() == [4]


def test_a_retraction_at_the_time_of_its_line():
    (row,) = pressure(analysis(hostile.samples("s")), "s").to_dicts()
    assert (row["kind"], row["requests"], row["line"], row["launch"]) == ("retraction", 2, 39, "L2")
    assert row["at"] == START + timedelta(hours=2, minutes=24)
