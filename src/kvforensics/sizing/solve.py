"""Which settings give a context its pool: the least memory fraction, and what else the rule can price."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.errors import PredictionRefusedError, UsageError
from kvforensics.sizing.anchor import anchor
from kvforensics.sizing.closure import eagle_addend
from kvforensics.sizing.facts import GIB, Facts, facts, first_event
from kvforensics.sizing.predict import Prediction, free_after, predict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.launches import Launch

_STEPS = 1000  # fractions are given to three decimals
_TIGHT_GIB = 1.0
_CHUNK_MIB_PER_TOKEN = 1.5  # the engine's own estimate of activations, server_args.py:1439@0.5.11
_TWO_BYTES = frozenset({"torch.bfloat16", "torch.float16", "bfloat16", "float16", "bf16"})


class Solution(Struct, frozen=True):
    """Settings that reach the need, and what they are predicted to give."""

    set: Mapping[str, Any]
    predicted_pool_tokens: int
    low: int
    high: int
    free_gib: float | None
    risk: str


class Answer(Struct, frozen=True):
    """Solutions in the order to try them; `reason` says why there is none, or that none is needed."""

    mem_fraction_static: float | None = None
    solutions: tuple[Solution, ...] = ()
    reason: str | None = None
    assumptions: tuple[str, ...] = field(default=())


def solve(launch: Launch, need_context: int) -> Answer:
    """Find settings whose pool and context length are at least `need_context` tokens.

    Raises `UsageError` for a need below one token, `PredictionRefusedError` where the rule does not hold.
    """
    if need_context < 1:
        raise UsageError("a context of at least one token is needed")
    known = facts(launch)
    if launch.pool_tokens is None:
        raise PredictionRefusedError("no_pool", f"{launch.id} logged no pool to start from")
    context = _context(launch, need_context)
    if launch.pool_tokens >= need_context:
        return _already(launch, known, context, need_context)
    if known.cap is not None and known.cap < need_context:
        return _by_cap(launch, known, context, need_context)
    fraction, reason, best = _least_fraction(launch, known, need_context, {})
    found = [] if fraction is None or best is None else [_by_fraction(launch, fraction, best, context)]
    narrower = _by_dtype(launch, known, context, need_context)
    solutions = (*found, *([narrower] if narrower else []))
    said = best.assumptions if best is not None else ()
    return Answer(fraction, solutions, None if solutions else reason, said)


def _context(launch: Launch, need: int) -> dict[str, Any]:
    """Return the context length to set where today's is smaller, or not known."""
    return {} if launch.context_len is not None and launch.context_len >= need else {"context_length": need}


def _already(launch: Launch, known: Facts, context: dict[str, Any], need: int) -> Answer:
    tokens = launch.pool_tokens or 0
    if not context:
        return Answer(known.fraction, (), f"{launch.id} has it: a pool of {tokens:,} tokens and the context")
    predict(launch, context)  # refuses where the context itself would move the pool
    risk = f"The pool of {tokens:,} tokens holds {need:,} already. " + _of_context(launch, context)
    return Answer(
        known.fraction, (Solution(context, tokens, tokens, tokens, launch.free_gib, risk.strip()),), None
    )


