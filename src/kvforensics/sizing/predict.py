"""The pool under another setting, anchored on one real launch; refused where the rule does not hold.

`T(f') = T + P*(f'-f)*2^30 / cell` with `cell = rest/T`: what the launch's budget paid for a token, so that
the drift between the printed and the measured memory is the same on both sides and cancels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.errors import PredictionRefusedError, UsageError
from kvforensics.sizing.admission import longest_prompt, running_requests
from kvforensics.sizing.anchor import LEAST_REST_GIB, Anchor, anchor, refuse_moving_context
from kvforensics.sizing.facts import GIB, HALF_HUNDREDTH_GIB, facts, is_plain, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.launches import Launch
    from kvforensics.sizing.facts import Facts

SUPPORTED = ("mem_fraction_static", "context_length", "max_total_tokens")


class Prediction(Struct, frozen=True):
    """A pool that was not seen: tokens with their 95 % interval, and what follows. None is unknown."""

    tokens: int
    low: int
    high: int
    longest_prompt_tokens: int | None
    max_running_requests: int | None
    free_gib: float | None
    assumptions: tuple[str, ...] = ()


def predict(launch: Launch, settings: Mapping[str, Any]) -> Prediction:
    """Predict a launch under other settings (`SUPPORTED`; the rest as they are).

    Raises `UsageError` for a value that no server takes, `PredictionRefusedError` where the rule does not
    hold for this launch.
    """
    wanted = _checked(settings)
    known = facts(launch)
    if launch.pool_tokens is None or known.tokens is None:
        raise PredictionRefusedError("no_pool", f"{launch.id} logged no pool to start from")
    context = _context(launch, wanted)
    if "context_length" in wanted:
        refuse_moving_context(launch, context)
    pool = _pool(launch, known, wanted)
    tokens, low, high = pool.tokens, pool.low, pool.high
    return replace(
        pool,
        low=max(0, min(low, tokens)),
        high=max(high, tokens),
        longest_prompt_tokens=longest_prompt(launch, tokens, context),
        max_running_requests=running_requests(launch, tokens, context),
        free_gib=free_after(launch, known, tokens),
        assumptions=(*pool.assumptions, *_about_memory(launch, known, tokens)),
    )


def free_after(launch: Launch, known: Facts, tokens: int) -> float | None:
    """Return today's free memory less what the pools' own lines show the added tokens to take, in GiB."""
    if launch.free_gib is None or launch.pool_tokens is None:
        return None
    if tokens == launch.pool_tokens:
        return launch.free_gib
    shown = known.bytes_shown
    if shown is None:
        return None
    return round(launch.free_gib - (tokens - launch.pool_tokens) * shown / GIB, 2)


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in settings.items():
        if name not in SUPPORTED:
            raise PredictionRefusedError(
                "unsupported_setting",
                f"no rule predicts the pool from {name}; {', '.join(SUPPORTED)} can be asked about",
            )
        asked = number(value)
        if name == "mem_fraction_static":
            if asked is None or not 0 < asked < 1:
                raise UsageError(f"mem_fraction_static takes a fraction between 0 and 1, not {value!r}")
        elif value is not None and (asked is None or asked < 1 or asked != int(asked)):
            raise UsageError(f"{name} takes a whole number of tokens, not {value!r}")
    return dict(settings)


def _context(launch: Launch, wanted: Mapping[str, Any]) -> int | None:
    value = wanted.get("context_length")
    return int(value) if value is not None else launch.context_len


def _pool(launch: Launch, known: Facts, wanted: Mapping[str, Any]) -> Prediction:
    """Predict the pool alone: the fraction first, then the cap over it."""
    today = launch.pool_tokens or 0
    same = _exactly(today, ())
    cap = known.cap if "max_total_tokens" not in wanted else _whole(wanted["max_total_tokens"])
    asked = number(wanted.get("mem_fraction_static"))
    if known.cap_binds:
        if cap is not None and cap <= today and _not_lowered(known, asked):
            lower = cap // known.page * known.page
            masked = f"max_total_tokens={known.cap} binds: it, and not memory, sizes the pool of {launch.id}"
            return _exactly(min(lower, today), (masked,))
        return _under_a_cap(launch, known, cap, asked)
    if asked is None or (known.fraction is not None and asked == known.fraction):
        pool = same
    else:
        pool = _moved(known, anchor(launch), asked)
    return _capped(pool, cap, known.page)


def _moved(known: Facts, base: Anchor, asked: float) -> Prediction:
    delta = asked - base.fraction
    budget = base.rest + base.before * delta
    if budget < LEAST_REST_GIB:
        raise PredictionRefusedError(
            "start_would_fail",
            f"mem_fraction_static {asked:g} would leave the pools {budget:.2f} GiB; below {LEAST_REST_GIB} "
            "GiB the server may not start and no figure can be trusted",
        )
    added = base.before * delta * GIB / base.cell
    tokens = int(base.tokens + added) // known.page * known.page
    printed = HALF_HUNDREDTH_GIB * (2 - base.fraction)
    half = int(abs(added) * (printed + known.drift) / base.rest + known.drift * GIB / base.cell) + known.page
    said = (
        f"again {base.before:.2f} GiB are free before loading; version, model, layout and dtype stay",
        f"a token costs the budget {base.cell:,.0f} bytes on each GPU, as at {base.launch}",
    )
    return Prediction(tokens, tokens - half, tokens + half, None, None, None, said)


def _under_a_cap(launch: Launch, known: Facts, cap: int | None, asked: float | None) -> Prediction:
    """Predict where today's cap hides what memory would hold; the pools' own lines price a token."""
    surely = known.holds_at_least if is_plain(launch) else None
    if cap is not None and surely is not None and cap <= surely and _not_lowered(known, asked):
        said = f"memory surely holds {surely:,} tokens, so that the cap alone sizes the pool"
        return _exactly(cap // known.page * known.page, (said,))
    base = anchor(launch, hidden=True)
    if asked is not None and asked != base.fraction:
        pool = _moved(known, base, asked)
    else:
        half = int(base.tokens * (known.drift + 2 * HALF_HUNDREDTH_GIB) / base.rest) + known.page
        pool = Prediction(base.tokens, base.tokens - half, base.tokens + half, None, None, None)
    said = f"what memory would hold without the cap follows from {base.rest:.2f} GiB and the pool's own line"
    return replace(_capped(pool, cap, known.page), assumptions=(*pool.assumptions, said))


def _not_lowered(known: Facts, asked: float | None) -> bool:
    return asked is None or (known.fraction is not None and asked >= known.fraction)


def _capped(pool: Prediction, cap: int | None, page: int) -> Prediction:
    if cap is None or cap > pool.high:
        return pool
    limit = cap // page * page
    said = (*pool.assumptions, f"max_total_tokens={cap} limits the pool")
    return replace(
        pool,
        tokens=min(pool.tokens, limit),
        low=min(pool.low, limit),
        high=min(pool.high, limit),
        assumptions=said if limit < pool.tokens else pool.assumptions,
    )


def _exactly(tokens: int, said: tuple[str, ...]) -> Prediction:
    return Prediction(tokens, tokens, tokens, None, None, None, said)


def _whole(value: Any) -> int | None:
    found = number(value)
    return None if found is None else int(found)


def _about_memory(launch: Launch, known: Facts, tokens: int) -> tuple[str, ...]:
    free = free_after(launch, known, tokens)
    if free is None:
        return ("how much memory would stay free is not known from this log",)
    if free < 0:
        return (f"the pools would take {-free:.2f} GiB more than is free today: the server would run out",)
    return ()
