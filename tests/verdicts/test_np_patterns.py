"""One case for each no-op pattern of the catalogue (`knowledge/patterns.toml`), with the contract's verdict.

NOT-AN-INPUT is `no_op_for_pool` where people take the setting for a pool setting, else `effective` or
`no_op`; INERT and MASKED are `no_op`; CLAMPED `clamped`; OVERRIDDEN and NOT-APPLIED `overridden`, and
`adverse` where the start fails over it; BACKFIRE `adverse`; MOVED `effective`; NOISE `no_op`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.build import MLA, event, failed, launch, pool

from kvforensics.changes import diff
from kvforensics.knowledge import patterns
from kvforensics.sizing import reconcile
from kvforensics.verdicts import judge_pair, reason_codes

if TYPE_CHECKING:
    from kvforensics.launches import Launch

SPEC = {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_eagle_topk": 1}
DP = {"enable_dp_attention": True, "dp_size": 8}
T = launch().pool_tokens


def hybrid(launch_id: str, ratio: float = 0.8, **kwargs: Any) -> Launch:
    made = launch(launch_id, **kwargs)
    t = made.pool_tokens or 0
    full = pool("full", t, t * 50000 / 2**30)
    return replace(made, pools=(full, pool("swa", int(t * ratio), t * 20272 / 2**30)))


def mamba(launch_id: str, tokens: int, slots: int, **kwargs: Any) -> Launch:
    made = launch(launch_id, tokens=tokens, **kwargs)
    return replace(
        made,
        pools=(pool("target", tokens, tokens * 50000 / 2**30), pool("mamba", slots, slots * 0.02, "mamba")),
    )


@dataclass
class Case:
    np: str
    setting: str
    verdict: str
    code: str
    old: Launch
    new: Launch
    attribution: str | None = None
    also: dict[str, str] = field(default_factory=dict)  # setting -> verdict of the pair's other changes


def plain(np: str, setting: str, before: Any, after: Any, verdict: str, code: str, **both: Any) -> Case:
    """A pair whose one edit is in the settings alone; `both` holds at both launches, `new_` in the newer."""
    newer = {k.removeprefix("new_"): v for k, v in both.items() if k.startswith("new_")}
    same = {k: v for k, v in both.items() if not k.startswith("new_")}
    settings = same.pop("settings", {})
    old = launch("L1", settings={**settings, setting: before}, **same)
    more = newer.pop("settings", {})
    new = launch("L2", settings={**settings, setting: after, **more}, **{**same, **newer})
    return Case(np, setting, verdict, code, old, new)


GIVEN = {"requested": {"mem_fraction_static": 0.85}}
AUTO = {"requested": {"model_path": "/models/m"}}

CASES = [
    Case(
        "NP-01", "context_length", "no_op_for_pool", "not_a_pool_input",
        launch("L1"), launch("L2", context=200000, free=9.5), "sole",
    ),
    Case(
        "NP-02", "context_length", "no_op", "masked_by_pool",
        launch("L1", context=150000), launch("L2", context=250000, free=9.5),
    ),
    Case(
        "NP-03", "context_length", "no_op_for_pool", "not_a_pool_input",
        launch("L1"), launch("L2", context=16384, free=10.3), "sole",
    ),
    Case(
        "NP-04", "context_length", "adverse", "rejected_above_model_limit",
        launch("L1"), failed("L2", event("context_rejected", asked=300000, derived=262144), context=300000),
    ),
    Case(  # only a refused prompt of exactly this length shows the margin; the change itself moved admission
        "NP-05", "context_length", "no_op_for_pool", "not_a_pool_input",
        launch("L1"), launch("L2", context=100000), "sole",
    ),
    Case(
        "NP-06", "context_length", "adverse", "aiter_cuts_fraction",
        launch("L1", context=8192, before=192.0, weights=90.0, fraction=0.88,
               settings={"attention_backend": "aiter"}, requested={"context_length": 8192}),
        launch("L2", context=16384, before=192.0, weights=90.0, fraction=0.748,
               settings={"attention_backend": "aiter"}, requested={"context_length": 16384}),
        also={"mem_fraction_static": "adverse"},
    ),
    Case(
        "NP-07", "context_length", "effective", "moved_pool",
        hybrid("L1", version="0.5.6", events=(event("load_end", model_type="Llama4ForConditionalGeneration"),)),
        hybrid("L2", version="0.5.6", context=131072, tokens=T - 20000,
               events=(event("load_end", model_type="Llama4ForConditionalGeneration"),)),
    ),
    Case(
        "NP-08", "max_total_tokens", "clamped", "clamped_to_profiled",
        launch("L1", cap=30000),
        launch("L2", cap=900000, events=(event("cap_above_profile", requested=900000, profiled=T),)), "sole",
    ),
    Case(
        "NP-09", "mem_fraction_static", "no_op", "masked_by_max_total_tokens",
        launch("L1", cap=50000), launch("L2", cap=50000, fraction=0.9),
    ),
    Case(
        "NP-10", "max_total_tokens", "clamped", "cap_applied_before_split",
        hybrid("L1", version="0.5.9"), hybrid("L2", version="0.5.9", cap=50000, tokens=60000),
    ),
    Case(
        "NP-11", "max_total_tokens", "effective", "moved_pool",  # floored by less than a page: no cut
        launch("L1", page=64, version="0.5.12"), launch("L2", page=64, cap=50010, version="0.5.12"),
    ),
    Case(
        "NP-12", "mem_fraction_static", "effective", "moved_pool",
        launch("L1"), launch("L2", fraction=0.92), "sole",
    ),
    Case(
        "NP-13", "mem_fraction_static", "overridden", "overridden_by_engine",
        launch("L1", version="0.4.6"),
        launch("L2", version="0.4.6", fraction=0.81, settings={"mem_fraction_static": 0.9},
               events=(event("server_args"), event("adjust__mem_fraction_static", value=0.81))),
    ),
    Case(
        "NP-14", "mem_fraction_static", "no_op", "masked_by_pp_stage",
        launch("L1", tokens=80000, settings={"pp_size": 2}),
        launch("L2", tokens=80000, fraction=0.87, settings={"pp_size": 2}),
    ),
    Case(  # the minimum over ranks is what the rule uses; the fraction still moves the pool
        "NP-15", "mem_fraction_static", "effective", "moved_pool",
        launch("L1"), launch("L2", fraction=0.9, events=(event("memory_unbalanced"),)),
    ),
    Case(
        "NP-16", "page_size", "no_op", "within_noise",
        launch("L1", version="0.5.12"), launch("L2", page=64, version="0.5.12"),
    ),
    Case(
        "NP-17", "page_size", "overridden", "overridden_by_attention_backend",
        launch("L1", version="0.5.12"),
        launch("L2", page=64, version="0.5.12", events=(event("adjust__page_size", old=1, value=64),)),
    ),
    plain(
        "NP-18", "kv_cache_dtype", "auto", "bfloat16", "no_op", "inert_same_as_auto",
        events=(event("kv_dtype", dtype="torch.bfloat16"),),
    ),
    plain(
        "NP-19", "kv_cache_dtype", "auto", "fp8_e4m3", "no_op", "inert_checkpoint_already_fp8",
        events=(event("kv_dtype", dtype="torch.float8_e4m3fn"),),
    ),
    plain(
        "NP-20", "kv_cache_dtype", "fp8_e4m3", "fp8_e4m3", "overridden", "overridden_by_engine",
        events=(event("adjust__kv_cache_dtype", value="fp8_e4m3"),),
        requested={"kv_cache_dtype": "auto"}, new_requested={"kv_cache_dtype": "bfloat16"},
    ),
    plain(
        "NP-21", "kv_cache_dtype", "auto", "fp4_e2m1", "overridden", "overridden_by_torch",
        new_events=(event("server_args"), event("adjust__kv_cache_dtype", value="auto")),
    ),
    Case(  # the kernel moves, and the pool with it: e5m2 takes one byte
        "NP-22", "kv_cache_dtype", "effective", "moved_pool",
        launch("L1"), launch("L2", cell=MLA // 2, settings={"kv_cache_dtype": "fp8_e5m2"}),
    ),
    plain("NP-23", "dtype", "bfloat16", "float16", "no_op", "nothing_moved"),
    Case(
        "NP-24", "quantization", "effective", "moved_weights",
        launch("L1", settings={"quantization": None}),
        launch("L2", weights=60.0, settings={"quantization": "fp8"}), "sole",
    ),
    Case(
        "NP-26", "swa_full_tokens_ratio", "no_op", "inert_no_sliding_window_pool",
        launch("L1", settings={"swa_full_tokens_ratio": 0.8}),
        launch("L2", settings={"swa_full_tokens_ratio": 0.5}),
    ),
    plain("NP-27", "disable_hybrid_swa_memory", False, True, "no_op", "inert_already_forced"),
    Case(
        "NP-28", "mamba_full_memory_ratio", "no_op", "masked_by_max_mamba_cache_size",
        mamba("L1", 50000, 300, settings={"max_mamba_cache_size": 300, "mamba_full_memory_ratio": 0.9}),
        mamba("L2", 50000, 300, settings={"max_mamba_cache_size": 300, "mamba_full_memory_ratio": 0.5}),
    ),
    plain("NP-28b", "mamba_full_memory_ratio", 0.9, 0.5, "no_op", "inert_no_state_layers"),
    Case(
        "NP-29", "max_running_requests", "clamped", "clamped_to_request_table",
        launch("L1"), replace(launch("L2", running=8192), max_running_requests=2048), "sole",
    ),
    Case(
        "NP-30", "max_running_requests", "effective", "moved_max_running_requests",
        launch("L1"), launch("L2", running=128), "sole",
    ),
    Case(  # the asked number applies to all ranks together; each serves its share
        "NP-31", "max_running_requests", "effective", "moved_max_running_requests",
        replace(launch("L1", running=64, settings=DP), max_running_requests=8),
        replace(launch("L2", running=128, settings=DP), max_running_requests=16),
    ),
    Case(
        "NP-32", "max_running_requests", "overridden", "overridden_by_speculation",
        launch("L1", running=256, settings=SPEC, requested={"max_running_requests": 256}),
        launch("L2", running=48, settings=SPEC, requested={"model_path": "/m"},
               events=(event("adjust__max_running_requests", value=48),)),
    ),
    Case(
        "NP-33", "max_running_requests", "no_op", "masked_by_mamba_state",
        mamba("L1", 50000, 100, running=33),
        replace(mamba("L2", 50000, 100, running=64, version="0.5.18",
                      events=(event("running_capped_mamba", granted=33, slots=100, slots_per_request=3),)),
                max_running_requests=33, version=launch().version),
    ),
    plain(
        "NP-34", "max_running_requests", 64, 128, "no_op", "masked_by_pp_max_micro_batch_size",
        settings={"pp_max_micro_batch_size": 8, "pp_size": 2}, new_running=128,
    ),
    plain(
        "NP-35", "max_queued_requests", None, 100, "no_op", "inert_in_disaggregation",
        settings={"disaggregation_mode": "decode"},
    ),
    plain("NP-36", "cuda_graph_max_bs", 128, 256, "no_op", "masked_by_max_running_requests"),
    plain(
        "NP-37", "cuda_graph_max_bs", 16, 32, "overridden", "overridden_by_cuda_graph_bs",
        requested={"cuda_graph_bs": [1, 2, 32]},
    ),
    plain(
        "NP-38", "cuda_graph_max_bs", 32, 16, "no_op_for_pool", "not_a_pool_input", new_free=10.5, **GIVEN
    ),
    plain("NP-39", "disable_cuda_graph", False, True, "no_op_for_pool", "not_a_pool_input", new_free=11.0, **GIVEN),
    plain(
        "NP-40", "torch_compile_max_bs", 32, 64, "no_op", "inert_without_enable_torch_compile",
        settings={"enable_torch_compile": False},
    ),
    plain("NP-41", "chunked_prefill_size", 8192, 4096, "no_op_for_pool", "not_a_pool_input", **GIVEN),
    plain("NP-42", "chunked_prefill_size", 2048, 1024, "no_op", "masked_by_reserve_floor", **AUTO),
    plain("NP-43", "chunked_prefill_size", 4096, 3072, "no_op", "masked_by_reserve_floor", **AUTO),
    Case(
        "NP-44", "chunked_prefill_size", "adverse", "reserve_counts_max_prefill_tokens",
        launch("L1", fraction=0.856, requested={"chunked_prefill_size": 8192}),
        launch("L2", fraction=0.8, settings={"chunked_prefill_size": -1}, requested={"chunked_prefill_size": -1}),
        also={"mem_fraction_static": "adverse"},
    ),
    Case(
        "NP-45", "chunked_prefill_size", "overridden", "divided_over_dp_ranks",
        launch("L1", settings={**DP, "chunked_prefill_size": 1024}, requested={"chunked_prefill_size": 8192}),
        launch("L2", settings={**DP, "chunked_prefill_size": 512}, requested={"chunked_prefill_size": 4096},
               events=(event("adjust__chunked_prefill_size", value=512),)),
    ),
    Case(
        "NP-46", "chunked_prefill_size", "overridden", "overridden_by_model",
        launch("L1", settings={"chunked_prefill_size": 8192},
               events=(event("server_args"), event("adjust__chunked_prefill_size", value=-1),
                       event("summary", chunked_prefill_size=-1))),
        launch("L2", settings={"chunked_prefill_size": 4096},
               events=(event("server_args"), event("adjust__chunked_prefill_size", value=-1),
                       event("summary", chunked_prefill_size=-1))),
    ),
    plain("NP-47", "max_prefill_tokens", 16384, 32768, "no_op", "masked_by_chunked_prefill_size"),
    plain(
        "NP-48", "schedule_conservativeness", 0.3, 0.6, "overridden", "overridden_by_dp_attention", settings=DP
    ),
    plain(
        "NP-49", "schedule_policy", "fcfs", "lpm", "no_op", "inert_without_radix_cache",
        settings={"disable_radix_cache": True},
    ),
    plain(
        "NP-50", "priority_scheduling_preemption_threshold", 10, 20, "no_op",
        "inert_without_enable_priority_scheduling", settings={"enable_priority_scheduling": False},
    ),
    plain(
        "NP-51", "enable_mixed_chunk", False, True, "overridden", "overridden_by_speculation", settings=SPEC
    ),
    plain(
        "NP-51b", "enable_mixed_chunk", False, True, "no_op", "inert_without_chunked_prefill",
        settings={"chunked_prefill_size": -1, "speculative_algorithm": None},
    ),
    plain(
        "NP-52", "enable_dynamic_chunking", False, True, "no_op", "inert_without_pipeline_parallel",
        settings={"pp_size": 1},
    ),
    plain(
        "NP-53", "num_reserved_decode_tokens", 512, 1024, "no_op", "inert_outside_decode_server",
        settings={"disaggregation_mode": "null"},
    ),
    plain("NP-54", "disable_radix_cache", False, True, "no_op_for_pool", "not_a_pool_input"),
    plain("NP-55", "allow_auto_truncate", False, True, "effective", "moved_admission"),
    plain(
        "NP-56", "speculative_num_draft_tokens", 4, 8, "overridden", "overridden_by_speculative_num_steps",
        settings=SPEC,
    ),
    plain(
        "NP-57", "speculative_num_steps", 1, 3, "overridden", "overridden_by_speculative_algorithm",
        settings={"speculative_algorithm": "DFLASH"},
    ),
    plain(
        "NP-58", "speculative_dflash_draft_window_size", 2048, 1024, "no_op_for_pool", "not_a_pool_input",
        settings={"speculative_algorithm": "DFLASH"},
    ),
    plain(
        "NP-59", "speculative_dflash_draft_window_size", 2048, 1024, "no_op", "inert_with_this_algorithm",
        settings=SPEC,
    ),
    plain(
        "NP-60", "speculative_num_draft_tokens", 4, 8, "no_op", "inert_without_speculative_algorithm",
        settings={"speculative_algorithm": None},
    ),
    Case(
        "NP-61", "speculative_algorithm", "effective", "moved_headroom",
        launch("L1", version="0.5.9", draft=9000, settings={"speculative_algorithm": "EAGLE"}, **GIVEN),
        launch("L2", version="0.5.9", free=12.0, settings={"speculative_algorithm": None}, **GIVEN),
    ),
    plain(
        "NP-62", "enable_dp_attention", False, True, "no_op", "inert_with_dp_size_1", settings={"dp_size": 1}
    ),
    plain("NP-63", "dp_size", 1, 2, "no_op", "nothing_moved", settings={"enable_dp_attention": False}),
    Case(
        "NP-64", "enable_dp_attention", "adverse", "fewer_tokens_per_rank",
        launch("L1", kind="mha", settings={"enable_dp_attention": False, "dp_size": 1}),
        launch("L2", kind="mha", cell=2 * MLA, settings=DP), also={"dp_size": "adverse"},
    ),
    Case(
        "NP-65", "tp_size", "clamped", "bytes_per_token_stopped_shrinking",
        launch("L1", settings={"tp_size": 8}), launch("L2", weights=40.0, settings={"tp_size": 16}), "sole",
    ),
    plain(
        "NP-66", "ep_size", 1, 8, "overridden", "overridden_by_moe_a2a_backend",
        settings={"moe_a2a_backend": "deepep"},
    ),
    plain(
        "NP-67", "deepep_mode", "auto", "normal", "no_op", "inert_with_flashinfer_a2a",
        settings={"moe_a2a_backend": "flashinfer"},
    ),
    plain(
        "NP-68", "hicache_size", 0, 100, "no_op_for_pool", "not_a_pool_input",
        settings={"enable_hierarchical_cache": True},
    ),
    plain(
        "NP-68b", "hicache_ratio", 2.0, 4.0, "no_op", "inert_without_enable_hierarchical_cache",
        settings={"enable_hierarchical_cache": False},
    ),
    plain(
        "NP-69", "hicache_ratio", 2.0, 4.0, "no_op", "masked_by_hicache_size",
        settings={"enable_hierarchical_cache": True, "hicache_size": 100},
    ),
    Case(
        "NP-70", "hicache_ratio", "adverse", "rejected_host_smaller_than_device",
        launch("L1", settings={"enable_hierarchical_cache": True, "hicache_ratio": 2.0, "hicache_size": 0}),
        failed("L2", event("exception", type="AssertionError",
                           message="The host memory should be larger than the device memory"),
               settings={"enable_hierarchical_cache": True, "hicache_ratio": 0.9, "hicache_size": 0}),
    ),
    plain(
        "NP-71", "lora_paths", None, ["a=/x"], "no_op", "inert_without_enable_lora", settings={"enable_lora": False}
    ),
    plain("NP-72", "enable_symm_mem", False, True, "no_op_for_pool", "not_a_pool_input", new_free=5.87),
    plain("NP-73", "enable_metrics", False, True, "no_op", "not_a_memory_setting"),
    Case(  # what the unit asks for and what runs differ: the file was not reloaded, or lost to another
        "NP-74", "mem_fraction_static", "overridden", "overridden_by_engine",
        launch("L1"), launch("L2", requested={"mem_fraction_static": 0.92}),
    ),
    Case(
        "NP-75", "tp_size", "overridden", "overridden_by_later_flag",
        launch("L1"), launch("L2", requested={"tp_size": 4}),
    ),
    Case(
        "NP-76", "port", "overridden", "overridden_by_later_flag",
        launch("L1", settings={"port": 30000}),
        launch("L2", settings={"port": 30000}, requested={"port": 30001}),
    ),
    Case(  # 200k and 200Ki are two numbers, and as numbers they are judged
        "NP-77", "context_length", "no_op_for_pool", "not_a_pool_input",
        launch("L1", context=100000), launch("L2", context=102400),
    ),
    Case(
        "NP-79", "mem_fraction_static", "confounded", "version_changed",
        launch("L1"), launch("L2", version="0.5.14", fraction=0.9), "shared",
    ),
    Case(
        "NP-80", "context_length", "no_op_for_pool", "not_a_pool_input",
        launch("L1"), launch("L2", before=92.0, context=65536), "none",
    ),
    Case(
        "NP-81", "load_format", "effective", "moved_pool",
        launch("L1", settings={"load_format": "auto"}),
        launch("L2", weights=77.0, settings={"load_format": "remote"}), "sole",
    ),
    plain("NP-82", "random_seed", 1, 2, "no_op", "not_a_memory_setting"),
    Case(
        "NP-83", "mem_fraction_static", "effective", "derived_from_another_setting",
        launch("L1", fraction=0.806, requested={"chunked_prefill_size": 8192}),
        launch("L2", fraction=0.825, settings={"chunked_prefill_size": 4096},
               requested={"chunked_prefill_size": 4096}), "none", {"chunked_prefill_size": "effective"},
    ),
    Case(
        "NP-85", "cpu_offload_gb", "effective", "moved_pool",
        launch("L1", settings={"cpu_offload_gb": 0}),
        launch("L2", weights=62.63, settings={"cpu_offload_gb": 10}), "sole",
    ),
]  # fmt: skip

NO_CHANGE = {
    "NP-84": (  # a rename
        launch("L1", version="0.5.11", settings={"mamba_scheduler_strategy": "no_buffer"}),
        launch("L2", version="0.5.23", settings={"mamba_radix_cache_strategy": "no_buffer"}),
    ),
}
ELSEWHERE = {
    "NP-25": "an environment variable, which no line shows: never proven",
    "NP-78": "abbreviations are expanded where the command line is read",
}


@pytest.mark.parametrize("case", CASES, ids=[c.np for c in CASES])
def test_pattern(case):
    budgets = {one.id: reconcile(one) for one in (case.old, case.new)}
    found = {v.change.setting: v for v in judge_pair([case.old], case.new, diff(case.old, case.new), budgets)}
    assert case.setting in found, sorted(found)
    verdict = found[case.setting]
    assert (verdict.verdict, verdict.reason_code) == (case.verdict, case.code), verdict.reason
    if case.attribution is not None:
        assert verdict.attribution == case.attribution
    for setting, expected in case.also.items():
        assert found[setting].verdict == expected
    assert verdict.reason_code in reason_codes()


@pytest.mark.parametrize("np", NO_CHANGE)
def test_no_change(np):
    assert [c.setting for c in diff(*NO_CHANGE[np])] == []


def test_every_pattern_has_its_case():
    covered = {c.np for c in CASES} | set(NO_CHANGE) | set(ELSEWHERE)
    assert {p.id for p in patterns()} == covered
