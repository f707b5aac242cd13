"""Rows added up by groups: the scanner and the expressions say the same, and what they say is right."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvforensics import compiled
from kvforensics.samples.grouping import Rule, grouped

WHOLE = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([-(1 << 62), 1 << 62, 1 << 40]))
DECIMAL = st.one_of(st.none(), st.sampled_from([-1.5, 0.0, 0.25, 0.99, 1e300]))
ROW = st.tuples(WHOLE, WHOLE, st.integers(0, 3), WHOLE, DECIMAL)
SCHEMA = {"a": pl.Int64(), "b": pl.Int64(), "c": pl.UInt32(), "whole": pl.Int64(), "decimal": pl.Float64()}
RULES = {
    "rows": Rule("len"),
    "total": Rule("sum", "whole"),
    **{
        f"{name}_{column}": Rule(name, column)
        for name in ("first", "last", "min", "max")
        for column in ("whole", "decimal")
    },
    **{f"{name}_by_order": Rule(name, "whole", order="order") for name in ("first", "last")},
}

needs_scanner = pytest.mark.skipif(compiled.module() is None, reason="there is no C compiler")


def told(name: str, values: list, order: list):
    """Say what a rule says of a group, value by value."""
    known = [(place, value) for place, value in zip(order, values, strict=True) if value is not None]
    bare = [value for _, value in known]
    match name:
        case "len":
            return len(values)
        case "sum":
            return (sum(bare) + (1 << 63)) % (1 << 64) - (1 << 63)
        case "min" | "max":
            return {"min": min, "max": max}[name](bare, default=None)
    if not known:
        return None
    return {"first": min, "last": max}[name](known, key=lambda pair: pair[0])[1]


@pytest.mark.parametrize("native", ["0", pytest.param("1", marks=needs_scanner)])
@pytest.mark.parametrize("key", [(), ("a",), ("c", "b"), ("a", "b", "c")])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(ROW, min_size=1, max_size=60),
    cut=st.integers(0, 60),
    order=st.randoms(use_true_random=False),
)
def test_groups_are_told_as_row_by_row(native, key, rows, cut, order, monkeypatch):
    monkeypatch.setenv("KVFORENSICS_NATIVE", native)
    places = list(range(len(rows)))
    order.shuffle(places)
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(
        order=pl.Series(places, dtype=pl.Int64)
    )
    frame = pl.concat([frame[:cut], frame[cut:]], rechunk=False)
    expected: dict[tuple, list[dict]] = {}
    for row in frame.iter_rows(named=True):
        expected.setdefault(tuple(row[name] for name in key), []).append(row)
    found = grouped(frame, key, RULES)
    assert found.columns == [*key, *RULES]
    for row, (values, members) in zip(found.iter_rows(named=True), expected.items(), strict=True):
        assert tuple(row[name] for name in key) == values
        for name, rule in RULES.items():
            of = [member[rule.column] if rule.column else 0 for member in members]
            by = [member["order"] if rule.order else place for place, member in enumerate(members)]
            assert row[name] == told(rule.name, of, by), name


@needs_scanner
def test_many_groups(monkeypatch):
    rows = pl.DataFrame(
        {"key": [number * 7919 % 50_021 for number in range(200_000)], "value": range(200_000)}
    )
    rules = {"first": Rule("first", "value"), "sum": Rule("sum", "value"), "rows": Rule("len")}
    found = []
    for native in ("0", "1"):
        monkeypatch.setenv("KVFORENSICS_NATIVE", native)
        found.append(grouped(rows, ["key"], rules))
    assert found[0].equals(found[1])
    assert found[0].height == 50_021


@needs_scanner
def test_columns_that_do_not_fit_are_refused():
    group, stream = compiled.module().group, lambda *values: pl.Series(values).__arrow_c_stream__(None)
    with pytest.raises(ValueError, match="do not fit"):
        group(2, (stream(1, 2, 3),), (), ())
    with pytest.raises(ValueError, match="do not fit"):
        group(3, (stream(1, 2, 3),), (), (("s", stream(1), -1),))
    with pytest.raises(ValueError, match="do not fit"):
        group(1, (stream("a"),), (), ())
    with pytest.raises(ValueError, match="do not fit"):
        group(2, (), (stream(1),), ())
    with pytest.raises(ValueError, match="no such rule"):
        group(1, (stream(1),), (), (("?", stream(1), -1),))
    with pytest.raises(ValueError, match="no such rule"):
        group(1, (stream(1),), (), (("f", stream(1), 0),))
