"""What no pair of launches may ever be told, whatever its figures are."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.build import GIB, event, launch, pool

from kvforensics.changes import diff
from kvforensics.launches import Memory
from kvforensics.sizing import reconcile
from kvforensics.verdicts import judge_pair, reason_codes

VERDICTS = {
    "effective",
    "no_op_for_pool",
    "no_op",
    "clamped",
    "overridden",
    "adverse",
    "confounded",
    "unproven",
}
OUTCOMES = {"moved", "unchanged", "within_noise", "unknown"}
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "kv_cache_dtype": st.sampled_from(["auto", "bfloat16", "fp8_e4m3", "fp8_e5m2"]),
        "chunked_prefill_size": st.sampled_from([-1, 2048, 4096, 8192, 16384]),
        "cuda_graph_max_bs": st.sampled_from([None, 8, 64, 256]),
        "tp_size": st.sampled_from([4, 8, 16]),
        "quantization": st.sampled_from([None, "fp8", "awq"]),
        "speculative_algorithm": st.sampled_from([None, "EAGLE", "DFLASH", "NGRAM"]),
        "speculative_num_draft_tokens": st.sampled_from([None, 4, 8]),
        "enable_dp_attention": st.booleans(),
        "dp_size": st.sampled_from([1, 8]),
        "disable_radix_cache": st.booleans(),
        "attention_backend": st.sampled_from([None, "fa3", "triton", "aiter"]),
        "log_level": st.sampled_from(["info", "debug"]),
        "schedule_policy": st.sampled_from(["fcfs", "lpm"]),
        "hicache_size": st.sampled_from([0, 100]),
        "mem_fraction_static": st.sampled_from([0.8, 0.806, 0.85, 0.9]),
        "page_size": st.sampled_from([1, 64]),
    },
)
KINDS = [
    "ready",
    "oom_cuda",
    "not_enough_memory",
    "exception",
    "running_reduced",
    "adjust__page_size",
    "summary",
]
LAUNCH = st.builds(
    lambda settings, tokens, context, cap, running, before, after, free, end, kinds, roles, ready: replace(
        launch(
            settings=settings,
            tokens=tokens,
            context=context,
            cap=cap,
            running=running,
            free=free,
            end=end,
            ready=ready,
            events=tuple(event(kind) for kind in kinds),
        ),
        pool_tokens=tokens,
        memory=Memory(before, after, None),
        pools=tuple(pool(role, tokens, None if tokens is None else tokens * 70000 / GIB) for role in roles),
    ),
    SETTINGS,
    st.none() | st.integers(0, 500_000),
    st.none() | st.sampled_from([4096, 32768, 200000]),
    st.none() | st.integers(1, 300_000),
    st.none() | st.sampled_from([8, 64, 2048]),
    st.none() | st.floats(0, 200),
    st.none() | st.floats(0, 200),
    st.none() | st.floats(0, 90),
    st.sampled_from(["running", "stopped", "crashed", "oom", "killed", "failed_start", "unknown"]),
    st.lists(st.sampled_from(KINDS), max_size=4),
    st.lists(st.sampled_from(["target", "draft", "full", "swa", "mamba", "host"]), max_size=3, unique=True),
    st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(LAUNCH, min_size=2, max_size=4))
def test_every_change_has_one_verdict_of_the_vocabulary(launches):
    launches = [replace(one, id=f"L{i + 1}") for i, one in enumerate(launches)]
    budgets = {one.id: reconcile(one) for one in launches}
    changes = diff(launches[-2], launches[-1])
    found = judge_pair(launches[:-1], launches[-1], changes, budgets)
    assert [v.change for v in found] == changes
    for v in found:
        assert v.verdict in VERDICTS
        assert v.reason_code in reason_codes()
        assert v.reason
        assert v.attribution in ("sole", "shared", "none")
        assert (v.verdict == "confounded") <= (v.attribution in ("shared", "none"))
        pool_effect = v.effects.pool_tokens
        assert pool_effect.outcome in OUTCOMES
        if v.reason_code in ("moved_pool", "moved_weights") and v.change.setting != "max_total_tokens":
            assert pool_effect.outcome == "moved"
        if v.change.setting == "log_level":
            assert v.reason_code == "not_a_memory_setting"
        if (
            v.verdict in ("no_op", "no_op_for_pool", "overridden", "unproven")
            and v.verdict != "no_op_for_pool"
        ):
            assert v.attribution == "none"


def made(before, fraction, weights, cell, **kwargs):
    rest = fraction * before - weights
    return launch(before=round(before, 2), fraction=fraction, weights=round(weights, 2), cell=cell,
                  tokens=int(rest * GIB / cell), **kwargs)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.floats(60, 190), st.floats(0.6, 0.9).map(lambda f: round(f, 2)), st.integers(20_000, 200_000),
    st.floats(-6, 6), st.floats(-3, 3), st.sampled_from([65536, 131072, 500_000]),
)  # fmt: skip
def test_a_context_is_never_credited_or_blamed_for_the_pool(before, f, cell, dp, dw, context):
    weights = 0.6 * f * before
    assume(f * (before + dp) - (weights + dw) > 1)
    old, new = made(before, f, weights, cell), made(before + dp, f, weights + dw, cell, context=context)
    budgets = {"L1": reconcile(old), "L2": reconcile(replace(new, id="L2"))}
    new = replace(new, id="L2")
    (v,) = judge_pair([old], new, diff(old, new), budgets)
    assert v.verdict in ("no_op_for_pool", "no_op")
    assert v.attribution in ("sole", "none")
    if v.effects.pool_tokens.outcome == "moved":
        assert v.attribution == "none"


@settings(max_examples=60, deadline=None)
@given(
    st.floats(60, 190), st.sampled_from([0.7, 0.75, 0.8, 0.85]), st.sampled_from([-0.05, -0.02, 0.02, 0.05]),
    st.integers(20_000, 200_000), st.floats(-0.04, 0.04),
)  # fmt: skip
def test_a_fraction_alone_is_effective(before, f, step, cell, drift):
    weights = 0.6 * f * before
    old, new = made(before, f, weights, cell), made(before + drift, round(f + step, 3), weights, cell)
    new = replace(new, id="L2")
    budgets = {"L1": reconcile(old), "L2": reconcile(new)}
    (v,) = judge_pair([old], new, diff(old, new), budgets)
    assert (v.verdict, v.attribution) == ("effective", "sole")
