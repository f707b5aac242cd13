"""Where the memory went: four parts that add up, or nothing."""

import pytest
from msgspec.structs import replace

from kvforensics.memory_parts import memory_parts
from kvforensics.sizing import reconcile
from tests.build import incident, launch


def test_the_parts_add_up_to_what_was_free():
    one = incident()
    parts = memory_parts(one, reconcile(one))
    total = parts.weights_gib + parts.pools_gib + parts.graphs_gib + parts.free_gib
    assert total == pytest.approx(one.memory.before_load_gib, abs=0.03)
    assert parts.limit_gib == pytest.approx(94.0 * 0.85)


@pytest.mark.parametrize("missing", ["before_load_gib", "after_load_gib"])
def test_unknown_memory_is_no_bar(missing):
    one = incident()
    assert memory_parts(replace(one, memory=replace(one.memory, **{missing: None})), reconcile(one)) is None


def test_no_headroom_no_budget_and_figures_that_contradict_are_no_bar():
    one = launch()
    assert memory_parts(replace(one, free_gib=None), reconcile(one)) is None
    assert memory_parts(one, None) is None
    assert memory_parts(replace(one, free_gib=50.0), reconcile(one)) is None


def test_no_fraction_no_limit():
    one = launch()
    bare = replace(one, config=replace(one.config, values={}))
    assert memory_parts(bare, reconcile(one)).limit_gib is None
