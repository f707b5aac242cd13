"""What to do instead, with the numbers that the sizing rule gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.errors import KvforensicsError, PredictionRefusedError
from kvforensics.sizing import solve
from kvforensics.sizing.anchor import anchor
from kvforensics.sizing.facts import GIB, facts

if TYPE_CHECKING:
    from kvforensics.launches import Launch


def for_context(launch: Launch, context: int | None) -> str | None:
    """Say which setting gives the pool that a context length asks for; None where the pool has it."""
    tokens = launch.pool_tokens
    if context is None or tokens is None or tokens >= context:
        return None
    try:
        answer = solve(launch, context)
    except PredictionRefusedError as refused:
        known = facts(launch)
        what = "raise or drop max_total_tokens" if known.cap_binds else "raise mem_fraction_static"
        return (
            f"Only a larger pool helps a context of {context:,}: {what}. "
            f"By how much cannot be said: {refused.message}."
        )
    except KvforensicsError:
        return None
    if not answer.solutions:
        return f"No setting of this launch gives {context:,} tokens: {answer.reason}."
    best = answer.solutions[0]
    asked = " and ".join(f"{name} {value}" for name, value in best.set.items())
    said = f"A pool of {context:,} tokens needs {asked} (about {best.predicted_pool_tokens:,} tokens"
    if best.free_gib is not None:
        said += f", leaves about {best.free_gib:.1f} GiB"
    said += ")"
    for other in answer.solutions[1:]:
        named = " and ".join(f"{name} {value}" for name, value in other.set.items())
        said += f"; or {named} (about {other.predicted_pool_tokens:,} tokens)"
    return said + "."


def for_pool(launch: Launch) -> str | None:
    """Say what truly moves the pool of a launch, and by how much."""
    known = facts(launch)
    if known.cap_binds:
        said = f"max_total_tokens={known.cap} sizes the pool; raise or drop it"
        held = _held_by_memory(launch)
        return said + (f": memory would hold about {held:,} tokens." if held else ".")
    try:
        base = anchor(launch)
    except KvforensicsError:
        return "The pool is sized by mem_fraction_static, the cache dtype and what the weights take."
    step = int(0.01 * base.before * GIB / base.cell)
    return (
        f"mem_fraction_static moves the pool: each 0.01 gives about {step:,} tokens "
        f"({0.01 * base.before:.2f} GiB)."
    )


def for_small_budget(launch: Launch) -> str | None:
    """Say above which fraction the weights of a failed start leave anything for the pools."""
    known = facts(launch)
    if known.before is None or known.after is None or known.before <= 0:
        return None
    least = 1 - known.after / known.before
    return f"The weights alone take a fraction of {least:.4f}; mem_fraction_static must be well above it."


def for_headroom(launch: Launch) -> str:
    """Say what frees memory for a launch that ran out of it after its pool stood."""
    said = "Lower mem_fraction_static, chunked_prefill_size or the graph sizes; the pool is not the shortage."
    known = facts(launch)
    if known.before is not None:
        said += f" Each 0.01 of the fraction frees {0.01 * known.before:.2f} GiB."
    return said


def _held_by_memory(launch: Launch) -> int | None:
    try:
        return anchor(launch, hidden=True).tokens
    except KvforensicsError:
        return None
