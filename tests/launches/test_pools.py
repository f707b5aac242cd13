"""Whose pool a line is."""

import pytest

from kvforensics.events import Ranks
from tests.launches.log import Log, only

ALLOCATED = {"label": "KV Cache", "state": "is allocated"}
MLA = {**ALLOCATED, "kv_gib": 6.62}
MHA = {**ALLOCATED, "k_gib": 0.14, "v_gib": 0.14}


def launch(*lines, config=None, ranks=(None,)):
    log = Log().write("server_args", values=config or {"a": 1}, form="repr")
    for kind, fields in lines:
        for rank in ranks:
            log.write(kind, rank=rank, after=0.01, **fields)
    return only(log.write("summary", rank=ranks[0], pool_tokens=101134)).launches[0]


def roles(found):
    return [(pool.role, pool.kind, pool.tokens, pool.total_gib) for pool in found.pools]


def load(model="DeepseekV3ForCausalLM", avail=21.0):
    return [("load_begin", {"avail_gib": avail + 1}), ("load_end", {"avail_gib": avail, "model_type": model})]


END = ("pool_end", {"avail_gib": 14.0})


def test_the_target_alone():
    assert roles(launch(*load(), ("kv_pool", {**MLA, "tokens": 101134}), END)) == [
        ("target", "mla", 101134, 6.62)
    ]


def test_up_to_0_5_13_the_draft_loads_after_the_targets_pool():
    found = launch(
        *load(), ("kv_pool", {**MLA, "tokens": 101134}), END,
        *load("DFlashDraftModel", 13.0), ("kv_pool", {**MHA, "tokens": 101134}), END,
    )  # fmt: skip
    assert roles(found) == [("target", "mla", 101134, 6.62), ("draft", "mha", 101134, 0.28)]
    assert (found.pools[1].k_gib, found.pools[1].v_gib) == (0.14, 0.14)


@pytest.mark.parametrize("between", [(), (END,)])
def test_from_0_5_14_both_load_before_both_pools(between):
    found = launch(
        *load(), *load("DraftModel", 20.0),
        ("kv_pool", {**MLA, "tokens": 101134}), *between, ("kv_pool", {**MHA, "tokens": 101134}), END,
    )  # fmt: skip
    assert roles(found) == [("target", "mla", 101134, 6.62), ("draft", "mha", 101134, 0.28)]


def test_several_draft_pools_are_rows_of_their_own():
    found = launch(*load(), *[("kv_pool", {**MHA, "tokens": 9})] * 3, END)
    assert [pool.role for pool in found.pools] == ["target", "draft", "draft"]


@pytest.mark.parametrize("order", [("swa", "full"), ("full", "swa")])
def test_an_unlabelled_hybrid_by_its_tokens(order):
    tokens = {"full": 109120, "swa": 87296}
    found = launch(
        *load(),
        ("swa_split", {"full_tokens": 109120, "swa_tokens": 87296}),
        *[("kv_pool", {**MHA, "tokens": tokens[role]}) for role in order],
        ("swa_pool", {"usage_gib": 5.0, "full_tokens": 109120, "swa_tokens": 87296}),
        END,
    )
    assert [(pool.role, pool.tokens) for pool in found.pools] == [("full", 109120), ("swa", 87296)]


def test_a_hybrid_with_equal_parts_has_the_window_first():
    split = ("swa_split", {"full_tokens": 100, "swa_tokens": 100})
    lines = [("kv_pool", {**ALLOCATED, "tokens": 100, "k_gib": k, "v_gib": k}) for k in (1.0, 2.0)]
    assert roles(launch(*load(), split, *lines, END)) == [("full", "mha", 100, 4.0), ("swa", "mha", 100, 2.0)]


