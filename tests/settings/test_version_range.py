from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.events import Event
from kvforensics.knowledge import VersionRange, fields, releases
from kvforensics.settings import version_range

RELEASES = releases()


def event(kind: str, **values):
    return Event(kind, values, source=0, line=1, origin=0)


@pytest.mark.parametrize("release", RELEASES)
def test_the_whole_field_set_tells_the_release(release):
    assert version_range(fields(release)) == VersionRange(release, release, "server_args fields")


@pytest.mark.parametrize("release", RELEASES)
def test_a_fork_s_own_fields_do_not_break_it(release):
    names = fields(release) | {"speculative_ddtree_budget", "vendor_flag"}
    assert version_range(names).exact == release


@given(st.sampled_from(RELEASES), st.data())
def test_a_truncated_set_keeps_the_release_in_the_range(release, data):
    kept = data.draw(st.sets(st.sampled_from(sorted(fields(release))), min_size=1))
    found = version_range(kept, truncated=True)
    order = RELEASES.index
    fitting = [name for name in RELEASES if kept <= fields(name)]
    if len(fitting) == len(RELEASES):
        assert found is None
    else:
        assert order(found.oldest) <= order(release) <= order(found.newest)
        assert (found.oldest, found.newest) == (fitting[0], fitting[-1])


@given(st.sampled_from(RELEASES), st.data())
def test_a_few_fields_more_or_less_stay_near(release, data):
    """A build between two releases: the range has the release or its neighbour, and no more than both."""
    gone = data.draw(st.sets(st.sampled_from(sorted(fields(release))), max_size=2))
    found = version_range(fields(release) - gone)
    place = RELEASES.index(release)
    around = RELEASES[max(place - 1, 0) : place + 2]
    assert found.oldest in around
    assert found.newest in around
    assert release in (found.oldest, found.newest)


def test_a_build_between_two_releases():
    between = (fields("0.5.11") & fields("0.5.12")) | set(sorted(fields("0.5.12") - fields("0.5.11"))[:6])
    assert version_range(between) == VersionRange("0.5.11", "0.5.12", "server_args fields")


@pytest.mark.parametrize("names", [(), ("vendor_flag",), ("context_length", "tp_size")])
def test_nothing_tells(names):
    assert version_range(names) is None


def test_a_part_of_a_config_counts_by_what_is_there():
    found = version_range(["context_length", "speculative_dflash_draft_window_size"])
    assert found.exact == "0.5.11"
    found = version_range(["context_length", "attn_dp_size"])
    assert (found.oldest, found.newest) == ("0.5.22", "0.5.23")


def test_the_form_narrows():
    shared = ["context_length", "prefill_only_disable_kv_cache"]
    assert version_range(shared).newest == "0.5.23"
    assert version_range(shared, form="repr").newest == "0.5.18"
    assert version_range(shared, form="dict").oldest == "0.5.19"
    assert version_range((), form="dict") == VersionRange("0.5.19", "0.5.23", "line forms")


def test_lines_narrow_a_truncated_config():
    events = [
        event("load_end", elapsed_s=1.0, avail_gib=1.0, mem_usage_gib=1.0),
        event("kv_dtype", dtype="x"),
    ]
    found = version_range(["context_length", "pp_size"], truncated=True, events=events)
    assert found == VersionRange("0.5.10", "0.5.23", "server_args fields and line forms")


def test_lines_alone():
    pool = event("kv_pool", tokens=101134, kv_gib=6.62)
    assert version_range((), events=[pool]) == VersionRange("0.4.5.post3", "0.5.12", "line forms")
    loaded = event("load_end", elapsed_s=170.1, avail_gib=21.37, mem_usage_gib=72.63)
    assert version_range((), events=[pool, loaded]) == VersionRange("0.5.10", "0.5.12", "line forms")
    assert version_range((), events=[event("ready")]) is None


def test_fields_win_over_lines():
    later = event("kv_pool", tokens=1, dtype="torch.bfloat16", kv_gib=1.0)
    assert version_range(fields("0.5.11"), events=[later]).exact == "0.5.11"


def test_contradicting_lines_tell_nothing():
    earlier = event("load_end", avail_gib=1.0)
    later = event("pool_below_context", pool_tokens=1, context_len=2)
    assert version_range((), events=[earlier, later]) is None


def test_flags_narrow():
    line = [
        "--model-path",
        "/m",
        "--speculative-dflash-draft-window-size",
        "2048",
        "--speculative-ddtree-budget",
        "8",
    ]
    assert version_range((), flags=line) == VersionRange("0.5.11", "0.5.19", "command line flags")
    pool = event("kv_pool", tokens=101134, kv_gib=6.62)
    both = version_range((), events=[pool], flags=line)
    assert both == VersionRange("0.5.11", "0.5.12", "line forms and command line flags")
    assert version_range((), flags=["--tp", "8", "--vendor-x"]) is None
    assert version_range(fields("0.5.14"), flags=line).exact == "0.5.14"


def test_flags_that_no_release_has_together_tell_nothing():
    assert version_range((), flags=["--enable-double-sparsity", "--attn-dp-size=8"]) is None
