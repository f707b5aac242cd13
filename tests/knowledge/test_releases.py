from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.knowledge import VersionRange, as_range, release_key, releases, within
from kvforensics.knowledge.releases import listed, members, spanning

RELEASES = releases()


def key(release: str) -> tuple[int, ...]:
    found = release_key(release)
    assert found is not None
    return found


def test_all_39_releases_in_order():
    assert len(RELEASES) == 39
    assert (RELEASES[0], RELEASES[-1]) == ("0.3.0", "0.5.23")
    assert sorted(RELEASES, key=key) == list(RELEASES)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.5.9", "0.5.10"),
        ("0.5.11rc0", "0.5.11"),
        ("0.5.11", "0.5.11.post1"),
        ("0.5.11.post2", "0.5.11.post10"),
        ("0.5.11.post9", "0.5.12.dev3"),
        ("0.5.12.dev3", "0.5.12a1"),
        ("0.4.10.post2", "0.5.1"),
    ],
)
def test_order(older, newer):
    assert key(older) < key(newer)


@pytest.mark.parametrize("text", ["v0.5.11", " 0.5.11 ", "0.5.11+cu128", "0.5.11"])
def test_spellings_of_one_release(text):
    assert release_key(text) == release_key("0.5.11")


@pytest.mark.parametrize("text", ["", "main", "0", "0.5.1१", "1" * 40, "0.5.11 or so", "\x1b[31m0.5.11"])
def test_what_is_no_release(text):
    assert release_key(text) is None
    assert listed(text) is None


@pytest.mark.parametrize(
    ("version", "since", "until", "expected"),
    [
        ("0.5.11", "0.5.7", "0.5.13", True),
        ("0.5.11", "0.5.11", "0.5.11", True),
        ("0.5.13.post3", "0.5.7", "0.5.13", True),
        ("0.5.14", "0.5.7", "0.5.13", False),
        ("0.5.6", "0.5.7", None, False),
        ("0.5.7", "0.5.7", None, True),
        (VersionRange("0.5.9", "0.5.11"), "0.5.7", "0.5.13", True),
        (VersionRange("0.5.9", "0.5.14"), "0.5.7", "0.5.13", None),
        (VersionRange("0.5.14", None), None, "0.5.13", False),
        (VersionRange("0.5.14", None), "0.5.14", None, True),
        (VersionRange(None, "0.5.3"), "0.5.4", None, False),
        (None, "0.5.7", None, None),
        (None, None, None, True),
        (VersionRange(), None, "0.5.13", None),
        ("main", "0.5.7", None, None),
    ],
)
def test_within(version, since, until, expected):
    assert within(version, since, until) is expected


@given(st.sampled_from(RELEASES), st.sampled_from(RELEASES), st.sampled_from(RELEASES))
def test_within_agrees_with_the_order(version, since, until):
    order = RELEASES.index
    assert within(version, since, until) is (order(since) <= order(version) <= order(until))


def test_a_release_between_two_that_were_read():
    assert listed("0.5.11.post1") == "0.5.11"
    assert listed("0.4.9") == "0.4.8.post1"
    assert listed("0.9.0") == "0.5.23"
    assert listed("0.2.0") is None


def test_members():
    assert members("0.5.11") == ("0.5.11",)
    assert members(VersionRange("0.5.9", "0.5.11")) == ("0.5.9", "0.5.10", "0.5.11")
    assert members(None) == RELEASES
    assert members("0.6.0") == ("0.5.23",)


def test_exact():
    assert as_range("0.5.11").exact == "0.5.11"
    assert VersionRange("0.5.9", "0.5.11").exact is None
    assert VersionRange().exact is None
    assert spanning((), "nothing") is None
    assert spanning(("0.5.11", "0.5.9"), "why") == VersionRange("0.5.9", "0.5.11", "why")
