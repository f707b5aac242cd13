from datetime import datetime

import pytest
from msgspec.structs import replace
from tests.build import event, incident, launch, pool

from kvforensics.launches import Requests
from kvforensics.records import Place

AT = Place("log.txt", 7)
AT_TIME = datetime(2026, 5, 20, 9, 30)


def test_context_exceeds_pool(found):
    (one,) = found(incident(context=200000, free=9.61))["context_exceeds_pool"]
    assert (one.severity, one.launch) == ("warning", "L1")
    assert "200,000" in one.title
    assert "101,134" in one.title
    assert "101,127" in one.detail
    assert "0.926" in one.fix
    assert Place("log.txt", 98) in one.evidence


@pytest.mark.parametrize("context", [32768, 101134])
def test_not_where_the_pool_holds_the_context(found, context):
    assert "context_exceeds_pool" not in found(incident(context=context))


def test_refused_by_the_pool(found):
    seen = Requests(
        rejected_too_long=2, refused_by_pool=2, first_refused_by_pool=AT, first_refused_by_pool_at=AT_TIME
    )
    (one,) = found(incident(context=200000, requests=seen))["request_too_long_for_pool"]
    assert (one.severity, one.evidence, one.at) == ("warning", (AT,), AT_TIME)
    assert one.title.startswith("2 prompts were")
    assert "mem_fraction_static" in one.fix


def test_refused_by_the_context(found):
    seen = Requests(
        rejected_too_long=1,
        refused_by_context=1,
        first_refused_by_context=AT,
        first_refused_by_context_at=AT_TIME,
    )
    result = found(incident(requests=seen))
    (one,) = result["request_too_long_for_context"]
    assert (one.severity, one.evidence, one.at) == ("info", (AT,), AT_TIME)
    assert "101,134" in one.fix
    assert "request_too_long_for_pool" not in result


def test_retractions(found):
    seen = Requests(retractions=3, peak_token_usage=0.99, first_retraction=AT, first_retraction_at=AT_TIME)
    (one,) = found(launch(requests=seen))["retractions"]
    assert (one.severity, one.evidence, one.at) == ("warning", (AT,), AT_TIME)
    assert "3 requests" in one.title
    assert "0.99" in one.detail


def test_cap_above_profile(found):
    line = event("cap_above_profile", line=44, requested=900000, profiled=111088)
    (one,) = found(launch(cap=900000, events=(line,)))["max_total_tokens_above_profile"]
    assert "900,000" in one.title
    assert "111,088" in one.title
    assert one.evidence == (Place("log.txt", 44),)


class TestIdle:
    """Reserve of f=.85 and P=94: 14.1 GiB; a tenth of P more: 23.5 GiB."""

    @pytest.mark.parametrize(("free", "idle"), [(23.4, False), (23.6, True)])
    def test_above_the_reserve_by_a_tenth(self, found, free, idle):
        assert ("memory_left_idle" in found(launch(free=free))) is idle

    @pytest.mark.parametrize(("free", "idle"), [(37.5, False), (37.7, True)])
    def test_without_a_fraction_two_fifths(self, found, free, idle):
        made = launch(free=free, settings={"mem_fraction_static": None})
        assert ("memory_left_idle" in found(made)) is idle

    def test_a_cap_is_named(self, found):
        (one,) = found(launch(cap=5000, weights=40.0, free=50.0))["memory_left_idle"]
        assert "max_total_tokens=5000" in one.detail
        assert "memory would hold" in one.fix

    def test_unknown_free_memory(self, found):
        assert "memory_left_idle" not in found(launch(free=None, before=None, tokens=1000))


class TestDraft:
    def test_outside_the_budget(self, found):
        made = launch(version="0.5.9", draft=9000, settings={"speculative_algorithm": "EAGLE"})
        (one,) = found(made)["draft_pool_unbudgeted"]
        assert "0.93 GiB" in one.title or "0.9" in one.title

    def test_inside_it(self, found):
        assert "draft_pool_unbudgeted" not in found(incident())


def test_a_budget_that_nothing_explains(found):
    (one,) = found(launch(tokens=80000))["budget_unexplained"]
    assert "less" in one.title
    assert "budget_unexplained" not in found(launch())
    assert "budget_unexplained" not in found(launch(cap=50000))


class TestKnownFaults:
    def test_pages_of_0_5_11(self, found):
        assert "page_unschedulable" in found(launch(page=64))
        assert "page_unschedulable" not in found(launch(page=1))
        assert "page_unschedulable" not in found(launch(page=64, version="0.5.12"))
        assert "page_unschedulable" not in found(launch(page=64, version=("0.5.10", "0.5.12")))

    def test_only_where_it_begins(self, found):
        (one,) = found(launch(page=64), launch(page=64))["page_unschedulable"]
        assert one.launch == "L1"

    def test_a_draft_priced_as_the_target(self, found):
        (one,) = found(incident())["draft_priced_as_target"]
        assert one.severity == "info"
        assert "0.37 GiB less" in one.detail

    def test_a_cap_before_the_split(self, found):
        made = launch(version="0.5.9", cap=50000, tokens=60000)
        made = replace(made, pools=(replace(made.pools[0], role="full"), pool("swa", 48000, 1.0)))
        assert "swa_cap_before_split" in found(made)
