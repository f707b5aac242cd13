"""Why a budget and its pools do not add up: the rules of SGLang's releases that are known to do it.

Each rule is tested on the figures themselves: it explains a gap only where its own arithmetic closes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import within
from kvforensics.sizing.facts import (
    EAGLE_LIKE,
    NO_DRAFT_MODEL,
    Facts,
    algorithm,
    first_event,
    gpu_pools,
    number,
    positive,
)

if TYPE_CHECKING:
    from kvforensics.launches import Launch

CLOSES_WITHIN_GIB = 0.1
AITER_CONTEXT = 8192  # above it AMD aiter cuts the fraction, server_args.py:2671@0.5.11

WHY_NOT = {
    "draft_priced_as_target": "DFLASH 0.5.11 to 0.5.17 charges a draft layer like a target layer, which is "
    "too much where the target is MLA (speculative/dflash_utils.py:51@0.5.11)",
    "draft_pool_unbudgeted": "the draft model's pool stands outside the budget: EAGLE up to 0.5.13, and "
    "DFLASH beside a sliding-window target up to 0.5.17",
    "eagle_slots_added": "up to 0.5.6 slots for draft tokens are added after the pool was sized "
    "(model_executor/model_runner.py:1679@0.5.4)",
    "dsa_fp8_layout": "DSA with an fp8 cache is budgeted at 576 bytes a layer, stored at 656, up to 0.5.16 "
    "(model_executor/pool_configurator.py:122@0.5.11)",
    "fraction_scaled": "the engine multiplied mem_fraction_static without showing it: 0.85 on AMD aiter "
    "(0.4.7 to 0.5.4), 0.95 or 0.90 for multimodal models (0.3.0 to 0.4.8)",
    "cap_binds": "max_total_tokens set the pool, memory was left over",
    "pp_minimum": "the pipeline stage with the smallest pool sets it for all",
    "pool_lines_missing": "a pool that must exist printed no line",
    "adapters_after_load": "LoRA buffers or torchao change the free memory after the line that prints it",
    "sized_after_capture": "the pool was sized after graph capture (0.5.16 and later), from another figure",
    "weights_preloaded": "weights kept by a daemon count as free before loading (weight_cache_mode, 0.5.23)",
    "unknown": "no known rule explains the gap",
}

RULE_HOLDS = frozenset(
    {"draft_priced_as_target", "draft_pool_unbudgeted", "eagle_slots_added", "dsa_fp8_layout"}
)
"""Reasons under which `T = rest / cell` is still what the engine computed."""

_SCALES = (  # factor, releases, condition: arg_groups and model_runner of these releases
    (0.85, "0.4.7", "0.5.4", "context"),
    (0.95, "0.3.0", "0.4.3", "any"),
    (0.90, "0.4.4", "0.4.8", "any"),
)
_DSA_MODELS = ("DeepseekV32", "GlmMoeDsa")
_DSA_FP8_BYTES = (656 + 132) / (576 + 132)


def explain(launch: Launch, known: Facts) -> str:
    """Return the id of the rule that explains why pools and budget differ, or `unknown`."""
    rest, pools = known.rest, known.pools_gib
    if rest is None or pools is None:
        return "unknown"
    if known.cap_binds:
        return "cap_binds" if pools < rest else "unknown"
    if any(e.kind == "kv_pool" and e.fields.get("state") == "Post-capture" for e in launch.events):
        return "sized_after_capture"
    found = _too_much(launch, known, rest, pools) if pools > rest else _too_little(launch, known, rest, pools)
    return found or _measured_elsewhere(launch) or "unknown"


def eagle_addend(launch: Launch) -> int | None:
    """Return the slots that 0.4.3 to 0.5.6 add to the pool for drafts, None where the rule is not theirs.

    `max_num_reqs * (steps*topk + draft_tokens) + 100`, model_executor/model_runner.py:679@0.4.3.post4.
    """
    if algorithm(launch) not in EAGLE_LIKE or within(launch.version, "0.4.3", "0.5.6") is not True:
        return None
    values = launch.config.values
    steps, topk = (
        positive(values.get("speculative_num_steps")),
        positive(values.get("speculative_eagle_topk")),
    )
    drafts = positive(values.get("speculative_num_draft_tokens"))
    asked = positive(values.get("max_running_requests"))
    if steps is None or topk is None or drafts is None or asked is None:
        return None
    parts = positive(values.get("dp_size")) if values.get("enable_dp_attention") is True else None
    return int(asked // (parts or 1) * (steps * topk + drafts) + 100)


def _too_much(launch: Launch, known: Facts, rest: float, pools: float) -> str | None:
    """Explain pools that are larger than the budget."""
    draft = known.draft_gib or 0.0
    if draft and _draft_is_uncharged(launch) and _same(pools - draft, rest):
        return "draft_pool_unbudgeted"
    addend = eagle_addend(launch)
    if addend is not None and known.tokens and known.tokens > addend:
        slots = (pools - draft) * addend / (known.tokens + known.page)
        if _same(pools - draft - slots, rest):
            return "eagle_slots_added"
    if _is_dsa_fp8(launch) and within(launch.version, "0.5.4", "0.5.16") is True:
        uncharged = draft if _draft_is_uncharged(launch) else 0.0
        if _same((pools - uncharged) / _DSA_FP8_BYTES, rest):
            return "dsa_fp8_layout"
    return None


def _too_little(launch: Launch, known: Facts, rest: float, pools: float) -> str | None:
    """Explain pools that are smaller than the budget."""
    if _fraction_scaled(launch, known, pools):
        return "fraction_scaled"
    if _lines_missing(launch):
        return "pool_lines_missing"
    if _draft_overpriced(launch, known, rest, pools):
        return "draft_priced_as_target"
    stages = number(launch.config.values.get("pp_size"))
    return "pp_minimum" if stages is not None and stages > 1 else None


def _draft_is_uncharged(launch: Launch) -> bool:
    name = algorithm(launch)
    if name in NO_DRAFT_MODEL:
        return False
    if name in EAGLE_LIKE:
        return within(launch.version, "0.4.1", "0.5.13") is not False
    hybrid = any(p.role == "swa" for p in launch.pools)
    return hybrid and within(launch.version, "0.5.11", "0.5.17") is not False


def _draft_overpriced(launch: Launch, known: Facts, rest: float, pools: float) -> bool:
    """Whether the gap is what DFLASH charges for draft layers at the target's price.

    The charge is `target * draft_layers / target_layers`; the layer counts are not logged, so the test
    is that the target alone fits, and that the charge left for the draft is one that layers could make.
    """
    name = algorithm(launch)
    if name is None or name in EAGLE_LIKE or name in NO_DRAFT_MODEL or known.draft_gib is None:
        return False
    if within(launch.version, "0.5.11", "0.5.17") is not True:
        return False
    target = [p for p in gpu_pools(launch) if p.role == "target"]
    if len(target) != 1 or target[0].kind != "mla":
        return False
    charged = rest - (pools - known.draft_gib)
    share = charged / max(pools - known.draft_gib, 1e-9)
    return known.draft_gib < charged and 1 / 200 <= share <= 1 / 2


def _lines_missing(launch: Launch) -> bool:
    roles = {p.role for p in launch.pools}
    if not roles & {"target", "full", "swa"}:
        return True
    name = algorithm(launch)
    drafts = name is not None and name not in NO_DRAFT_MODEL
    if drafts and "draft" not in roles and within(launch.version, "0.5.11", None) is not False:
        return True
    return any("mamba" in e.kind for e in launch.events) and "mamba" not in roles


def _fraction_scaled(launch: Launch, known: Facts, pools: float) -> bool:
    if known.before is None or known.after is None or known.fraction is None:
        return False
    context = launch.context_len or number(launch.config.values.get("context_length")) or 0
    for factor, since, until, condition in _SCALES:
        if within(launch.version, since, until) is not True or (
            condition == "context" and context <= AITER_CONTEXT
        ):
            continue
        scaled = known.after - known.before * (1 - known.fraction * factor) - known.reserved
        if _same(pools, scaled):
            return True
    return False


def _measured_elsewhere(launch: Launch) -> str | None:
    values = launch.config.values
    if values.get("enable_lora") is True or values.get("lora_paths") or values.get("torchao_config"):
        return "adapters_after_load"
    if values.get("weight_cache_mode") not in (None, "off"):
        return "weights_preloaded"
    return None


def _is_dsa_fp8(launch: Launch) -> bool:
    loaded = first_event(launch, "load_end")
    model = str(loaded.fields.get("model_type") or "") if loaded else ""
    dsa = any(name in model for name in _DSA_MODELS) or any(
        launch.config.values.get(f"{family}_{phase}_backend")
        for family in ("dsa", "nsa")
        for phase in ("prefill", "decode")
    )
    return dsa and _is_fp8(launch)


def _is_fp8(launch: Launch) -> bool:
    printed = first_event(launch, "kv_dtype")
    words = [str(p.dtype) for p in launch.pools if p.dtype]
    words.append(str(launch.config.values.get("kv_cache_dtype")))
    if printed:
        words.append(str(printed.fields.get("dtype")))
    return any("fp8" in w or "float8" in w for w in words)


def _same(left: float, right: float) -> bool:
    return abs(round(left - right, 6)) <= CLOSES_WITHIN_GIB
