"""Judging a change by the figures: what moved, what the setting's rule says, who else could have done it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import FIGURES, knob, patterns_of
from kvforensics.sizing.facts import facts, first_event
from kvforensics.verdicts import advice
from kvforensics.verdicts.decision import Decision, moved, shown
from kvforensics.verdicts.moves import direction, expected
from kvforensics.verdicts.situation import holds
from kvforensics.verdicts.starts import takes_headroom

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.knowledge import Knob
    from kvforensics.verdicts.attribution import Attribution
    from kvforensics.verdicts.situation import Situation
    from kvforensics.verdicts.verdict import Effect

_ATTENTION_GROUPS = ("enable_dp_attention", "dp_size", "attn_dp_size")
_SAME_BYTES = 0.01
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


def of_pool_input(pair: Situation, change: Change, who: Attribution) -> Decision:
    """Judge a change that may move the pool, by who is credited with the pool's move."""
    pool = pair.effects.pool_tokens
    if who.by == "unknown":
        return _unknown_pool(pair, change)
    if who.by == "not_moved":
        return _pool_unmoved(pair, change, who)
    if change.setting in who.credited:
        return _credited(pair, change)
    if change.setting in who.candidates and who.by == "free_memory":
        return Decision(
            "confounded",
            "free_memory_differs",
            f"The pool went from {moved(pool.before, pool.after)}, and the memory free before loading "
            f"({_free_before(pair)}) explains it; what {change.setting} did cannot be told.",
            "Compare launches that start from the same free memory.",
        )
    if change.setting in who.candidates and who.by in ("several", "version"):
        return _confounded(pair, change, who)
    return _stayed_out(pair, change, who)


def of_other(pair: Situation, change: Change, known: Knob, who: Attribution) -> Decision:
    """Judge a change that is no input of the pool: by what it is for, and by what people take it for."""
    if known.mistaken_for == "pool":
        return _mistaken(pair, change, known, who)
    if change.setting == "max_total_tokens" and pair.pool != "unknown":
        return _cap_beside_memory(pair, change)
    for figure in ("max_running_requests", "longest_prompt_tokens", "free_gib"):
        if known.direction[figure] == "0":
            continue
        found = _by_figure(pair, change, known, figure)
        if found is not None:
            return found
    if _nothing_logged(pair, known):
        return Decision(
            "unproven",
            "figure_not_logged",
            f"What {change.setting} acts on was not logged in both launches.",
        )
    return Decision("no_op", "nothing_moved", f"Nothing that {change.setting} acts on moved. {known.why}")


def lost_to_oom(pair: Situation, change: Change) -> Decision | None:
    """Judge a change that took headroom from a launch which then ran out of GPU memory."""
    if pair.newer.end != "oom" or not _gpu_oom(pair) or not takes_headroom(pair, change):
        return None
    free = pair.effects.free_gib
    if free.outcome == "unknown":
        if change.setting != "mem_fraction_static":
            return None
    elif free.outcome != "moved" or (free.after or 0) > (free.before or 0):
        return None
    rivals = [c for c in pair.changes if c is not change and takes_headroom(pair, c)]
    fraction = pair.changed("mem_fraction_static")
    if change.setting != "mem_fraction_static" and fraction in rivals:
        return None
    return Decision(
        "adverse",
        "headroom_lost_then_oom",
        f"{change.setting} {shown(change.before)} to {shown(change.after)} took memory from what the pools "
        f"leave free ({moved(free.before, free.after, 'GiB')}), and {pair.newer.id} ran out of GPU memory.",
        advice.for_headroom(pair.newer),
        "sole" if not rivals or change.setting == "mem_fraction_static" else "shared",
    )


def _gpu_oom(pair: Situation) -> bool:
    return first_event(pair.newer, "oom_cuda") is not None or facts(pair.newer).on_cpu


def _unknown_pool(pair: Situation, change: Change) -> Decision:
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


