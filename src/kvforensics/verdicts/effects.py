"""What a launch pair shows: four figures before and after, held against noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.changes import shows
from kvforensics.sizing.facts import GIB, HALF_HUNDREDTH_GIB, facts
from kvforensics.verdicts.verdict import Effect, Effects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.launches import Launch
    from kvforensics.sizing import Budget

FREE_GIB, FREE_CPU_GIB = 0.1, 0.3
_WITHOUT_MEMORY = 0.01  # of the pool, where no memory line says what a token costs


class Noise(Struct, frozen=True):
    """By how much a figure may differ though nobody changed anything."""

    tokens: float
    free_gib: float
    cell: float | None  # bytes of a token that `tokens` rests on; None where it is a percentage


def noise(before: Launch, after: Launch, budgets: Mapping[str, Budget]) -> Noise:
    """Return the noise of a pair: printing error, one page and the drift of identical launches.

    0.05 GiB worth of tokens, 0.15 where the device is the CPU; 1 % without memory lines.
    """
    old, new = facts(before), facts(after)
    cpu = old.on_cpu or new.on_cpu
    cell = next((c for c in (_cell(before, budgets), _cell(after, budgets)) if c is not None), None)
    free = FREE_CPU_GIB if cpu else FREE_GIB
    if cell is None:
        return Noise(_WITHOUT_MEMORY * (before.pool_tokens or 0), free, None)
    fraction = old.fraction if old.fraction is not None else 1.0
    printed = HALF_HUNDREDTH_GIB * (2 - min(fraction, 1.0))
    tokens = (max(old.drift, new.drift) + printed) * GIB / cell + max(old.page, new.page)
    return Noise(tokens, free, cell)


def effects(newer: Launch, earlier: Sequence[Launch], budgets: Mapping[str, Budget]) -> Effects:
    """Compare a launch with the one before it, figure by figure.

    `earlier` holds the launches before it, oldest first. Where the one before is a failed start without
    the figure, the last launch that has it is the baseline, and the effect names it.
    """
    pool = baseline(earlier, "pool_tokens")
    tokens = _pool_effect(pool, newer, budgets)
    return Effects(
        pool_tokens=_named(tokens, pool, earlier),
        longest_prompt_tokens=_longest(newer, earlier, tokens),
        max_running_requests=_running(newer, earlier),
        free_gib=_free(newer, earlier, budgets),
    )


def baseline(earlier: Sequence[Launch], figure: str) -> Launch | None:
    """Return the launch that a figure is measured against: the last, or one before failed starts."""
    for launch in reversed(earlier):
        if getattr(launch, figure) is not None or launch.end != "failed_start":
            return launch
    return earlier[-1] if earlier else None


def kept(earlier: Sequence[Launch]) -> tuple[Launch, ...]:
    """Return the launches that a next one can be measured against, in order: a handful of however many.

    A service that dies at each start for weeks has thousands of failed launches before the next good one.
    """
    wanted = {id(one) for one in (baseline(earlier, figure) for figure in _FIGURES) if one is not None}
    wanted |= {id(one) for one in earlier[-1:]}
    with_memory = next((one for one in reversed(earlier) if one.memory.before_load_gib is not None), None)
    configured = next((one for one in reversed(earlier) if shows(one) == "all"), None)
    return tuple(one for one in earlier if id(one) in wanted or one is with_memory or one is configured)


_FIGURES = ("pool_tokens", "longest_prompt_tokens", "max_running_requests", "free_gib")


def _cell(launch: Launch, budgets: Mapping[str, Budget]) -> float | None:
    """Bytes of a token: what the budget paid, else what the pools' own lines show."""
    budget = budgets.get(launch.id)
    if budget is not None and budget.bytes_per_token is not None:
        return float(budget.bytes_per_token)
    known = facts(launch)
    return float(known.bytes_shown) if known.bytes_shown is not None and known.rest is not None else None


def _pool_effect(before: Launch | None, newer: Launch, budgets: Mapping[str, Budget]) -> Effect:
    old, new = (before.pool_tokens if before else None), newer.pool_tokens
    if before is None or old is None or new is None:
        return Effect(old, new, "unknown")
    if old == new:
        return Effect(old, new, "unchanged")
    moved = abs(new - old) > noise(before, newer, budgets).tokens
    return Effect(old, new, "moved" if moved else "within_noise")


def _longest(newer: Launch, earlier: Sequence[Launch], pool: Effect) -> Effect:
    before = baseline(earlier, "longest_prompt_tokens")
    old, new = (before.longest_prompt_tokens if before else None), newer.longest_prompt_tokens
    if old is None or new is None or before is None:
        return _named(Effect(old, new, "unknown"), before, earlier)
    if old == new:
        outcome = "unchanged"
    elif _pool_limits(before) and _pool_limits(newer):
        outcome = pool.outcome
    else:
        outcome = "moved"
    return _named(Effect(old, new, outcome), before, earlier)


def _pool_limits(launch: Launch) -> bool:
    tokens, context = launch.pool_tokens, launch.context_len
    return tokens is not None and context is not None and tokens < context


def _running(newer: Launch, earlier: Sequence[Launch]) -> Effect:
    before = baseline(earlier, "max_running_requests")
    old, new = (before.max_running_requests if before else None), newer.max_running_requests
    if old is None or new is None:
        return _named(Effect(old, new, "unknown"), before, earlier)
    return _named(Effect(old, new, "unchanged" if old == new else "moved"), before, earlier)


def _free(newer: Launch, earlier: Sequence[Launch], budgets: Mapping[str, Budget]) -> Effect:
    before = baseline(earlier, "free_gib")
    old, new = (before.free_gib if before else None), newer.free_gib
    if old is None or new is None or before is None:
        return _named(Effect(old, new, "unknown"), before, earlier)
    if old == new:
        return _named(Effect(old, new, "unchanged"), before, earlier)
    moved = round(abs(new - old), 6) > noise(before, newer, budgets).free_gib
    return _named(Effect(old, new, "moved" if moved else "within_noise"), before, earlier)


def _named(effect: Effect, base: Launch | None, earlier: Sequence[Launch]) -> Effect:
    """Name the baseline where it is not the launch before."""
    if base is None or not earlier or base is earlier[-1]:
        return effect
    return Effect(effect.before, effect.after, effect.outcome, base.id)
