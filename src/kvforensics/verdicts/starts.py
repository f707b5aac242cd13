"""Changes around a failed start: which of them it accuses, and which the next start clears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import knob
from kvforensics.sizing.facts import first_event, number
from kvforensics.verdicts import advice
from kvforensics.verdicts.decision import Decision, shown
from kvforensics.verdicts.failure import failure, names
from kvforensics.verdicts.moves import direction, expected
from kvforensics.verdicts.situation import rivals

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.knowledge import Knob
    from kvforensics.verdicts.failure import Failure
    from kvforensics.verdicts.situation import Situation

_WEIGHTS = ("model", "parallelism", "hicache/offload", "reserves_memory", "spec_decode")
_MAY_SHRINK = (-1, None)


def of_failed_start(pair: Situation, change: Change, pattern_code: str | None) -> Decision:
    """Judge a change whose launch never became ready: adverse where the failure is its doing.

    A start that failed for memory accuses every change that takes the memory which was short; one that
    failed over a setting accuses that setting; the rest stays unproven.
    """
    cause = failure(pair.newer)
    named = names(pair.newer, change.setting) and not _clears_itself(pair, change, cause)
    if named or pattern_code is not None:
        return _refused(pair, change, cause, pattern_code)
    if cause.about_memory and accused(pair, change, cause):
        others = [c for c in rivals(change, pair.changes) if accused(pair, c, cause)]
        return Decision(
            "adverse",
            "start_failed_for_memory",
            f"{pair.newer.id} failed to start: {cause.text}"
            + (f" during {cause.phase.replace('_', ' ')}" if cause.phase else "")
            + f", and {change.setting} {shown(change.before)} to {shown(change.after)} takes that memory.",
            _advice(pair, cause),
            "shared" if others else "sole",
        )
    if names(pair.newer, change.setting):
        return Decision(
            "unproven",
            "not_enough_to_start",
            f"{change.setting} {shown(change.before)} to {shown(change.after)} goes the way that the failure "
            f"asks for, and {pair.newer.id} failed all the same: {cause.text}.",
            _advice(pair, cause),
        )
    return Decision(
        "unproven",
        "start_failed_for_another_cause",
        f"{pair.newer.id} never became ready ({cause.text}), so nothing shows what {change.setting} does.",
    )


def accused(pair: Situation, change: Change, cause: Failure) -> bool:
    """Whether a change takes the memory that a launch was short of."""
    known = knob(change.setting)
    if known is None or change.derived:
        return False
    way = direction(change, pair.older, pair.newer)
    pool = expected(known, "pool_tokens", way)
    if cause.cause == "not_enough_memory":
        return pool == -1 or (pool is None and known.curated)
    if cause.phase is None:
        return False
    if cause.phase == "load":
        return known.role in _WEIGHTS and _touches_weights(known) and pool in _MAY_SHRINK
    if cause.phase == "sizing":
        return pool == 1 or (pool is None and known.curated)
    return takes_headroom(pair, change)


def takes_headroom(pair: Situation, change: Change) -> bool:
    """Whether a change leaves less memory free once the pools stand."""
    known = knob(change.setting)
    if known is None or not known.curated or change.derived:
        return False
    way = direction(change, pair.older, pair.newer)
    if known.direction["free_gib"] == "±":
        return way != 0 and known.purpose in ("pool", "speed", "concurrency")
    return expected(known, "free_gib", way) == -1


def of_recovery(pair: Situation, change: Change) -> Decision | None:
    """Judge a change after a failed start where no figure can: None where the effects can.

    Without any launch that has a pool, only the failure's own line proves that the change helped. A value
    that is back at the last good launch's, or that took the memory which was short, cured the start.
    """
    if pair.before.end != "failed_start" or pair.newer.ready_at is None:
        return None
    cause = failure(pair.before)
    named = names(pair.before, change.setting)
    if pair.pool == "unknown":
        return _cured(pair, change, cause) if named else _no_base(pair)
    accused_of = cause.about_memory and _was_accused(pair, change, cause)
    if pair.older is pair.before:
        return _cured(pair, change, cause) if accused_of and not _moved_the_pool(pair, change) else None
    if pair.changed(change.setting) is not None:
        return None
    return _cured(pair, change, cause) if named or accused_of else _reverted(pair, change)


def _cured(pair: Situation, change: Change, cause: Failure) -> Decision:
    others = [
        c
        for c in rivals(change, pair.steps)
        if names(pair.before, c.setting) or (cause.about_memory and _was_accused(pair, c, cause))
    ]
    return Decision(
        "effective",
        "start_recovered",
        f"{pair.before.id} failed to start ({cause.text}); with {change.setting} "
        f"{shown(change.after)} {pair.newer.id} started.",
        None,
        "shared" if others else "sole",
    )


def _no_base(pair: Situation) -> Decision:
    return Decision(
        "unproven",
        "no_good_launch_before",
        f"{pair.before.id} failed to start and no launch before it has the figures to measure against.",
    )


def _reverted(pair: Situation, change: Change) -> Decision:
    return Decision(
        "unproven",
        "reverted_before_it_ran",
        f"{change.setting} is back at what {pair.older.id} had; {pair.before.id} failed before it showed "
        "anything of the other value.",
    )


def _moved_the_pool(pair: Situation, change: Change) -> bool:
    """Whether the pool's own figures judge the change: it sizes the pool, and the pool moved."""
    known = knob(change.setting)
    return pair.pool == "moved" and known is not None and known.direction["pool_tokens"] != "0"


def _was_accused(pair: Situation, change: Change, cause: Failure) -> bool:
    """Whether going the other way is what the failed start was accused of."""
    known = knob(change.setting)
    if known is None:
        return False
    way = direction(change, pair.before, pair.newer)
    if cause.cause == "not_enough_memory":
        return expected(known, "pool_tokens", way) == 1
    return expected(known, "free_gib", way) == 1 or expected(known, "pool_tokens", way) == -1


def _clears_itself(pair: Situation, change: Change, cause: Failure) -> bool:
    """Whether a line names the setting as the cure, and the change already went that way."""
    known = knob(change.setting)
    if cause.cause != "not_enough_memory" or known is None:
        return False
    return expected(known, "pool_tokens", direction(change, pair.older, pair.newer)) == 1


def _refused(pair: Situation, change: Change, cause: Failure, pattern_code: str | None) -> Decision:
    code = pattern_code or ("start_failed_for_memory" if cause.about_memory else "start_refused_setting")
    said = f"{pair.newer.id} failed to start over {change.setting} {shown(change.after)}: {cause.text}"
    limit = _derived_limit(pair)
    if cause.cause == "context_rejected" and limit is not None:
        said += f" ({limit:,} tokens)"
        return Decision("adverse", code, said + ".", _context_advice(limit), "sole")
    return Decision("adverse", code, said + ".", _advice(pair, cause), "sole")


def _derived_limit(pair: Situation) -> int | None:
    event = first_event(pair.newer, "context_rejected")
    limit = number(event.fields.get("derived")) if event else None
    return None if limit is None else int(limit)


def _context_advice(limit: int) -> str:
    return (
        f"Set context_length to at most {limit:,}, extend the model by rope scaling in "
        "json_model_override_args, or set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1."
    )


def _advice(pair: Situation, cause: Failure) -> str | None:
    if cause.cause == "not_enough_memory":
        return advice.for_small_budget(pair.newer)
    if cause.cause == "oom":
        return advice.for_headroom(pair.newer)
    return None


def _touches_weights(known: Knob) -> bool:
    return known.direction["pool_tokens"] != "0"
