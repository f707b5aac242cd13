"""The real launch that a prediction starts from, or the reason why none can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.errors import PredictionRefusedError
from kvforensics.knowledge import within
from kvforensics.sizing.closure import AITER_CONTEXT, RULE_HOLDS, WHY_NOT, eagle_addend
from kvforensics.sizing.facts import GIB, Facts, facts, first_event, is_plain, positive
from kvforensics.sizing.reconcile import reconcile

if TYPE_CHECKING:
    from kvforensics.launches import Launch

LEAST_REST_GIB = 0.5  # below it, drift of 0.1 GiB decides the pool (two real logs were off by a third)

REFUSALS = {
    "no_pool": "the launch logged no pool",
    "fraction_unknown": "mem_fraction_static is not in the log",
    "memory_lines_missing": "free memory before or after loading is not in the log",
    "pool_lines_missing": "the pools' own lines are not in the log, so the budget cannot be checked",
    "budget_too_small": "the pools' budget is below 0.5 GiB, where drift decides",
    "budget_unexplained": "budget and pools do not add up, and no known rule says why",
    "version_unknown": "which release this is decides the rule, and the log does not tell",
    "fraction_scaled": "the engine multiplied the fraction without showing it",
    "state_pool": "a state (mamba) pool shares the budget",
    "swa_cap_mode": "the sliding-window pool is sized from requests, not from the budget",
    "special_pool": "compressed, unified, sharded or host-backed pools follow another rule",
    "cap_hides_profile": "a binding max_total_tokens hides what memory would hold",
    "context_moves_pool": "the context length is an input of the pool for this model and release",
    "start_would_fail": "the budget would be too small for a start",
    "unsupported_setting": "no rule predicts the pool from this setting",
}
"""The closed list of `refused.reason_code`."""

_SPECIAL = ("enable_unified_memory", "enable_hisparse", "enable_kv_cache_sharding")


class Anchor(Struct, frozen=True):
    """What the pool rule needs of a launch, all from its lines. Memory in GiB."""

    launch: str
    tokens: int  # T, or what memory would hold where a cap hides it
    fraction: float
    before: float
    rest: float
    cell: float  # bytes of one GPU that the budget pays for a token


def anchor(launch: Launch, *, hidden: bool = False) -> Anchor:
    """Return the terms of the rule; `hidden` prices a token by the pools' own lines, as a cap binds.

    Raises `PredictionRefusedError` with one of `REFUSALS`.
    """
    known = facts(launch)
    _refuse_special(launch)
    if known.fraction is None:
        raise _refusal("fraction_unknown", launch)
    if known.before is None or known.after is None or known.rest is None or known.before <= 0:
        raise _refusal("memory_lines_missing", launch)
    if known.rest < LEAST_REST_GIB:
        raise PredictionRefusedError(
            "budget_too_small",
            f"{launch.id} leaves the pools {known.rest:.2f} GiB; below {LEAST_REST_GIB} GiB the drift of "
            "free memory decides, not the rule",
        )
    if hidden:
        return _behind_the_cap(launch, known, known.fraction, known.before, known.rest)
    _refuse_unexplained(launch)
    tokens = launch.pool_tokens or 0
    profiled = tokens - (eagle_addend(launch) or 0)
    if profiled <= 0:
        raise _refusal("no_pool", launch)
    return Anchor(
        launch=launch.id,
        tokens=tokens,
        fraction=known.fraction,
        before=known.before,
        rest=known.rest,
        cell=known.rest * GIB / profiled,
    )


def refuse_moving_context(launch: Launch, context: int | None) -> None:
    """Refuse where the context length is an input of the pool: Llama-4 to 0.5.7, aiter across 8192."""
    loaded = first_event(launch, "load_end")
    model = str(loaded.fields.get("model_type") or "") if loaded else ""
    if "Llama4" in model and within(launch.version, "0.4.9", "0.5.7") is not False:
        raise _refusal("context_moves_pool", launch)
    today = launch.context_len
    if today is None or context is None or launch.config.values.get("attention_backend") != "aiter":
        return
    if (today > AITER_CONTEXT) != (context > AITER_CONTEXT):
        raise _refusal("context_moves_pool", launch)


def _behind_the_cap(launch: Launch, known: Facts, fraction: float, before: float, rest: float) -> Anchor:
    shown = known.bytes_shown
    if shown is None or not is_plain(launch):
        raise _refusal("cap_hides_profile", launch)
    return Anchor(launch.id, int(rest * GIB / shown), fraction, before, rest, float(shown))


def _refuse_special(launch: Launch) -> None:
    values = launch.config.values
    roles = {p.role for p in launch.pools}
    if "mamba" in roles or first_event(launch, "mamba_pool"):
        raise _refusal("state_pool", launch)
    if "swa" in roles and values.get("disable_radix_cache") is True:
        asked = positive(values.get("max_running_requests"))
        if asked is not None and within(launch.version, "0.5.14", None) is not False:
            raise _refusal("swa_cap_mode", launch)
    sharded = (positive(values.get("dcp_size")) or 1) > 1
    if sharded or any(values.get(name) is True for name in _SPECIAL) or first_event(launch, "dsv4_sizing"):
        raise _refusal("special_pool", launch)


def _refuse_unexplained(launch: Launch) -> None:
    budget = reconcile(launch)
    if budget.pools_gib is None or budget.why_not == "pool_lines_missing":
        raise _refusal("pool_lines_missing", launch)
    if budget.closes or budget.why_not in RULE_HOLDS:
        return
    if budget.why_not == "fraction_scaled":
        raise _refusal("fraction_scaled", launch)
    if budget.why_not == "unknown" and launch.version.oldest is None:
        raise _refusal("version_unknown", launch)
    raise PredictionRefusedError(
        "budget_unexplained",
        f"the pools of {launch.id} take {budget.pools_gib:.2f} GiB of a budget of {budget.rest_gib:.2f} GiB: "
        + WHY_NOT[budget.why_not or "unknown"],
    )


def _refusal(code: str, launch: Launch) -> PredictionRefusedError:
    return PredictionRefusedError(code, f"{REFUSALS[code]} ({launch.id})")
