from __future__ import annotations

from itertools import pairwise

import pytest

from kvforensics.knowledge import UNKNOWN, VersionRange, default, fields, history, releases
from kvforensics.knowledge.history import all_names, flag_aliases, span_at

COUNTS = {
    "0.3.0": 51, "0.3.2": 58, "0.3.4.post2": 69, "0.3.5.post2": 76, "0.3.6.post3": 76, "0.4.0": 77,
    "0.4.1.post7": 91, "0.4.2.post4": 95, "0.4.3.post4": 107, "0.4.4.post4": 117, "0.4.5.post3": 122,
    "0.4.6.post5": 143, "0.4.7.post1": 157, "0.4.8.post1": 161, "0.4.9.post6": 180, "0.4.10.post2": 185,
    "0.5.1": 199, "0.5.2": 210, "0.5.3": 238, "0.5.4": 265, "0.5.5": 272, "0.5.6": 287, "0.5.7": 312,
    "0.5.8": 325, "0.5.9": 328, "0.5.10": 349, "0.5.11": 368, "0.5.12": 381, "0.5.13": 396, "0.5.14": 404,
    "0.5.15": 422, "0.5.16": 445, "0.5.17": 458, "0.5.18": 472, "0.5.19": 488, "0.5.20": 499, "0.5.21": 519,
    "0.5.22": 536, "0.5.23": 546,
}  # fmt: skip

# First release and default of each stretch: what a tool for the pool needs.
TIMELINE = {
    "context_length": [("0.3.0", None)],
    "mem_fraction_static": [("0.3.0", None)],
    "max_total_tokens": [("0.3.0", None)],
    "max_running_requests": [("0.3.0", None)],
    "max_queued_requests": [("0.4.9.post6", 9223372036854775807), ("0.5.3", None)],
    "chunked_prefill_size": [("0.3.0", 8192), ("0.4.0", None)],
    "max_prefill_tokens": [("0.3.0", 16384)],
    "page_size": [("0.4.4.post4", 1), ("0.4.9.post6", None)],
    "kv_cache_dtype": [("0.3.0", "auto")],
    "tp_size": [("0.3.0", 1)],
    "dp_size": [("0.3.0", 1)],
    "pp_size": [("0.4.6.post5", 1)],
    "ep_size": [("0.4.1.post7", 1)],
    "dcp_size": [("0.5.15", 1)],
    "attn_cp_size": [("0.5.9", 1)],
    "attn_dp_size": [("0.5.22", 1)],
    "moe_dp_size": [("0.5.9", 1)],
    "enable_dp_attention": [("0.3.6.post3", False)],
    "swa_full_tokens_ratio": [("0.4.9.post6", 0.8), ("0.5.20", None)],
    "hybrid_kvcache_ratio": [("0.4.9.post6", None)],
    "disable_hybrid_swa_memory": [("0.4.9.post6", False)],
    "disable_radix_cache": [("0.3.0", False)],
    "cuda_graph_max_bs": [("0.3.5.post2", 160), ("0.4.0", None)],
    "cuda_graph_bs": [("0.4.1.post7", None)],
    "disable_cuda_graph": [("0.3.0", False)],
    "cuda_graph_config": [("0.5.14", None)],
    "cuda_graph_max_bs_decode": [("0.5.14", None)],
    "cuda_graph_bs_decode": [("0.5.14", None)],
    "cuda_graph_backend_decode": [("0.5.14", None)],
    "disable_piecewise_cuda_graph": [("0.5.10", False)],
    "enable_piecewise_cuda_graph": [("0.5.4", False)],
    "enable_hierarchical_cache": [("0.4.2.post4", False)],
    "hicache_ratio": [("0.4.4.post4", 2.0), ("0.5.18", None)],
    "hicache_size": [("0.4.5.post3", 0)],
    "mamba_full_memory_ratio": [("0.5.4", 0.9), ("0.5.20", None)],
    "max_mamba_cache_size": [("0.5.2", None)],
    "mamba_ssm_dtype": [("0.5.2", "float32"), ("0.5.9", None)],
    "allow_auto_truncate": [("0.4.1.post7", False)],
    "num_reserved_decode_tokens": [("0.4.7.post1", 512)],
    "speculative_algorithm": [("0.4.1.post7", None)],
    "speculative_num_draft_tokens": [("0.4.1.post7", 64), ("0.4.3.post4", 8), ("0.4.4.post4", None)],
    "speculative_num_steps": [("0.4.1.post7", 5), ("0.4.4.post4", None)],
    "speculative_eagle_topk": [("0.4.1.post7", 8), ("0.4.3.post4", 4), ("0.4.4.post4", None)],
    "speculative_draft_model_path": [("0.4.1.post7", None)],
    "speculative_dflash_block_size": [("0.5.11", None)],
    "speculative_dflash_draft_window_size": [("0.5.11", None)],
    "speculative_draft_window_size": [("0.5.12", None)],
    "enable_memory_saver": [("0.4.1.post7", False)],
    "schedule_conservativeness": [("0.3.0", 1.0)],
    "quantization": [("0.3.0", None)],
    "attention_backend": [("0.3.2", None)],
    "api_key": [("0.3.0", None)],
    "admin_api_key": [("0.5.8", None)],
    "ssl_keyfile_password": [("0.5.10", None)],
    "enable_unified_memory": [("0.5.15", False)],
    "enable_kv_cache_sharding": [("0.5.22", False)],
    "prefill_only_disable_kv_cache": [("0.5.12", False)],
    "decode_log_interval": [("0.3.5.post2", 40)],
    "log_level": [("0.3.0", "info")],
    "log_requests_format": [("0.5.7", "text")],
    "disaggregation_mode": [("0.4.4.post4", "null")],
    "enable_double_sparsity": [("0.3.4.post2", False)],
    "enable_hisparse": [("0.5.10", False)],
    "disable_overlap_schedule": [("0.3.6.post3", False)],
    "json_model_override_args": [("0.3.2", "{}")],
    "random_seed": [("0.3.0", None)],
}
LAST = {
    "hybrid_kvcache_ratio": "0.5.7",
    "cuda_graph_max_bs": "0.5.13",
    "cuda_graph_bs": "0.5.13",
    "disable_piecewise_cuda_graph": "0.5.13",
    "enable_piecewise_cuda_graph": "0.5.9",
    "speculative_dflash_draft_window_size": "0.5.11",
    "enable_double_sparsity": "0.5.10",
}