def _pool_unmoved(pair: Situation, change: Change, who: Attribution) -> Decision:
    """Judge an input of the pool when the pool stayed: masked, too small to see, or against the rule."""
    pool = pair.effects.pool_tokens
    said = who.alone.get(change.setting)
    if (
        change.setting == "max_total_tokens"
        and pair.binding[1] == "max_total_tokens"
        and pool.before != pool.after
    ):
        return _effective(pair, change, "moved_pool")
    if pair.binding == ("max_total_tokens", "max_total_tokens") and change.setting != "max_total_tokens":
        return _masked_by_cap(pair, change)
    known = knob(change.setting)
    if known is not None:
        found = _on_purpose(pair, change, known, priced=said is not None)
        if found is not None:
            return found
    if pool.outcome == "within_noise" or (said is not None and pool.before is not None):
        expects = "" if said is None else f"; the rule expects about {said:,} tokens"
        return Decision(
            "no_op",
            "within_noise",
            f"The pool went from {moved(pool.before, pool.after)}, which identical launches do too{expects}.",
            advice.for_pool(pair.newer),
        )
    return Decision(
        "no_op",
        "no_effect_seen",
        f"The pool stayed at {shown(pool.after)} tokens, which {change.setting} moves only sometimes. "
        f"{known.why if known else ''}".strip(),
        advice.for_pool(pair.newer),
    )


def _on_purpose(pair: Situation, change: Change, known: Knob, *, priced: bool) -> Decision | None:
    """Judge by another figure that moved: concurrency always, headroom where the pool is not the purpose."""
    for figure in ("max_running_requests", "free_gib"):
        if known.direction[figure] == "0" or (figure == "free_gib" and (priced or known.purpose == "pool")):
            continue
        found = _by_figure(pair, change, known, figure)
        if found is not None:
            return found
    return None


def _masked_by_cap(pair: Situation, change: Change) -> Decision:
    limit = facts(pair.newer).cap
    return Decision(
        "no_op",
        "masked_by_max_total_tokens",
        f"max_total_tokens={shown(limit)} binds before and after, so {change.setting} "
        f"{shown(change.before)} to {shown(change.after)} could not move the pool.",
        advice.for_pool(pair.newer),
    )


def _credited(pair: Situation, change: Change) -> Decision:
    pool = pair.effects.pool_tokens
    way = direction(change, pair.older, pair.newer)
    known = knob(change.setting)
    rose = (pool.after or 0) > (pool.before or 0)
    wanted = expected(known, "pool_tokens", way) if known is not None else None
    for pattern in patterns_of(change.setting):
        if (
            pattern.outcome == "backfire"
            and not rose
            and not pattern.computed
            and holds(pattern, change, way, pair)
        ):
            return _adverse(pair, change, pattern.code, pattern.why, pattern.fix)
    if change.setting in _ATTENTION_GROUPS and not rose and way == 1:
        why = "Each rank keeps more heads of a token, so one rank holds fewer tokens."
        return _adverse(pair, change, "fewer_tokens_per_rank", why, None)
    if wanted in (1, -1) and (wanted == 1) != rose:
        why = "That is against the setting's rule, and nothing else that changed explains it."
        return _adverse(pair, change, "moved_against_its_purpose", why, advice.for_pool(pair.newer))
    if change.setting == "tp_size" and way == 1 and _same_bytes(pair):
        return Decision(
            "clamped",
            "bytes_per_token_stopped_shrinking",
            f"The pool went from {moved(pool.before, pool.after)} through smaller weights alone: a token "
            "costs the same on each GPU as before.",
            None,
            "sole",
        )
    code = next(
        (
            p.code
            for p in patterns_of(change.setting)
            if p.outcome == "live" and not p.computed and holds(p, change, way, pair)
        ),
        "moved_pool",
    )
    return _effective(pair, change, code)


def _effective(pair: Situation, change: Change, code: str) -> Decision:
    pool = pair.effects.pool_tokens
    said = (
        f"{change.setting} {shown(change.before)} to {shown(change.after)} moved the pool from "
        f"{moved(pool.before, pool.after)}"
    )
    free, running = pair.effects.free_gib, pair.effects.max_running_requests
    price = []
    if free.outcome == "moved":
        price.append(f"memory left free went from {moved(free.before, free.after, 'GiB')}")
    if running.outcome == "moved" and not pair.changed("max_running_requests"):
        price.append(f"running requests from {moved(running.before, running.after, 'requests')}")
    said += f"; {', '.join(price)}." if price else "."
    return Decision("effective", code, said, advice.for_context(pair.newer, pair.newer.context_len), "sole")


