"""The index of constants finds what `in` finds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parsing.conftest import sample_lines

from kvforensics.parsing.kinds import Writer, kinds
from kvforensics.parsing.needles import _LONG, Needles, rarest

TEXTS = st.text(alphabet="ab: ", max_size=12)


@given(
    st.dictionaries(st.integers(0, 20), st.lists(TEXTS.filter(bool), min_size=1, max_size=3), max_size=8),
    TEXTS,
)
def test_the_index_finds_what_looking_for_each_finds(needles: dict[int, list[str]], text: str) -> None:
    expected = sorted(owner for owner, constants in needles.items() if any(c in text for c in constants))
    assert Needles(needles).owners(text) == expected


def test_a_constant_is_looked_for_by_what_fewest_share() -> None:
    grams = rarest(["pool end", "pool begin", "abc"])
    assert not any(grams[constant] in "pool " for constant in ("pool end", "pool begin"))
    assert "abc" not in grams
    index = Needles({1: ["pool end"], 2: ["pool begin", "abc"]}, grams)
    assert index.owners("a pool end") == [1]
    assert index.owners("abc pool begin") == [2]


@pytest.mark.parametrize("length", [_LONG - 10, _LONG, _LONG + 10])
def test_long_texts_are_looked_through_as_well(length: int) -> None:
    needles = Needles({1: ["abcde"], 2: ["nothing"], 3: ["xy"]})
    assert needles.owners("." * length + "abcdexy") == [1, 3]


def test_the_test_of_beginnings_drops_no_kind_that_reads_the_text() -> None:
    chance = random.Random(5)
    for name, grammar in kinds().grammars.items():
        for line in sample_lines(name):
            text = line if chance.random() < 0.7 else line[: chance.randrange(1, len(line) + 1)]
            candidates = kinds().candidates(text, Writer.ANY)
            for kind in grammar.kinds:
                if (grammar, kind) not in candidates:
                    assert grammar.tree(kind, text) is None