def _by_cap(launch: Launch, known: Facts, context: dict[str, Any], need: int) -> Answer:
    """Raise a cap below the need, and the fraction too where memory holds less than the need."""
    lifted = -(-need // known.page) * known.page
    cap = {"max_total_tokens": lifted}
    held = predict(launch, cap)
    if held.tokens >= need and held.low >= need:
        risk = f"{_risk(launch, held)} {_of_context(launch, context)}".strip()
        return Answer(
            known.fraction,
            (Solution(cap | context, held.tokens, held.low, held.high, held.free_gib, risk),),
            None,
            held.assumptions,
        )
    fraction, reason, best = _least_fraction(launch, known, need, cap)
    if fraction is None or best is None:
        return Answer(None, (), reason)
    return Answer(fraction, (_by_fraction(launch, fraction, best, cap | context),), None, best.assumptions)


def _least_fraction(
    launch: Launch, known: Facts, need: int, others: dict[str, Any]
) -> tuple[float | None, str | None, Prediction | None]:
    """Return the least fraction of three decimals, or the reason why there is none."""
    base = anchor(launch, hidden=known.cap_binds)
    exact = base.fraction + (need - base.tokens) * base.cell / GIB / base.before
    step = ceil(round(exact * _STEPS, 6))
    while step < _STEPS:
        held = predict(launch, others | {"mem_fraction_static": step / _STEPS})
        if held.tokens >= need:
            break
        step += 1
    else:
        most = base.tokens + (1 - base.fraction) * base.before * GIB / base.cell
        reason = (
            f"a pool of {need:,} tokens would take a fraction of {exact:.3f}; with all of the memory that "
            f"was free before loading the pool ends at about {most:,.0f} tokens"
        )
        return None, reason, None
    if held.free_gib is not None and held.free_gib < 0:
        reason = (
            f"a pool of {need:,} tokens would take mem_fraction_static {step / _STEPS:.3f} and "
            f"{-held.free_gib:.2f} GiB more than the {launch.free_gib:.2f} GiB that are free today"
        )
        return None, reason, None
    return step / _STEPS, None, held


def _by_fraction(launch: Launch, fraction: float, held: Prediction, others: dict[str, Any]) -> Solution:
    risk = _risk(launch, held)
    if held.low < held.tokens:
        risk += f" The interval is {held.low:,} to {held.high:,} tokens; one step more makes it safe."
    return Solution(
        {"mem_fraction_static": fraction} | others,
        held.tokens,
        held.low,
        held.high,
        held.free_gib,
        (risk + " " + _of_context(launch, others)).strip(),
    )


def _by_dtype(launch: Launch, known: Facts, context: dict[str, Any], need: int) -> Solution | None:
    """Halve the price of a token where the cache is 16-bit today and one price covers the pools."""
    if not _is_two_bytes(launch) or known.cap_binds or eagle_addend(launch):
        return None
    if {p.role for p in launch.pools} - {"target", "draft"} or _is_sparse(launch):
        return None
    try:
        base = anchor(launch)
    except PredictionRefusedError:
        return None
    tokens = 2 * base.tokens // known.page * known.page
    if known.cap is not None:
        tokens = min(tokens, known.cap // known.page * known.page)
    if tokens < need:
        return None
    half = int(2 * known.drift * GIB / base.cell) + known.page
    free = free_after(launch, known, base.tokens + (tokens - 2 * base.tokens) // 2)
    risk = (
        "Halves the bytes of a token at today's fraction. The attention backend must support an fp8 cache "
        "for this model, and accuracy must be checked. "
    )
    settings = {"kv_cache_dtype": "fp8_e4m3"} | context
    return Solution(
        settings, tokens, tokens - half, tokens + half, free, (risk + _of_context(launch, context)).strip()
    )


def _is_two_bytes(launch: Launch) -> bool:
    printed = first_event(launch, "kv_dtype")
    words = {str(p.dtype) for p in launch.pools if p.dtype}
    if printed and printed.fields.get("dtype"):
        words.add(str(printed.fields["dtype"]))
    if not words:
        words = {str(launch.config.values.get("kv_cache_dtype"))}
    return bool(words) and words <= _TWO_BYTES


def _is_sparse(launch: Launch) -> bool:
    loaded = first_event(launch, "load_end")
    model = str(loaded.fields.get("model_type") or "") if loaded else ""
    return any(name in model for name in ("DeepseekV32", "GlmMoeDsa", "DeepseekV4"))


def _risk(launch: Launch, held: Prediction) -> str:
    if held.free_gib is None or launch.free_gib is None:
        return "How much memory stays free is not known from this log."
    said = f"Leaves about {held.free_gib:.2f} of the {launch.free_gib:.2f} GiB that are free today"
    chunk = launch.config.values.get("chunked_prefill_size")
    if isinstance(chunk, int) and not isinstance(chunk, bool) and 0 < chunk < 10**7:
        need = chunk * _CHUNK_MIB_PER_TOKEN / 1024
        said += (
            f" for prefill activations (the engine's own estimate for chunks of {chunk} is {need:.1f} GiB) "
            "and graph buffers"
        )
    if held.free_gib < _TIGHT_GIB:
        return said + ": an out-of-memory error under load is likely."
    return said + "."


def _of_context(launch: Launch, settings: Mapping[str, Any]) -> str:
    wanted = settings.get("context_length")
    if wanted is None:
        return ""
    said = "The model's own limit must allow this context"
    slots, today = launch.max_running_requests, launch.context_len
    if slots is not None and today is not None and wanted > today:
        table = (slots + 1) * (wanted - today) * 4 / GIB
        return said + f"; the longer request table takes {table:.2f} GiB more."
    return said + "."
