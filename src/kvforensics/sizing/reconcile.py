"""A launch's budget held against what its own pool lines say was allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.sizing.budget import Budget
from kvforensics.sizing.closure import CLOSES_WITHIN_GIB, explain
from kvforensics.sizing.facts import GIB, HALF_HUNDREDTH_GIB, Facts, facts

if TYPE_CHECKING:
    from kvforensics.launches import Launch


def reconcile(launch: Launch) -> Budget:
    """Derive the pool rule's terms from one launch and say whether they agree.

    Every figure comes from the launch's own lines; a figure that they do not give is None. A budget
    that a known rule keeps from closing (`why_not`) still binds; one that nothing explains does not.
    """
    known = facts(launch)
    rest, pools = known.rest, known.pools_gib
    closure = pools - rest if pools is not None and rest is not None else None
    closes = abs(round(closure, 6)) <= CLOSES_WITHIN_GIB if closure is not None else None
    why_not = None if closure is None or closes else explain(launch, known)
    binding = _binding(known, closes=closes, why_not=why_not)
    hidden = binding in ("max_total_tokens", "pp_min") or why_not == "pool_lines_missing"
    predicted = None if hidden else _predicted(known)
    tokens = launch.pool_tokens
    residual = (predicted - tokens) / tokens * 100 if predicted is not None and tokens else None
    return Budget(
        rest_gib=_rounded(rest),
        pools_gib=_rounded(pools),
        closure_gib=_rounded(closure),
        closes=closes,
        why_not=why_not,
        predicted_tokens=predicted,
        residual_percent=None if residual is None else round(residual, 1) + 0.0,  # never -0.0
        error_percent=_error_percent(known),
        binding=binding,
        bytes_per_token=_bytes_paid(known) if binding == "memory" else None,
    )


def _binding(known: Facts, *, closes: bool | None, why_not: str | None) -> str:
    if known.tokens is None:
        return "unknown"
    if known.cap_binds:
        return "max_total_tokens"
    if why_not == "pp_minimum":
        return "pp_min"
    if known.rest is None or known.rest <= 0 or (closes is False and why_not == "unknown"):
        return "unknown"
    return "memory"


def _bytes_paid(known: Facts) -> int | None:
    """Bytes of one GPU that the budget paid for a token; the state pool's share is not a token's."""
    if known.rest is None or not known.tokens:
        return None
    paid = int((known.rest - (known.state_gib or 0.0)) * GIB / known.tokens)
    return paid if paid > 0 else None


def _predicted(known: Facts) -> int | None:
    shown = known.bytes_shown
    if shown is None or known.rest is None or known.rest <= 0 or known.state_gib is not None:
        return None
    return int(known.rest * GIB) // shown // known.page * known.page


def _error_percent(known: Facts) -> float | None:
    """How far two printed decimals can put the prediction off, each figure by half a hundredth."""
    rest, pools = known.rest, known.pools_gib
    if rest is None or pools is None or rest <= 0 or pools <= 0:
        return None
    error = 2 * HALF_HUNDREDTH_GIB / rest + known.printed_figures * HALF_HUNDREDTH_GIB / pools
    return round(100 * error, 1)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4) + 0.0  # never -0.0
