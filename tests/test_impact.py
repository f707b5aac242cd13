"""What restarts cost, and the part that edits without effect caused."""

import pytest
from msgspec.structs import replace

from kvforensics.analysis import Service
from kvforensics.changes import Change
from kvforensics.impact import impact
from kvforensics.verdicts.verdict import Effect, Effects, Verdict
from tests.build import launch

UNKNOWN = Effect(None, None, "unknown")


def verdict(to, word, code="not_a_pool_input", *, derived=False):
    change = Change("L0", to, "x", 1, 2, derived=derived)
    return Verdict(change, word, code, "", None, Effects(*[UNKNOWN] * 4), "none")


def service(downtimes, *verdicts):
    launches = tuple(replace(launch(f"L{n + 1}"), downtime_s=each) for n, each in enumerate(downtimes))
    return Service("s", None, None, launches, verdicts=verdicts)


def test_downtime_of_all_restarts_and_of_those_for_nothing():
    found = impact(
        service(
            [None, 60.0, 100.0, None],
            verdict("L2", "no_op_for_pool"),
            verdict("L3", "effective"),
            verdict("L4", "no_op"),
        )
    )
    assert (found.downtime_s, found.known, found.unknown) == (160.0, 2, 1)
    assert (found.idle_s, found.idle) == (60.0, ("L2", "L4"))


@pytest.mark.parametrize(
    "more",
    [verdict("L2", "effective"), verdict("L2", "adverse"), verdict("L2", "confounded")],
    ids=lambda v: v.verdict,
)
def test_a_restart_with_another_edit_was_not_for_nothing(more):
    assert impact(service([None, 60.0], verdict("L2", "no_op"), more)).idle == ()


def test_neither_settings_apart_nor_derived_ones_are_edits():
    apart = verdict("L2", "no_op", "not_a_memory_setting")
    assert impact(service([None, 60.0], apart)).idle == ()
    assert impact(
        service([None, 60.0], verdict("L2", "no_op"), verdict("L2", "effective", derived=True))
    ).idle == ("L2",)


def test_the_first_start_is_no_restart():
    found = impact(service([30.0]))
    assert (found.downtime_s, found.known, found.unknown) == (0, 0, 0)