@pytest.mark.parametrize("release", releases())
def test_counts_of_fields(release):
    assert len(fields(release)) == COUNTS[release]


@pytest.mark.parametrize("name", TIMELINE)
def test_timeline(name):
    known = history(name)
    assert known[0].since == TIMELINE[name][0][0]
    assert known[-1].until == LAST.get(name, "0.5.23")
    for since, value in TIMELINE[name]:
        assert default(name, since) == value
        span = span_at(name, since)
        assert span is not None
    defaults = [span.default for span in known]
    assert [one for place, one in enumerate(defaults) if place == 0 or one != defaults[place - 1]] == [
        value for _, value in TIMELINE[name]
    ]


def test_a_required_setting_has_no_default():
    assert default("model_path", "0.5.11") is UNKNOWN


def test_an_unknown_name_has_none():
    assert default("speculative_ddtree_budget", "0.5.11") is UNKNOWN
    assert history("speculative_ddtree_budget") == ()


def test_a_range_that_differs_has_none():
    assert default("chunked_prefill_size", VersionRange("0.3.6.post3", "0.4.0")) is UNKNOWN
    assert default("chunked_prefill_size", VersionRange("0.4.0", "0.5.23")) is None
    assert default("page_size") is UNKNOWN
    assert default("max_prefill_tokens") == 16384


def test_releases_that_lack_it_do_not_count():
    assert default("pp_size", VersionRange("0.4.5.post3", "0.4.7.post1")) == 1
    assert default("pp_size", "0.4.5.post3") is UNKNOWN


def test_post_releases_stand_behind_theirs():
    assert default("speculative_dflash_draft_window_size", "0.5.11.post1") is None
    assert fields("0.5.11.post1") == fields("0.5.11")
    assert fields("0.2.0") == frozenset()


def test_aliases_are_of_their_releases():
    assert flag_aliases("0.5.14")["--cuda-graph-max-bs"] == "cuda_graph_max_bs_decode"
    assert "--cuda-graph-max-bs" not in flag_aliases("0.5.13")
    assert "--cuda-graph-max-bs" not in flag_aliases("0.5.20")


def test_every_span_is_in_order_and_apart():
    order = releases().index
    for name in all_names():
        known = history(name)
        assert all(order(one.until) < order(other.since) for one, other in pairwise(known)), name
