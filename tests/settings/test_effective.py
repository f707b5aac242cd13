from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.knowledge import fields
from kvforensics.knowledge.data import toml
from kvforensics.settings import attention_groups, canonical_value, name_in, normalise, same

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


class TestNames:
    @pytest.mark.parametrize("older", sorted(toml("renames")["names"]))
    def test_each_rename_is_followed_both_ways(self, older):
        newer = toml("renames")["names"][older]
        assert name_in(older, {newer}) == newer
        assert name_in(newer, {older}) == older

    def test_a_chain(self):
        assert name_in("nsa_decode", {"dsa_decode_backend"}) == "dsa_decode_backend"
        assert name_in("dsa_decode_backend", {"nsa_decode"}) == "nsa_decode"

    def test_two_names_side_by_side_are_two_settings(self):
        values = {"hybrid_kvcache_ratio": 0.5, "swa_full_tokens_ratio": 0.8}
        assert normalise(values, names={"swa_full_tokens_ratio"}) == values

    def test_without_the_other_side_the_release_s_names(self):
        assert normalise({"cuda_graph_max_bs": 8}, "0.5.14") == {"cuda_graph_max_bs_decode": 8}
        assert normalise({"cuda_graph_max_bs_decode": 8}, "0.5.13") == {"cuda_graph_max_bs": 8}

    def test_opposites_turn_the_value_round(self):
        assert normalise({"enable_mla": True}, names={"disable_mla"}) == {"disable_mla": False}
        assert normalise({"enable_mla": None}, names={"disable_mla"}) == {"enable_mla": None}

    def test_unknown_names_stay(self):
        assert normalise({"vendor": 1}, "0.5.11") == {"vendor": 1}


OLD = {"dp_size": 8, "enable_dp_attention": True}
NEW = {"attn_dp_size": 8, "dp_size": 1, "enable_dp_attention": False}


class TestDpAttention:
    def test_both_ways(self):
        assert normalise(OLD, names=fields("0.5.23")) == NEW
        assert normalise(NEW, names=fields("0.5.11")) == OLD

    def test_one_way_of_writing_stays(self):
        assert normalise(OLD, names=fields("0.5.11")) == OLD
        assert normalise(NEW, names=fields("0.5.23")) == NEW

    def test_off(self):
        off = {"dp_size": 2, "enable_dp_attention": False}
        assert normalise(off, names=fields("0.5.23")) == {**off, "attn_dp_size": 1}
        assert normalise({**off, "attn_dp_size": 1}, names=fields("0.5.11")) == off

    @pytest.mark.parametrize(
        ("values", "groups"),
        [
            (OLD, 8),
            (NEW, 8),
            ({"dp_size": 8, "enable_dp_attention": False}, 1),
            ({"attn_dp_size": 1}, 1),
            ({"enable_dp_attention": True}, None),
            ({}, None),
        ],
    )
    def test_groups(self, values, groups):
        assert attention_groups(values) == groups


class TestSame:
    @pytest.mark.parametrize(
        ("setting", "one", "other", "expected"),
        [
            ("watchdog_timeout", 300, 300.0, True),
            ("x", True, 1, False),
            ("x", False, None, False),
            ("x", [1, [2, 3]], (1, (2, 3)), True),
            ("x", {"a": 1, "b": [1]}, {"b": [1], "a": 1.0}, True),
            ("x", "<f at 0x7f1>", "<f at 0x8a2>", True),
            ("x", '{"a": 1}', {"a": 1}, True),
            ("x", "[1, 2", "[1, 2", True),
            ("x", "nan", float("nan"), True),
            ("kv_cache_dtype", "bfloat16", "bf16", True),
            ("kv_cache_dtype", "fp8_e4m3", "fp8_e5m2", False),
            ("x", "None", None, False),
            ("moe_a2a_backend", None, "none", True),
            ("cuda_graph_bs", [2, 1], [1, 2], True),
            ("x", [2, 1], [1, 2], False),
            ("x", {1, 2}, {2, 1}, True),
        ],
    )
    def test_values(self, setting, one, other, expected):
        assert same(setting, one, other) is expected

    @given(JSON, st.sampled_from(["x", "cuda_graph_bs", "kv_cache_dtype"]))
    def test_a_value_is_itself_and_can_be_hashed(self, value, setting):
        assert same(setting, value, value)
        hash(canonical_value(setting, value))

    def test_no_depth_ends_it(self):
        deep: list[object] = []
        for _ in range(5000):
            deep = [deep]
        assert same("x", deep, deep)
        assert same("x", "[" * 100_000, "[" * 100_000)
