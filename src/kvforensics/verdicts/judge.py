"""Changes, knobs and sizing become verdicts: one for each change of a pair of launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from kvforensics.changes import diff
from kvforensics.knowledge import knob, patterns_of
from kvforensics.sizing.facts import number
from kvforensics.verdicts import advice
from kvforensics.verdicts.attribution import attribute
from kvforensics.verdicts.candidates import leaders_of, may_move_pool
from kvforensics.verdicts.cuts import of_cut
from kvforensics.verdicts.decision import Decision, shown
from kvforensics.verdicts.effects import baseline, effects, noise
from kvforensics.verdicts.failure import names
from kvforensics.verdicts.figures import lost_to_oom, of_pool_input
from kvforensics.verdicts.moves import direction
from kvforensics.verdicts.purpose import of_other
from kvforensics.verdicts.situation import Situation, holds, pattern_facts
from kvforensics.verdicts.starts import of_failed_start, of_recovery
from kvforensics.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.changes import Change
    from kvforensics.knowledge import Facts, Knob, Pattern
    from kvforensics.launches import Launch
    from kvforensics.sizing import Budget
from kvforensics.verdicts.attribution import Attribution

_NO_OPS = ("inert", "masked", "noise")
_PURPOSES = ("pool", "admission", "concurrency", "headroom")


def judge_pair(
    earlier: Sequence[Launch], newer: Launch, changes: Sequence[Change], budgets: Mapping[str, Budget]
) -> list[Verdict]:
    """Judge the changes from the last of `earlier` (oldest first) to `newer`."""
    if not changes:
        return []
    pair = situation(earlier, newer, changes, budgets)
    who = attribute(pair)
    leaders = leaders_of(pair)
    decided = {
        c.setting: decide(pair, c, who)
        for c in pair.steps
        if not c.derived and leaders.get(c.setting, c.setting) == c.setting
    }
    found = []
    for change, step in zip(changes, pair.steps, strict=True):
        decision = decided.get(change.setting)
        if decision is None:
            decision = _of_follower(pair, step, decided, leaders)
        if decision is None:
            decision = decide(pair, step, who)
        found.append(
            Verdict(
                change=change,
                verdict=decision.verdict,
                reason_code=decision.code,
                reason=decision.reason,
                advice=decision.advice,
                effects=pair.effects,
                attribution=decision.attribution,
            )
        )
    return found


def situation(
    earlier: Sequence[Launch], newer: Launch, changes: Sequence[Change], budgets: Mapping[str, Budget]
) -> Situation:
    """Return the pair as the rules see it; the pool's baseline may be older than the launch before."""
    before = earlier[-1]
    older = baseline(earlier, "pool_tokens") or before
    net = tuple(changes) if older is before else tuple(diff(older, newer))
    known = pattern_facts(older, newer, budgets)
    net, steps = _by_the_engine(net, newer, known), _by_the_engine(tuple(changes), newer, known)
    return Situation(
        before=before,
        older=older,
        newer=newer,
        changes=_with_causes(net),
        steps=_with_causes(steps),
        effects=effects(newer, earlier, budgets),
        budgets=budgets,
        noise=noise(older, newer, budgets),
        known=known,
    )


def _by_the_engine(changes: tuple[Change, ...], newer: Launch, known: Facts) -> tuple[Change, ...]:
    """Return the changes; a fraction that is the old one times a factor of the engine's is a derived one.

    `server_args` shows the product since 0.5.5: aiter multiplies by 0.85 when the context passes 8192.
    """
    factors = [
        p.factor
        for c in changes
        for p in patterns_of(c.setting)
        if p.outcome == "backfire" and p.factor and p.applies(c.setting, newer.version, known) is True
    ]
    return tuple(
        replace(c, derived=True)
        if c.setting == "mem_fraction_static" and any(_is_product(c, factor) for factor in factors)
        else c
        for c in changes
    )


def _is_product(change: Change, factor: float) -> bool:
    before, after = number(change.before), number(change.after)
    return before is not None and after is not None and abs(before * factor - after) < _ROUNDED


_ROUNDED = 0.0011  # fractions are printed with three decimals


