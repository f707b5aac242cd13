from __future__ import annotations

import re

import pytest

from kvforensics.knowledge import FIGURES, VersionRange, describe, feature, knob, knobs
from kvforensics.knowledge.data import toml
from kvforensics.knowledge.history import all_names

ROLES = {
    "sizes_pool", "caps_pool", "admission", "concurrency", "scheduling", "reserves_memory", "kv_layout",
    "parallelism", "model", "kernel/backends", "spec_decode", "hicache/offload", "disaggregation",
    "observability/network", "no effect on KV",
}  # fmt: skip
PURPOSES = {
    "pool", "admission", "concurrency", "scheduling", "headroom", "offload", "speed", "model", "topology", "none",
}  # fmt: skip
SOURCE = re.compile(r"[\w./-]+:[0-9]+@0\.[0-9.]+(?:post[0-9]+)?")


@pytest.mark.parametrize("one", knobs(), ids=lambda one: one.name)
def test_vocabulary(one):
    assert one.role in ROLES
    assert one.purpose in PURPOSES
    assert set(one.direction) == set(FIGURES)
    assert set(one.direction.values()) <= {"+", "-", "0", "cap", "±"}
    assert one.why.endswith(".")
    assert one.mistaken_for in (None, "pool")
    assert all(SOURCE.fullmatch(source) for source in one.source), one.source
    assert bool(one.source) is one.curated
    if not one.is_memory_setting:
        assert one.affects == ()
        assert one.purpose == "none"


def test_every_setting_of_every_release_is_covered():
    assert {one.name for one in knobs()} == all_names()


def test_what_the_contract_names():
    context = knob("context_length")
    assert context.direction["pool_tokens"] == "0"
    assert context.direction["longest_prompt_tokens"] == "cap"
    assert context.mistaken_for == "pool"
    fraction = knob("mem_fraction_static")
    assert fraction.direction["pool_tokens"] == "+"
    assert fraction.direction["free_gib"] == "-"
    assert fraction.role == "sizes_pool"
    assert "chunked_prefill_size" in fraction.derived_from
    assert knob("max_total_tokens").role == "caps_pool"


@pytest.mark.parametrize(
    "name", ["random_seed", "port", "log_level", "nccl_port", "api_key", "enable_metrics", "host"]
)
def test_no_memory_settings(name):
    assert knob(name).is_memory_setting is False


@pytest.mark.parametrize(
    "name",
    [
        "chunked_prefill_size", "context_length", "cuda_graph_bs", "cuda_graph_config", "cuda_graph_max_bs",
        "cuda_graph_max_bs_decode", "cuda_graph_max_bs_prefill", "disable_cuda_graph", "disable_radix_cache",
        "enable_hierarchical_cache", "enable_symm_mem", "hicache_ratio", "hicache_size",
        "speculative_dflash_draft_window_size",
    ],
)  # fmt: skip
def test_what_people_take_for_pool_settings(name):
    one = knob(name)
    assert one.mistaken_for == "pool"
    assert one.is_memory_setting


def test_a_rename_keeps_what_people_take_it_for():
    for older, newer in toml("renames")["names"].items():
        old, new = knob(older), knob(newer)
        if old.curated and new.curated and "piecewise" not in older:
            assert old.mistaken_for == new.mistaken_for, older


def test_names_over_time():
    assert knob("nsa_prefill").newer_names == ("nsa_prefill_backend", "dsa_prefill_backend")
    assert knob("dsa_prefill_backend").older_names == ("nsa_prefill_backend", "nsa_prefill")


def test_a_fork_s_setting_is_known_by_its_family_or_not_at_all():
    family = knob("speculative_ddtree_budget")
    assert (family.role, family.curated, family.spans) == ("spec_decode", False, ())
    assert family.feature.name == "speculative"
    assert knob("vendor_magic") is None


def test_exists_in():
    one = knob("cuda_graph_max_bs")
    assert one.exists_in("0.5.13") is True
    assert one.exists_in("0.5.14") is False
    assert one.exists_in(VersionRange("0.5.12", "0.5.14")) is None
    assert knob("attn_dp_size").exists_in("0.6.1") is True
    assert knob("speculative_ddtree_budget").exists_in("0.5.11") is False


def test_features():
    assert feature("speculative_num_steps").switches == ("speculative_algorithm",)
    assert feature("hicache_size").name == "hierarchical_cache"
    assert feature("dp_size").name == "dp_attention"
    assert feature("context_length") is None
    for row in toml("knobs")["feature"]:
        for switch in row["switches"]:
            assert feature(switch).name == row["name"]


def test_lists_name_settings():
    data = toml("knobs")
    for name in (*data["filled"]["settings"], *data["drawn"]["settings"], *data["derived"]):
        assert name in all_names(), name
    for causes in data["derived"].values():
        assert set(causes) <= all_names()


def test_describe():
    told = describe("--context-length", "0.5.11")
    assert told["name"] == "context_length"
    assert told["flags"] == ["--context-length"]
    assert told["default"] == {"known": True, "value": None}
    assert {"NP-01", "NP-02", "NP-04"} <= {one["id"] for one in told["patterns"]}
    assert "NP-07" not in {one["id"] for one in told["patterns"]}
    assert describe("vendor_magic") is None
    assert describe("tp-size")["flags"] == ["--tp-size", "--tensor-parallel-size"]
    assert describe("page_size", "0.5.11")["issues"][0]["id"] == "page_unschedulable"
    assert describe("page_size", "0.5.12")["issues"] == []


@pytest.mark.parametrize("one", knobs(), ids=lambda one: one.name)
def test_everything_can_be_described(one):
    told = describe(one.name)
    assert told["history"]
    assert told["name"] == one.name
