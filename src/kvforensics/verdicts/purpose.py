"""Judging a change by what it is for: concurrency, admission, headroom, or the pool that people see in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import FIGURES, knob
from kvforensics.verdicts import advice
from kvforensics.verdicts.decision import Decision, moved, shown
from kvforensics.verdicts.moves import direction, expected
from kvforensics.verdicts.situation import rivals

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.knowledge import Knob
    from kvforensics.verdicts.attribution import Attribution
    from kvforensics.verdicts.situation import Situation
    from kvforensics.verdicts.verdict import Effect

_CODES = {
    "longest_prompt_tokens": "moved_longest_prompt",
    "max_running_requests": "moved_max_running_requests",
    "free_gib": "moved_headroom",
}
_UNITS = {"longest_prompt_tokens": "tokens", "max_running_requests": "requests", "free_gib": "GiB"}
_NAMES = {
    "longest_prompt_tokens": "The longest prompt",
    "max_running_requests": "The number of running requests",
    "free_gib": "The memory left free",
}


def of_other(pair: Situation, change: Change, known: Knob, who: Attribution) -> Decision:
    """Judge a change that is no input of the pool: by what it is for, and by what people take it for."""
    if known.mistaken_for == "pool":
        return _mistaken(pair, change, known, who)
    if change.setting == "max_total_tokens" and pair.pool != "unknown":
        return _cap_beside_memory(pair, change)
    for figure in ("max_running_requests", "longest_prompt_tokens", "free_gib"):
        if known.direction[figure] == "0":
            continue
        found = by_figure(pair, change, known, figure)
        if found is not None:
            return found
    if _nothing_logged(pair, known):
        return Decision(
            "unproven",
            "figure_not_logged",
            f"What {change.setting} acts on was not logged in both launches.",
        )
    return Decision("no_op", "nothing_moved", f"Nothing that {change.setting} acts on moved. {known.why}")


def unknown_pool(pair: Situation, change: Change) -> Decision:
    """Judge a change of the pool that a launch without a pool leaves open."""
    lacking = pair.newer if pair.newer.pool_tokens is None else pair.older
    if lacking is pair.newer and pair.newer.ready_at is None:
        return Decision(
            "unproven",
            "never_became_ready",
            f"{lacking.id} shows no pool: its log ends before one is printed, so nothing proves what "
            f"{change.setting} did.",
        )
    code = "config_truncated" if lacking.config.truncated else "pool_not_logged"
    return Decision(
        "unproven", code, f"{lacking.id} logged no pool, so nothing proves what {change.setting} did."
    )


def _cap_beside_memory(pair: Situation, change: Change) -> Decision:
    pool = pair.effects.pool_tokens
    values = f"{shown(change.before)} to {shown(change.after)}"
    return Decision(
        "no_op",
        "masked_by_memory",
        f"The pool went from {moved(pool.before, pool.after)} by memory; max_total_tokens {values} binds at "
        "neither launch.",
        advice.for_pool(pair.newer),
    )


def _mistaken(pair: Situation, change: Change, known: Knob, who: Attribution) -> Decision:
    pool = pair.effects.pool_tokens
    if pool.outcome == "unknown":
        return unknown_pool(pair, change)
    if _may_be_the_cause_of_the_fraction(pair, change, known):
        return Decision(
            "unproven",
            "fraction_may_be_derived",
            f"mem_fraction_static changed too, and the log does not tell whether it was given or computed "
            f"from {change.setting}.",
            "Give mem_fraction_static explicitly.",
        )
    if pool.outcome == "moved":
        reason = (
            f"The pool went from {moved(pool.before, pool.after)}, and {change.setting} took no part in it"
        )
        reason += f": {', '.join(sorted(who.credited))} did." if who.credited else "."
        code = "not_a_pool_input" if who.by == "free_memory" else "took_no_part"
    else:
        stayed = "stayed at" if pool.outcome == "unchanged" else "stayed within noise of"
        reason = f"The pool {stayed} {shown(pool.before)} tokens: {change.setting} is no input of it."
        code = "not_a_pool_input"
    others = [text for figure in FIGURES[1:] if (text := _also(pair, change, known, figure))]
    reason += " " + " ".join(others) if others else ""
    fix = advice.for_pool(pair.newer)
    if change.setting == "context_length":
        fix = advice.for_context(pair.newer, pair.newer.context_len) or fix
    credit = "none" if who.by == "free_memory" else _credit_elsewhere(pair, change, known)
    return Decision("no_op_for_pool", code, reason, fix, credit)


def _may_be_the_cause_of_the_fraction(pair: Situation, change: Change, known: Knob) -> bool:
    """Whether a fraction that changed beside the setting could be the engine's own computation from it.

    The engine rounds its fraction to three decimals; people write two. Only a fraction that looks computed
    and moved the way the reserve says leaves the question open.
    """
    fraction = pair.changed("mem_fraction_static")
    if fraction is None or fraction.derived or "mem_fraction_static" in (pair.known.given or ()):
        return False
    if known.direction["pool_tokens"] == "0":
        return False
    values = (fraction.before, fraction.after)
    if all(isinstance(v, int | float) and round(v * 100, 9) == round(v * 100) for v in values):
        return False
    way = direction(change, pair.older, pair.newer)
    return expected(known, "pool_tokens", way) in (None, direction(fraction, pair.older, pair.newer))


def _also(pair: Situation, change: Change, known: Knob, figure: str) -> str | None:
    effect: Effect = getattr(pair.effects, figure)
    if effect.outcome != "moved" or known.direction[figure] == "0":
        return None
    if figure != "longest_prompt_tokens" and _rivals(pair, change, figure):
        return None
    return f"{_NAMES[figure]} went from {moved(effect.before, effect.after, _UNITS[figure])}."


def _credit_elsewhere(pair: Situation, change: Change, known: Knob) -> str:
    """Return `sole` where another figure moved and this change alone can explain it."""
    for figure in FIGURES[1:]:
        effect: Effect = getattr(pair.effects, figure)
        if effect.outcome != "moved" or known.direction[figure] == "0":
            continue
        if figure in ("longest_prompt_tokens", "free_gib") and pair.pool == "moved":
            continue
        if figure == "free_gib" and not pair.complete:
            continue
        if not _rivals(pair, change, figure):
            return "sole"
    return "none"


def _rivals(pair: Situation, change: Change, figure: str) -> list[str]:
    """Return the other changed settings whose rule touches a figure."""
    found = []
    for other in rivals(change, pair.changes):
        known = knob(other.setting)
        if known is None or not known.curated:
            continue
        if expected(known, figure, direction(other, pair.older, pair.newer)) != 0:
            found.append(other.setting)
    return found


def by_figure(pair: Situation, change: Change, known: Knob, figure: str) -> Decision | None:
    """Judge by one figure that the setting is for; None where it did not move or goes against the rule."""
    effect: Effect = getattr(pair.effects, figure)
    if effect.outcome != "moved" or effect.before is None or effect.after is None:
        return None
    way = direction(change, pair.older, pair.newer)
    wanted = expected(known, figure, way)
    rose = effect.after > effect.before
    if wanted == 0 or (wanted is not None and (wanted == 1) != rose):
        return None
    said = f"{_NAMES[figure]} went from {moved(effect.before, effect.after, _UNITS[figure])}"
    others = _rivals(pair, change, figure)
    own = figure == "max_running_requests" and change.setting == "max_running_requests"
    if figure == "free_gib" and pair.pool == "moved":
        return None
    if others and not own:
        if figure != "free_gib":
            return None
        return Decision(
            "confounded",
            "headroom_shared",
            f"{said}, and {', '.join([change.setting, *others])} could each explain it.",
            None,
            "shared",
        )
    stayed = (
        f"; the pool stayed at {shown(pair.newer.pool_tokens)} tokens" if pair.pool == "unchanged" else ""
    )
    return Decision("effective", _CODES[figure], f"{said}{stayed}.", None, "sole")


def _nothing_logged(pair: Situation, known: Knob) -> bool:
    """Whether every figure that the setting acts on is unknown."""
    acts_on = [f for f in FIGURES if known.direction[f] != "0"]
    return bool(acts_on) and all(getattr(pair.effects, f).outcome == "unknown" for f in acts_on)
