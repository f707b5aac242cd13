from __future__ import annotations

import pytest

from kvforensics.knowledge import releases
from kvforensics.settings import canonical, readable_int
from kvforensics.settings.flags import flags_of

# Flags whose name is not the setting's: flag, setting, first and last release.
ALIAS_TABLE = """
--tensor-parallel-size tp_size 0.3.0 0.5.23
--data-parallel-size dp_size 0.3.0 0.5.23
--nccl-init-addr dist_init_addr 0.3.4.post2 0.5.23
--expert-parallel-size ep_size 0.4.1.post7 0.5.23
--pipeline-parallel-size pp_size 0.4.6.post5 0.5.23
--model model_path 0.4.8.post1 0.5.23
--ep ep_size 0.4.10.post2 0.5.23
--speculative-draft-model speculative_draft_model_path 0.5.2 0.5.23
--fp8-gemm-backend fp8_gemm_runner_backend 0.5.7 0.5.23
--fp4-gemm-backend fp4_gemm_runner_backend 0.5.8 0.5.23
--attention-context-parallel-size attn_cp_size 0.5.9 0.5.23
--moe-data-parallel-size moe_dp_size 0.5.9 0.5.23
--stream-output incremental_streaming_output 0.5.10 0.5.19
--no-experts-shared-outer-loras experts_shared_outer_loras 0.5.10 0.5.23
--no-lora-strict-loading lora_strict_loading 0.5.11 0.5.23
--no-record-nolora-graph record_nolora_graph 0.5.11 0.5.12
--speculative-dflash-draft-window-size speculative_draft_window_size 0.5.12 0.5.19
--hierarchical-sparse-attention-extra-config hisparse_config 0.5.12 0.5.23
--nsa-prefill-backend dsa_prefill_backend 0.5.13 0.5.19
--nsa-decode-backend dsa_decode_backend 0.5.13 0.5.19
--enable-nsa-prefill-context-parallel enable_dsa_prefill_context_parallel 0.5.13 0.5.19
--nsa-prefill-cp-mode dsa_prefill_cp_mode 0.5.13 0.5.19
--mamba-scheduler-strategy mamba_radix_cache_strategy 0.5.14 0.5.19
--cuda-graph-max-bs cuda_graph_max_bs_decode 0.5.14 0.5.19
--cuda-graph-bs cuda_graph_bs_decode 0.5.14 0.5.19
--enable-breakable-cuda-graph cuda_graph_backend_prefill 0.5.14 0.5.19
--disable-piecewise-cuda-graph cuda_graph_backend_prefill 0.5.14 0.5.19
--enforce-piecewise-cuda-graph cuda_graph_backend_prefill 0.5.14 0.5.19
--piecewise-cuda-graph-tokens cuda_graph_bs_prefill 0.5.14 0.5.19
--piecewise-cuda-graph-compiler cuda_graph_tc_compiler 0.5.14 0.5.19
--piecewise-cuda-graph-max-tokens cuda_graph_max_bs_prefill 0.5.14 0.5.19
--decode-context-parallel-size dcp_size 0.5.15 0.5.23
--grpc-http-sidecar-port smg_http_sidecar_port 0.5.16 0.5.23
--elastic-ep-join-mode ep_join_mode 0.5.16 0.5.23
--elastic-ep-join-rank-offset ep_join_rank_offset 0.5.16 0.5.23
--no-dllm-fdfo dllm_fdfo 0.5.16 0.5.23
--no-dcp-replicate-q-proj dcp_replicate_q_proj 0.5.17 0.5.23
--enable-gdn-replayssm-spec enable_linear_replayssm_spec 0.5.17 0.5.19
--no-enable-tp-lm-head-all-to-all enable_tp_lm_head_all_to_all 0.5.18 0.5.23
--no-ple-offload-embedding ple_offload_embedding 0.5.20 0.5.23
--context-bucket cuda_graph_prefill_max_context 0.5.21 0.5.23
--attention-data-parallel-size attn_dp_size 0.5.22 0.5.23
--no-speculative-enable-w4a4-mxfp4-megamoe speculative_enable_w4a4_mxfp4_megamoe 0.5.22 0.5.23
--no-enable-dsa-fused-indexer enable_dsa_fused_indexer 0.5.22 0.5.23
--no-enable-tf32-matmul enable_tf32_matmul 0.5.23 0.5.23
--no-enable-fused-qk-norm-rope enable_fused_qk_norm_rope 0.5.23 0.5.23
--enable-hicache enable_hierarchical_cache 0.5.23 0.5.23
--no-mm-enable-dp-encoder mm_enable_dp_encoder 0.5.23 0.5.23
--no-enable-decoder-swa-bounded-replay enable_decoder_swa_bounded_replay 0.5.23 0.5.23
--monokernel-backend enable_amd_monokernel 0.5.23 0.5.23
"""