def _adverse(pair: Situation, change: Change, code: str, why: str, fix: str | None) -> Decision:
    pool = pair.effects.pool_tokens
    return Decision(
        "adverse",
        code,
        f"{change.setting} {shown(change.before)} to {shown(change.after)} took the pool from "
        f"{moved(pool.before, pool.after)}. {why}",
        fix,
        "sole",
    )


def _confounded(pair: Situation, change: Change, who: Attribution) -> Decision:
    pool = pair.effects.pool_tokens
    way = f"The pool went from {moved(pool.before, pool.after)}"
    others = sorted(who.candidates - {change.setting})
    if who.remainder is not None and not others:
        return Decision(
            "confounded",
            "rule_leaves_remainder",
            f"{way}; the rule gives about {who.alone[change.setting]:,} for {change.setting}, and "
            f"{abs(who.remainder):,} tokens {'more' if who.remainder > 0 else 'fewer'} have another cause: "
            "the weights, a token's bytes or the memory free before loading changed too.",
            "Repeat with one change at a time.",
            "shared",
        )
    if pair.version_changed:
        old, new = pair.older.version.newest, pair.newer.version.oldest
        return Decision(
            "confounded",
            "version_changed",
            f"{way}, and the release changed too ({old} to {new}): other things are charged to the pool.",
            "Repeat with one change at a time.",
            "shared",
        )
    return Decision(
        "confounded",
        "several_inputs_changed",
        f"{way}, and {', '.join([change.setting, *others])} could each explain it.",
        "Repeat with one change at a time.",
        "shared",
    )


def _stayed_out(pair: Situation, change: Change, who: Attribution) -> Decision:
    """Judge an input whose own predicted move is none, beside one that is credited."""
    pool = pair.effects.pool_tokens
    way = f"The pool went from {moved(pool.before, pool.after)}"
    if "max_total_tokens" in who.credited:
        return _masked_by_cap(pair, change)
    said = who.alone.get(change.setting)
    return Decision(
        "no_op",
        "within_noise",
        f"{way}; for {change.setting} alone the rule expects "
        + (
            f"about {said:,} tokens, no more than identical launches differ."
            if said is not None
            else "no move."
        ),
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
        return _unknown_pool(pair, change)
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
    return Decision("no_op_for_pool", code, reason, fix, _credit_elsewhere(pair, change, known))


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
        if figure == "longest_prompt_tokens" and pair.pool == "moved":
            continue
        if not _rivals(pair, change, figure):
            return "sole"
    return "none"


def _rivals(pair: Situation, change: Change, figure: str) -> list[str]:
    """Return the other changed settings whose rule touches a figure."""
    found = []
    for other in pair.changes:
        known = knob(other.setting)
        if other is change or other.derived or known is None or not known.curated:
            continue
        if expected(known, figure, direction(other, pair.older, pair.newer)) != 0:
            found.append(other.setting)
    return found


def _by_figure(pair: Situation, change: Change, known: Knob, figure: str) -> Decision | None:
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
    rivals = _rivals(pair, change, figure)
    own = figure == "max_running_requests" and change.setting == "max_running_requests"
    if figure == "free_gib" and pair.pool == "moved":
        return None
    if rivals and not own:
        if figure != "free_gib":
            return None
        return Decision(
            "confounded",
            "headroom_shared",
            f"{said}, and {', '.join([change.setting, *rivals])} could each explain it.",
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


def _same_bytes(pair: Situation) -> bool:
    old, new = facts(pair.older).bytes_shown, facts(pair.newer).bytes_shown
    return old is not None and new is not None and abs(new - old) <= _SAME_BYTES * old


def _free_before(pair: Situation) -> str:
    return moved(pair.older.memory.before_load_gib, pair.newer.memory.before_load_gib, "GiB")
