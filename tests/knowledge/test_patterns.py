from __future__ import annotations

import re

import pytest

from kvforensics.knowledge import (
    FACTS,
    FIGURES,
    Condition,
    Facts,
    VersionRange,
    all_hold,
    knob,
    pattern_codes,
    patterns,
    patterns_of,
)
from kvforensics.knowledge.history import all_names


def by_id(pattern_id: str):
    return next(one for one in patterns() if one.id == pattern_id)


def test_all_85_are_there_in_order():
    numbers = [int(one.id[3:5]) for one in patterns()]
    assert sorted(set(numbers)) == list(range(1, 86))
    assert numbers == sorted(numbers)
    assert len({one.id for one in patterns()}) == len(patterns())


@pytest.mark.parametrize("one", patterns(), ids=lambda one: one.id)
def test_vocabulary(one):
    assert set(one.on) <= set(FIGURES)
    assert one.move in ("any", "raised", "lowered", "enabled", "disabled")
    assert re.fullmatch(r"[a-z0-9_]+", one.code)
    assert one.why.endswith(".")
    for name in one.settings:
        if name.startswith("/"):
            assert name.endswith("/")
            assert any(re.search(name[1:-1], known) for known in all_names())
        else:
            assert name in all_names(), name
    for condition in one.when:
        if condition.subject in ("setting", "given") and condition.name != "self":
            assert condition.name in all_names(), condition
    if one.outcome == "inert":
        assert one.code.startswith("inert_")
    if one.outcome == "masked":
        assert one.code.startswith("masked_by_")
        assert one.by is not None
    if one.outcome == "moved" and not one.computed:
        assert one.code.startswith("moved_")


def test_codes_are_closed():
    assert {
        "not_a_pool_input",
        "not_a_memory_setting",
        "masked_by_max_total_tokens",
        "within_noise",
    } <= pattern_codes()


def test_those_that_name_a_setting_come_first():
    first = patterns_of("context_length")[0]
    assert "context_length" in first.settings
    assert patterns_of("context_length")[-1].settings[0].startswith("/")
    assert {one.id for one in patterns_of("hicache_size")} >= {"NP-68", "NP-68b"}
    assert "NP-60" not in {one.id for one in patterns_of("speculative_algorithm")}
    assert "NP-60" in {one.id for one in patterns_of("speculative_num_steps")}


def test_a_pattern_of_a_no_memory_setting_says_so():
    for one in patterns():
        if one.code == "not_a_memory_setting":
            for name in one.settings:
                if not name.startswith("/") and name != "enable_memory_saver":
                    assert not knob(name).is_memory_setting


class TestApplies:
    def test_all_three_answers(self):
        pattern = by_id("NP-40")
        on = Facts(values={"enable_torch_compile": True})
        off = Facts(values={"enable_torch_compile": False})
        assert pattern.applies("torch_compile_max_bs", "0.5.11", off) is True
        assert pattern.applies("torch_compile_max_bs", "0.5.11", on) is False
        assert pattern.applies("torch_compile_max_bs", "0.5.11", Facts()) is None

    def test_releases_count(self):
        pattern = by_id("NP-57")
        facts = Facts(values={"speculative_algorithm": "DFLASH"})
        assert pattern.applies("speculative_num_steps", "0.5.11", facts) is True
        assert pattern.applies("speculative_num_steps", "0.5.10", facts) is False
        assert pattern.applies("speculative_num_steps", VersionRange("0.5.10", "0.5.12"), facts) is None
        assert (
            pattern.applies("speculative_num_steps", None, Facts(values={"speculative_algorithm": "EAGLE"}))
            is False
        )

    def test_explicit_fraction(self):
        pattern = by_id("NP-41")
        assert (
            pattern.applies("chunked_prefill_size", "0.5.11", Facts(given=frozenset({"mem_fraction_static"})))
            is True
        )
        assert pattern.applies("chunked_prefill_size", "0.5.11", Facts(given=frozenset({"tp_size"}))) is False
        assert pattern.applies("chunked_prefill_size", "0.5.11", Facts()) is None

    def test_self_is_the_changed_setting(self):
        pattern = by_id("NP-49")
        facts = Facts(values={"schedule_policy": "lpm", "disable_radix_cache": True})
        assert pattern.applies("schedule_policy", None, facts) is True
        assert pattern.applies("schedule_policy", None, Facts(values={"schedule_policy": "fcfs"})) is False

    def test_a_line_that_was_not_printed(self):
        pattern = by_id("NP-08")
        assert (
            pattern.applies("max_total_tokens", None, Facts(events=frozenset({"cap_above_profile"}))) is True
        )
        assert pattern.applies("max_total_tokens", None, Facts(start_seen=True)) is False
        assert pattern.applies("max_total_tokens", None, Facts()) is None


@pytest.mark.parametrize(
    ("table", "facts", "expected"),
    [
        ({"setting": "x", "is": 1}, Facts(values={"x": 1}), True),
        ({"setting": "x", "is": 1}, Facts(values={"x": True}), False),
        ({"setting": "x", "is": False}, Facts(values={"x": 0}), False),
        ({"setting": "x", "is_not": "a"}, Facts(values={"x": None}), True),
        ({"setting": "x", "in": ["a", "b"]}, Facts(values={"x": "b"}), True),
        ({"setting": "x", "above": 1}, Facts(values={"x": 2}), True),
        ({"setting": "x", "above": 1}, Facts(values={"x": None}), None),
        ({"setting": "x", "below": 1}, Facts(values={"x": "many"}), None),
        ({"setting": "x", "set": True}, Facts(values={"x": None}), False),
        ({"setting": "x", "set": False}, Facts(values={"x": None}), True),
        ({"setting": "x", "set": True}, Facts(), None),
        ({"given": "x", "is": False}, Facts(given=frozenset()), True),
        ({"pool": "swa"}, Facts(pools=frozenset({"full", "swa"})), True),
        ({"pool": "swa", "is": False}, Facts(pools=frozenset({"target"})), True),
        ({"pool": "swa"}, Facts(), None),
        ({"binding": "memory"}, Facts(binding="memory"), True),
        ({"binding": "memory"}, Facts(binding="unknown"), None),
        ({"fact": "derived"}, Facts(computed={"derived": True}), True),
        ({"fact": "derived"}, Facts(computed={"derived": None}), None),
        ({"fact": "derived", "is": False}, Facts(computed={"derived": False}), True),
    ],
)
def test_conditions(table, facts, expected):
    assert Condition.from_table(table).holds(facts, "x") is expected


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"setting": "x"},
        {"setting": "x", "is": 1, "above": 2},
        {"setting": "x", "pool": "swa"},
        {"fact": "no_such_fact"},
        {"setting": "x", "equals": 1},
    ],
)
def test_what_is_no_condition(table):
    with pytest.raises(ValueError, match=r"condition|fact|test"):
        Condition.from_table(table)


def test_one_failure_outweighs_what_is_unknown():
    conditions = [
        Condition.from_table({"setting": "x", "is": 1}),
        Condition.from_table({"setting": "y", "is": 1}),
    ]
    assert all_hold(conditions, Facts(values={"y": 2}), "x") is False
    assert all_hold(conditions, Facts(values={"y": 1}), "x") is None
    assert all_hold((), Facts(), "x") is True


def test_facts_are_used():
    used = {c.name for one in patterns() for c in one.when if c.subject == "fact"}
    assert used == set(FACTS)
