"""A short, seeded part of every campaign. The long run: `python -m fuzz`, see docs/fuzzing.md."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from fuzz.__main__ import run
from fuzz.campaigns import CAMPAIGNS
from fuzz.targets import TARGETS

from fuzz import corpus, damage, invariants

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = {"carriers": 300, "grammars": 3000, "records": 60, "whole": 60, "sources": 40}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name):
    assert run(name, 0, COUNTS[name], seconds=120)["failed"] == []


@pytest.mark.parametrize("name", TARGETS)
def test_targets_of_atheris_take_any_bytes(name):
    chance = random.Random(name)
    for data in (
        b"",
        b"\x00",
        *(damage.of_bytes(chance.choice(corpus.files())[:800], chance) for _ in range(3)),
    ):
        TARGETS[name](data)


def test_a_case_is_the_same_each_time():
    made = [damage.of_lines(corpus.known()[0].lines, random.Random(7)) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0].lines != corpus.known()[0].lines


def test_a_wrong_verdict_is_found():
    truth = invariants.truths()["context"]
    said = {
        "services": [
            {
                "changes": [
                    {"setting": "context_length", "verdict": "effective", "before": 32768, "after": 200000}
                ]
            }
        ]
    }
    with pytest.raises(AssertionError, match="no_op_for_pool became effective"):
        invariants.no_verdict_became_wrong(said, truth)
    said["services"][0]["changes"][0]["verdict"] = "unproven"
    invariants.no_verdict_became_wrong(said, truth)


def test_a_setting_that_nobody_edited_is_found():
    said = {
        "services": [{"changes": [{"setting": "page_size", "verdict": "no_op", "before": 1, "after": 64}]}]
    }
    with pytest.raises(AssertionError, match="was not edited"):
        invariants.no_verdict_became_wrong(said, invariants.truths()["context"])


def test_a_hang_and_a_crash_are_failures(monkeypatch):
    def crash(_number: int, _folder: Path) -> None:
        raise ValueError("boom")

    def hang(_number: int, _folder: Path) -> None:
        while True:
            pass

    monkeypatch.setitem(CAMPAIGNS, "crash", crash)
    monkeypatch.setitem(CAMPAIGNS, "hang", hang)
    assert "ValueError: boom" in run("crash", 0, 1, seconds=5)["failed"][0]["why"]
    assert "HangError" in run("hang", 0, 1, seconds=0.05)["failed"][0]["why"]
