"""Values that the engine cut to a limit, or that something else replaced: what was asked never applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.knowledge import knob
from kvforensics.settings import same
from kvforensics.sizing.facts import number
from kvforensics.verdicts import advice
from kvforensics.verdicts.decision import Decision, moved, shown

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.knowledge import Pattern
    from kvforensics.verdicts.attribution import Attribution
    from kvforensics.verdicts.situation import Situation


def of_cut(pair: Situation, change: Change, pattern: Pattern | None, who: Attribution) -> Decision | None:
    """Judge a change whose asked value is not what applied; None where what was asked applied."""
    if pattern is not None and pattern.outcome in ("overridden", "not_applied"):
        return _overridden(pair, change, pattern.code, pattern.why, pattern.fix)
    if change.setting == "mem_fraction_static" and _scaled(pair):
        return _overridden(
            pair,
            change,
            "overridden_by_engine",
            "The budget closes only with a smaller fraction: the engine multiplied it without a word.",
            "Ask for the fraction divided by the factor, or upgrade.",
        )
    if change.requested is None:
        return _over_the_cap(pair, change)
    if change.setting == "max_total_tokens":
        return _cap(pair, change, who)
    if change.setting == "max_running_requests":
        return _running(pair, change)
    said = f"adjust__{change.setting}" in pair.known.events
    if change.setting == "context_length" and _cut_by_the_model(pair):
        return Decision(
            "clamped",
            "clamped_by_model_limit",
            f"context_length {shown(change.requested)} was asked; the engine reports {shown(change.after)}.",
        )
    if (
        not said
        and change.setting in pair.newer.config.given_twice
        and not _same(change, change.before, change.after)
        and _same(change, change.requested, change.before)
    ):
        return (
            None  # the old value still stands on the command line before the new one, which won: it applied
        )
    known = knob(change.setting)
    if said or (known is not None and (known.filled or known.derived_from)):
        why = known.conditions if known is not None and known.conditions else "The engine replaced the value."
        return _overridden(pair, change, "overridden_by_engine", _sentence(why), None)
    return _overridden(
        pair,
        change,
        "overridden_by_later_flag",
        "A later flag, a preset or another file won.",
        "Keep the setting in one place.",
    )


def _overridden(pair: Situation, change: Change, code: str, why: str, fix: str | None) -> Decision:
    asked = change.requested if change.requested is not None else change.after
    ran = (
        pair.newer.config.values.get(change.setting, change.after)
        if change.requested is None
        else change.after
    )
    said = f"{change.setting} {shown(asked)} was asked, and {shown(ran)} applied. {why}"
    if change.requested is None:
        values = f"{shown(change.before)} to {shown(change.after)}"
        said = f"{change.setting} went from {values} by the engine's hand. {why}"
    return Decision("overridden", code, said, fix)


def _cap(pair: Situation, change: Change, who: Attribution) -> Decision:
    pool = pair.effects.pool_tokens
    said = (
        f"max_total_tokens {shown(change.requested)} is more than memory holds; the engine took "
        f"{shown(change.after)}"
    )
    if pool.outcome == "moved":
        said += f". The pool went from {moved(pool.before, pool.after)}"
    credited = change.setting in who.credited
    return Decision(
        "clamped",
        "clamped_to_profiled",
        said + ".",
        advice.for_context(pair.newer, pair.newer.context_len) or advice.for_pool(pair.newer),
        "sole" if credited else "none",
    )


def _running(pair: Situation, change: Change) -> Decision:
    """Judge a number of running requests that the pool, state slots or the request table cut."""
    moves = pair.effects.max_running_requests.outcome == "moved"
    asked, applied = number(change.requested), number(change.after)
    if asked is not None and applied is not None and asked < applied:
        return _overridden(pair, change, "overridden_by_engine", "The engine replaced the value.", None)
    if "running_capped_mamba" in pair.known.events and not moves:
        return Decision(
            "no_op",
            "masked_by_mamba_state",
            f"max_running_requests {shown(change.requested)} was asked; the state slots serve "
            f"{shown(change.after)}, as before.",
            "Raise mamba_full_memory_ratio, or store the state in bfloat16.",
        )
    return Decision(
        "clamped",
        "clamped_to_request_table",
        f"max_running_requests {shown(change.requested)} was asked, and the engine serves "
        f"{shown(change.after)}.",
        "A larger pool raises the limit; on 0.5.10 to 0.5.13 a shorter context does too.",
        "sole" if moves else "none",
    )


def _over_the_cap(pair: Situation, change: Change) -> Decision | None:
    """Judge a cap of 0.5.8 to 0.5.10, applied before a sliding-window pool is split: it may be exceeded."""
    asked, tokens = number(change.after), pair.newer.pool_tokens
    hybrid = any(p.role == "swa" for p in pair.newer.pools)
    if change.setting != "max_total_tokens" or not hybrid or asked is None or tokens is None:
        return None
    if "cap_above_profile" in pair.known.events or tokens <= asked:
        return None
    return Decision(
        "clamped",
        "cap_applied_before_split",
        f"max_total_tokens {shown(change.after)} was applied before the pool was split, and the full pool "
        f"holds {tokens:,} tokens.",
        "0.5.11 or later, or a lower swa_full_tokens_ratio.",
    )


def _same(change: Change, one: Any, other: Any) -> bool:
    return same(change.setting, one, other)


def _cut_by_the_model(pair: Situation) -> bool:
    """Whether the engine reports a shorter context than its settings hold."""
    asked, shown_len = number(pair.newer.config.values.get("context_length")), pair.newer.context_len
    return asked is not None and shown_len is not None and asked > shown_len


def _scaled(pair: Situation) -> bool:
    budget = pair.budgets.get(pair.newer.id)
    return budget is not None and budget.why_not == "fraction_scaled"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