DROPPED_TABLE = """
--efficient-weight-load 0.3.0 0.3.2
--disable-nan-detection 0.3.6.post3 0.4.0
--enable-overlap-schedule 0.3.6.post3 0.4.0
--disable-flashinfer 0.3.6.post3 0.4.0
--disable-flashinfer-sampling 0.3.6.post3 0.4.0
--disable-disk-cache 0.4.0 0.4.0
--enable-flashmla 0.4.6.post5 0.4.6.post5
--enable-flashinfer-mla 0.4.5.post3 0.4.6.post5
--enable-ep-moe 0.5.3 0.5.4
--enable-deepep-moe 0.5.3 0.5.4
--enable-flashinfer-cutlass-moe 0.5.3 0.5.4
--enable-flashinfer-cutedsl-moe 0.5.3 0.5.4
--enable-flashinfer-trtllm-moe 0.5.3 0.5.4
--enable-triton-kernel-moe 0.5.3 0.5.4
--enable-flashinfer-mxfp4-moe 0.5.3 0.5.4
--config 0.5.3 0.5.23
--hybrid-kvcache-ratio 0.5.8 0.5.13
--prefill-round-robin-balance 0.5.8 0.5.19
--enable-piecewise-cuda-graph 0.5.10 0.5.13
--collect-tokens-histogram 0.5.11 0.5.19
--enable-expert-distribution-metrics 0.5.18 0.5.19
"""


@pytest.mark.parametrize("row", ALIAS_TABLE.strip().splitlines())
def test_aliases(row):
    flag, setting, first, last = row.split()
    order = releases()
    inside = order[order.index(first) : order.index(last) + 1]
    for release in inside:
        assert canonical(flag, release) == setting, release
    for release in set(order) - set(inside):
        known = flags_of(release).get(flag)
        assert known is None or known.setting == flag[2:].replace("-", "_"), release


@pytest.mark.parametrize("row", DROPPED_TABLE.strip().splitlines())
def test_flags_without_a_setting(row):
    flag, first, last = row.split()
    order = releases()
    for release in order[order.index(first) : order.index(last) + 1]:
        assert flags_of(release)[flag].setting is None


@pytest.mark.parametrize("release", releases())
def test_abbreviations_that_people_type(release):
    assert canonical("--tp", release) == "tp_size"
    assert canonical("--dp", release) == "dp_size"
    assert canonical("--context-len", release) == "context_length"
    assert canonical("--mem-fraction", release) == "mem_fraction_static"
    assert canonical("--max-running", release) == "max_running_requests"
    assert canonical("--chunked-prefill", release) == "chunked_prefill_size"
    assert canonical("--model", release) == "model_path"
    assert canonical("context_length", release) == "context_length"


@pytest.mark.parametrize(
    ("flag", "release", "setting"),
    [
        ("--pp", "0.4.6.post5", "pp_size"),
        ("--pp", "0.5.4", None),
        ("--ep", "0.4.9.post6", None),
        ("--ep", "0.4.10.post2", "ep_size"),
        ("--context-length=4096", "0.5.11", "context_length"),
        ("--speculative-ddtree-budget", "0.5.11", None),
        ("--", "0.5.11", None),
        ("-", "0.5.11", None),
        ("--attn-dp-size", "0.5.11", None),
        ("--attn-dp-size", None, "attn_dp_size"),
        ("--enable-double-sparsity", None, "enable_double_sparsity"),
        ("--grpc-http-sidecar-port", None, None),
        ("", "0.5.11", None),
    ],
)
def test_canonical(flag, release, setting):
    assert canonical(flag, release) == setting


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("200k", 200_000),
        ("200Ki", 204_800),
        ("1.5M", 1_500_000),
        ("2Mi", 2 * 2**20),
        ("0.5Ki", 512),
        ("4096", 4096),
        ("-1", -1),
        ("1G", 10**9),
        ("k", None),
        ("", None),
        ("many", None),
        ("1kk", None),
        ("1e5", None),
        ("nank", None),
        ("1.infM", None),
    ],
)
def test_readable_ints(text, number):
    assert readable_int(text) == number


@pytest.mark.parametrize("release", releases())
def test_a_name_of_its_own_is_every_setting_s_flag(release):
    for option, flag in flags_of(release).items():
        assert option == flag.option
        assert option.startswith("--")
        assert not option.startswith("--_")