def _with_causes(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return the changes; a derived one that nothing here is the cause of stands for itself.

    The engine computed it from something that the log does not show, the machine's memory say, and its
    value is an input like any other.
    """
    names = {c.setting for c in changes if not c.derived}
    return tuple(
        replace(c, derived=False)
        if c.derived and not names & set(known.derived_from if (known := knob(c.setting)) else ())
        else c
        for c in changes
    )


def decide(pair: Situation, change: Change, who: Attribution) -> Decision:
    """Judge one change: the start, cuts and replacements, patterns, the pool, then its own purpose."""
    known = knob(change.setting)
    pattern = _pattern(pair, change)
    innocent = _is_innocent(known, pattern)
    if pair.newer.end == "failed_start" and (not innocent or names(pair.newer, change.setting)):
        return of_failed_start(
            pair, change, pattern.code if pattern and pattern.outcome == "not_applied" else None
        )
    recovered = None if innocent else of_recovery(pair, change)
    if recovered is not None:
        return recovered
    cut = of_cut(pair, change, pattern, who)
    if cut is not None:
        return cut
    if known is None or innocent:
        return Decision(
            "no_op",
            "not_a_memory_setting",
            known.why if known is not None else f"No rule ties {change.setting} to the pool or to memory.",
        )
    net = pair.changed(change.setting) or change
    if pattern is not None and pattern.outcome in _NO_OPS:
        return Decision("no_op", pattern.code, _said(pair, net, pattern), _fix(pair, pattern))
    lost = lost_to_oom(pair, net)
    if lost is not None:
        return lost
    if may_move_pool(pair, net):
        return of_pool_input(pair, net, who)
    if pattern is not None and pattern.outcome == "moved" and not known.mistaken_for:
        return _moved_elsewhere(pair, net, known, pattern, who)
    return of_other(pair, net, known, who)


def _pattern(pair: Situation, change: Change) -> Pattern | None:
    """Return the first no-op pattern that is proven for a change; arithmetic ones are judged elsewhere."""
    way = direction(change, pair.older, pair.newer)
    found = [p for p in patterns_of(change.setting) if not p.computed and holds(p, change, way, pair)]
    order = ("not_applied", "overridden", "clamped", "inert", "masked", "live", "backfire", "moved", "noise")
    version = pair.newer.version
    ranked = sorted(
        (p for p in found if p.outcome in order and _fits_the_pool(pair, p)),
        key=lambda p: (
            order.index(p.outcome),
            not p.when or p.applies(change.setting, version, pair.known) is not True,
        ),
    )
    return ranked[0] if ranked else None


def _fits_the_pool(pair: Situation, pattern: Pattern) -> bool:
    """Whether a pattern can still be true of a pool that moved."""
    if pair.pool != "moved":
        return True
    if pattern.outcome == "noise":
        return False
    return not (pattern.outcome == "masked" and pattern.by in ("pp_stage", "reserve_floor"))


def _is_innocent(known: Knob | None, pattern: Pattern | None) -> bool:
    """Whether no rule ties a setting to pool, admission, concurrency or memory."""
    if pattern is not None and pattern.outcome not in ("noise", "not_an_input"):
        return False
    if known is None:
        return True
    if known.mistaken_for or known.purpose in _PURPOSES:
        return False
    return not known.affects


def _fix(pair: Situation, pattern: Pattern) -> str | None:
    """Return a pattern's fix, with numbers where the rule gives them."""
    numbers = None
    if pattern.code == "masked_by_max_total_tokens":
        numbers = advice.for_pool(pair.newer)
    elif pattern.code == "masked_by_pool":
        numbers = advice.for_context(pair.newer, pair.newer.context_len)
    return numbers or pattern.fix


def _said(pair: Situation, change: Change, pattern: Pattern) -> str:
    pool = pair.effects.pool_tokens
    said = f"{change.setting} {shown(change.before)} to {shown(change.after)} changes nothing here: "
    said += pattern.why[:1].lower() + pattern.why[1:]
    if pattern.code == "masked_by_pool" and pair.newer.longest_prompt_tokens is not None:
        stays = "stays at" if pair.pool != "moved" else "follows the pool:"
        said += f" The longest prompt {stays} {pair.newer.longest_prompt_tokens:,} tokens."
    elif pattern.outcome == "masked" and pool.after is not None and pool.outcome != "moved":
        said += f" The pool stays at {pool.after:,} tokens."
    return said


def _moved_elsewhere(
    pair: Situation, change: Change, known: Knob, pattern: Pattern, who: Attribution
) -> Decision:
    """Judge a setting that acts on something else than its figures show."""
    if known.affects and pattern.moved not in ("admission", "attention_backend"):
        found = of_other(pair, change, known, who)
        if found.verdict != "no_op":
            return found
        return replace(found, advice=found.advice or pattern.fix)
    return Decision("effective", pattern.code, pattern.why, pattern.fix, "none")


def _of_follower(
    pair: Situation, change: Change, decided: Mapping[str, Decision], leaders: Mapping[str, str]
) -> Decision | None:
    """Judge what follows another change: a derived value its cause, a feature's setting the switch."""
    known = knob(change.setting)
    leader = leaders.get(change.setting)
    if leader is not None and leader != change.setting and leader in decided:
        lead = decided[leader]
        return replace(
            lead,
            code="judged_with_switch",
            reason=f"Edited together with {leader}, which is judged for both: {lead.reason}",
        )
    if not change.derived or known is None:
        return None
    causes = [c for c in pair.changes if c.setting in known.derived_from and c.setting in decided]
    if not causes:
        return None
    cause = min(causes, key=lambda c: known.derived_from.index(c.setting))
    lead = decided[cause.setting]
    return replace(
        lead,
        code="derived_from_another_setting",
        reason=f"The engine computed {change.setting} from {cause.setting}, which is judged: {lead.reason}",
        attribution="none",
    )
