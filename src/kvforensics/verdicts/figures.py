"""Judging an input of the pool by the pool: who is credited, what the setting's rule says, what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import knob, patterns_of
from kvforensics.sizing.facts import facts, first_event
from kvforensics.verdicts import advice
from kvforensics.verdicts.decision import Decision, moved, shown
from kvforensics.verdicts.moves import direction, expected
from kvforensics.verdicts.purpose import by_figure, unknown_pool
from kvforensics.verdicts.situation import holds, rivals
from kvforensics.verdicts.starts import takes_headroom

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.knowledge import Knob
    from kvforensics.verdicts.attribution import Attribution
    from kvforensics.verdicts.situation import Situation

_ATTENTION_GROUPS = ("enable_dp_attention", "dp_size", "attn_dp_size")
_SAME_BYTES = 0.01


def of_pool_input(pair: Situation, change: Change, who: Attribution) -> Decision:
    """Judge a change that may move the pool, by who is credited with the pool's move."""
    pool = pair.effects.pool_tokens
    if who.by == "unknown":
        return unknown_pool(pair, change)
    if who.by == "hidden":
        return _hidden_by_the_cut(pair, change)
    if who.by == "not_moved":
        return _pool_unmoved(pair, change, who)
    if change.setting in who.credited:
        return _credited(pair, change)
    if change.setting in who.candidates and who.by == "free_memory":
        if pair.pool != "moved":
            return _hidden_by_free_memory(pair, change, who)
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
    others = {c.setting for c in rivals(change, pair.changes) if takes_headroom(pair, c)}
    if "mem_fraction_static" in others:
        return None
    return Decision(
        "adverse",
        "headroom_lost_then_oom",
        f"{change.setting} {shown(change.before)} to {shown(change.after)} took memory from what the pools "
        f"leave free ({moved(free.before, free.after, 'GiB')}), and {pair.newer.id} ran out of GPU memory.",
        advice.for_headroom(pair.newer),
        "sole" if not others or change.setting == "mem_fraction_static" else "shared",
    )


def _gpu_oom(pair: Situation) -> bool:
    return first_event(pair.newer, "oom_cuda") is not None or facts(pair.newer).on_cpu


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
        found = by_figure(pair, change, known, figure)
        if found is not None:
            return found
    return None


def _hidden_by_the_cut(pair: Situation, change: Change) -> Decision:
    pool = pair.effects.pool_tokens
    cut = pair.newer if pair.newer.config.truncated else pair.older
    return Decision(
        "unproven",
        "config_truncated",
        f"The pool went from {moved(pool.before, pool.after)}, and {change.setting} may not be all that "
        f"changed: the settings of {cut.id} are cut off in the log.",
        "Log to where long lines are kept whole, and compare again.",
    )


def _hidden_by_free_memory(pair: Situation, change: Change, who: Attribution) -> Decision:
    pool = pair.effects.pool_tokens
    return Decision(
        "confounded",
        "free_memory_differs",
        f"The pool stayed at about {shown(pool.before)} tokens, where the rule gives about "
        f"{who.alone[change.setting]:,} for {change.setting} alone: the memory free before loading "
        f"({_free_before(pair)}) changed too.",
        "Compare launches that start from the same free memory.",
        "shared",
    )


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


def _same_bytes(pair: Situation) -> bool:
    old, new = facts(pair.older).bytes_shown, facts(pair.newer).bytes_shown
    return old is not None and new is not None and abs(new - old) <= _SAME_BYTES * old


def _free_before(pair: Situation) -> str:
    return moved(pair.older.memory.before_load_gib, pair.newer.memory.before_load_gib, "GiB")