def test_a_labelled_hybrid_with_a_draft():
    found = launch(
        *load(), *load("DraftModel"),
        ("swa_split", {"full_tokens": 109120, "swa_tokens": 87296}),
        ("kv_pool", {**MHA, "label": "Full KV Cache", "tokens": 109120}),
        ("kv_pool", {**MHA, "label": "SWA KV Cache", "tokens": 87296}),
        ("kv_pool", {**MHA, "tokens": 109120}), END,
    )  # fmt: skip
    assert [(pool.role, pool.tokens) for pool in found.pools] == [
        ("full", 109120),
        ("swa", 87296),
        ("draft", 109120),
    ]


def test_a_window_model_without_full_layers():
    split = ("swa_split", {"swa_tokens": 500})
    assert roles(launch(*load(), split, ("kv_pool", {**MHA, "tokens": 500}), END)) == [
        ("swa", "mha", 500, 0.28)
    ]


def test_mamba():
    found = launch(
        *load(),
        ("mamba_pool", {"slots": 384, "conv_gib": 0.5, "ssm_gib": 18.0, "intermediate_ssm_gib": 0.18}),
        ("kv_pool", {**MHA, "tokens": 700}),
        END,
    )
    assert roles(found) == [("target", "mha", 700, 0.28), ("mamba", "mamba", 384, 18.68)]


def test_a_host_pool_is_printed_in_decimal_gigabytes():
    found = launch(*load(), ("kv_pool", {**MLA, "tokens": 5}), ("host_pool", {"host_gb": 21.47}), END)
    assert roles(found)[-1] == ("host", "other", None, 20.0)


def test_what_the_size_after_capture_replaces():
    found = launch(
        *load(),
        ("kv_pool", {**MHA, "state": "VA upper bound", "tokens": 999999, "dtype": "torch.bfloat16"}),
        END,
        ("kv_pool", {"label": "KV cache", "state": "Post-capture", "tokens": 101134, "kv_gib": 9.25}),
    )
    assert roles(found) == [("target", "mha", 101134, 9.25)]
    assert found.pools[0].k_gib is None
    assert found.pools[0].dtype == "torch.bfloat16"


def test_ranks_are_merged_and_the_largest_counts():
    log = Log().write("server_args", values={"a": 1}, form="repr")
    for rank, size in enumerate((6.60, 6.62, 6.61)):
        log.write("kv_pool", rank=rank, **{**MLA, "kv_gib": size}, tokens=100 + rank)
    log.write("pool_end", rank=Ranks(dp=1, tp=4), avail_gib=1.0)
    pool = only(log).launches[0].pools[0]
    assert (pool.ranks, pool.total_gib, pool.tokens) == (3, 6.62, 101)
    assert (pool.place.path, pool.place.line) == ("a.log", 3)


def test_a_model_with_latent_attention_cannot_have_printed_k_and_v():
    line = ("kv_pool", {**MHA, "tokens": 101134})
    found = launch(
        *load("KimiK25ForConditionalGeneration"), line, END, config={"speculative_algorithm": "DDTREE"}
    )
    assert roles(found) == [("draft", "mha", 101134, 0.28)]
    assert found.pool_tokens == 101134
    plain = launch(*load("KimiK25ForConditionalGeneration"), line, END)
    assert roles(plain)[0][0] == "target"  # without a draft it is whatever the model did


def test_a_launch_that_died_before_the_final_line_has_its_targets_tokens():
    log = Log().write("server_args", values={"a": 1}, form="repr")
    log.write("kv_pool", **MLA, tokens=77).write("kv_pool", **MHA, tokens=78).write("sigquit")
    found = only(log).launches[0]
    assert (found.pool_tokens, found.evidence["pool_tokens"].line) == (77, 2)


def test_deepseek_v4_prints_no_pool_line():
    found = launch(*load(), ("dsv4_sizing", {"full_tokens": 9, "swa_tokens": 4, "bytes_per_token": 1.5}), END)
    assert [(pool.role, pool.tokens) for pool in found.pools] == [("full", 9), ("swa", 4)]
