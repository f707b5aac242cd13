"""The longest prompt by release."""

import pytest

from kvforensics.knowledge import VersionRange
from kvforensics.launches.admission import longest_prompt


def one(release: str) -> VersionRange:
    return VersionRange(release, release, "test")


@pytest.mark.parametrize("release", ["0.4.9.post6", "0.5.11", "0.5.23"])
def test_the_smaller_limit_less_seven(release):
    assert longest_prompt(101134, 32768, one(release), {}, dated=True) == 32761
    assert longest_prompt(101134, 200000, one(release), {}, dated=True) == 101127


def test_the_first_releases_kept_less_back():
    assert longest_prompt(5000, 4096, one("0.3.0"), {}, dated=False) == 4094


def test_a_dated_prefix_tells_enough():
    assert longest_prompt(5000, 4096, VersionRange(), {}, dated=True) == 4089


def test_unknown_is_unknown():
    assert longest_prompt(5000, 4096, VersionRange(), {}, dated=False) is None
    assert longest_prompt(None, 4096, one("0.5.11"), {}, dated=True) is None
    assert longest_prompt(5000, None, one("0.5.11"), {}, dated=True) is None


def test_context_parallel_decoding_multiplies_the_pool():
    config = {"dcp_size": 4}
    assert longest_prompt(1000, 9000, one("0.5.18"), config, dated=True) == 3993
    assert longest_prompt(1000, 9000, one("0.5.21"), config, dated=True) == 993
    assert longest_prompt(1000, 9000, VersionRange("0.5.15", "0.5.18"), config, dated=True) is None


def test_a_tiny_pool_admits_nothing():
    assert longest_prompt(3, 4096, one("0.5.11"), {}, dated=True) == 0
