"""Findings about two launches in a row: a pool that moved, and memory that was not the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.changes import diff
from kvforensics.findings.scene import Finding, Scene, finding
from kvforensics.sizing.facts import facts
from kvforensics.verdicts.attribution import attribute, free_memory_explains
from kvforensics.verdicts.effects import baseline
from kvforensics.verdicts.judge import situation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kvforensics.launches import Launch
    from kvforensics.verdicts.situation import Situation

_DIFFERS = 0.05


def of_pair(scene: Scene, earlier: Sequence[Launch], newer: Launch) -> Iterator[Finding]:
    """Yield what the newer launch shows against those before it (oldest first)."""
    base = baseline(earlier, "pool_tokens")
    tokens = base.pool_tokens if base is not None else None
    moves = tokens is not None and newer.pool_tokens is not None and tokens != newer.pool_tokens
    pair = situation(earlier, newer, diff(earlier[-1], newer), scene.budgets) if moves else None
    yield from _free_memory(scene, earlier, newer, pair)
    if pair is not None:
        yield from _pool(scene, pair)


def _free_memory(
    scene: Scene, earlier: Sequence[Launch], newer: Launch, pair: Situation | None
) -> Iterator[Finding]:
    """Yield free memory before loading that differs by 5 %, or that explains a pool which moved."""
    before = next((e for e in reversed(earlier) if e.memory.before_load_gib), None)
    after = newer.memory.before_load_gib
    old = before.memory.before_load_gib if before is not None else None
    if before is None or old is None or after is None:
        return
    explains = pair is not None and pair.pool == "moved" and free_memory_explains(pair)
    if not explains and abs(after - old) <= _DIFFERS * old:
        return
    said = f"{before.id} found {old:.2f} GiB free before loading, {newer.id} {after:.2f} GiB"
    if explains and pair is not None:
        way = f"{pair.older.pool_tokens:,} to {newer.pool_tokens:,} tokens"
        said += f"; that, and no setting, took the pool from {way}"
    yield finding(
        "free_memory_differs",
        newer,
        f"{abs(after - old):.2f} GiB {'less' if after < old else 'more'} memory was free before loading",
        said
        + ". The pool takes its share of what is free, so that another process on the card makes it smaller.",
        "Look for what else used the GPU at that time (nvidia-smi), before blaming a setting.",
        at=newer.started_at,
        evidence=scene.evidence(newer, "before_load", "pool_tokens"),
        severity=None if explains or not facts(newer).on_cpu else "info",
    )


def _pool(scene: Scene, pair: Situation) -> Iterator[Finding]:
    """Yield a pool that moved though nobody explains it, or only the release does."""
    pool = pair.effects.pool_tokens
    if pair.pool != "moved" or pool.before is None or pool.after is None or not _configs_known(pair):
        return
    who = attribute(pair)
    way = f"from {pool.before:,} to {pool.after:,} tokens"
    places = (*scene.evidence(pair.newer, "pool_tokens"), *scene.evidence(pair.older, "pool_tokens"))
    if who.by == "version":
        old, new = pair.older.version.newest, pair.newer.version.oldest
        yield finding(
            "pool_moved_by_upgrade",
            pair.newer,
            f"The pool went {way} with the release ({old} to {new})",
            "Releases charge other things to the pool: draft models, request slots, cache layouts.",
            "Compare the budgets of both launches; set the fraction anew for the new release.",
            evidence=places,
            severity="warning" if pool.after < pool.before else "info",
        )
    elif who.by == "nobody":
        yield finding(
            "pool_moved_unexplained",
            pair.newer,
            f"The pool went {way}, and nothing that the log shows explains it",
            _what_else(pair),
            "Look for an edit outside the settings: the checkpoint, environment variables, another process "
            "that came while the weights were loaded.",
            evidence=places,
        )


def _configs_known(pair: Situation) -> bool:
    """Whether both launches' settings are known well enough to say that none explains the pool."""
    return all(
        one.config.source not in ("none", "partial") and not one.config.truncated
        for one in (pair.older, pair.newer)
    )


def _what_else(pair: Situation) -> str:
    old, new = facts(pair.older), facts(pair.newer)
    if old.before is None or new.before is None or old.after is None or new.after is None:
        return "No setting that sizes the pool changed; the memory lines are not there to compare."
    before, after = old.before - old.after, new.before - new.after
    return (
        f"No setting that sizes the pool changed. Before loading {old.before:.2f} and {new.before:.2f} GiB "
        f"were free; the weights took {before:.2f} and {after:.2f} GiB."
    )
