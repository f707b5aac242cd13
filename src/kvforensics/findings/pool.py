"""Findings about the pool of one launch: against its context, its budget and its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.findings.scene import Finding, Scene, finding
from kvforensics.sizing.facts import EAGLE_LIKE, algorithm, facts, first_event, number
from kvforensics.verdicts import advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.launches import Launch

_IDLE_SHARE = 0.1  # of the memory free before loading, above the reserve
_IDLE_SHARE_UNKNOWN = 0.4  # of it, where the fraction is not known


def of_launch(scene: Scene, launch: Launch) -> Iterator[Finding]:
    """Yield what one launch's pool, requests and memory say."""
    yield from _context(scene, launch)
    yield from _requests(launch)
    yield from _cap(scene, launch)
    yield from _idle(scene, launch)
    yield from _draft(scene, launch)
    yield from _unexplained(scene, launch)


def _context(scene: Scene, launch: Launch) -> Iterator[Finding]:
    tokens, context = launch.pool_tokens, launch.context_len
    if tokens is None or context is None or tokens >= context:
        return
    longest = launch.longest_prompt_tokens
    said = (
        f"A prompt may be {longest:,} tokens long at most"
        if longest is not None
        else "Long prompts are refused"
    )
    yield finding(
        "context_exceeds_pool",
        launch,
        f"The context length is {context:,} tokens, the pool holds {tokens:,}",
        f"{said}, though clients are told {context:,}. The service looks healthy all the same.",
        advice.for_context(launch, context)
        or f"Lower context_length to {tokens:,}, or raise mem_fraction_static.",
        evidence=scene.evidence(launch, "pool_tokens", "config"),
    )


def _requests(launch: Launch) -> Iterator[Finding]:
    seen = launch.requests
    if seen.refused_by_pool:
        yield finding(
            "request_too_long_for_pool",
            launch,
            f"{_times(seen.refused_by_pool, 'prompt')} refused: longer than the pool",
            f"The pool holds {_count(launch.pool_tokens)} tokens, the context length is "
            f"{_count(launch.context_len)}: the context lets such prompts in, the pool cannot hold them.",
            advice.for_context(launch, launch.context_len) or advice.for_pool(launch),
            at=seen.first_refused_by_pool_at,
            evidence=(seen.first_refused_by_pool,),
        )
    if seen.refused_by_context:
        yield finding(
            "request_too_long_for_context",
            launch,
            f"{_times(seen.refused_by_context, 'prompt')} refused: longer than the context length",
            f"The context length is {_count(launch.context_len)} tokens, the pool holds "
            f"{_count(launch.pool_tokens)}.",
            _longer_context(launch),
            at=seen.first_refused_by_context_at,
            evidence=(seen.first_refused_by_context,),
        )
    if seen.retractions:
        usage = "" if seen.peak_token_usage is None else f" Token usage reached {seen.peak_token_usage:.2f}."
        yield finding(
            "retractions",
            launch,
            f"{_times(seen.retractions, 'request')} retracted: the pool was full",
            f"Their cached tokens were dropped and are computed again.{usage}",
            "Let fewer requests run (max_running_requests), raise schedule_conservativeness, or enlarge "
            "the pool. " + (advice.for_pool(launch) or ""),
            at=seen.first_retraction_at,
            evidence=(seen.first_retraction,),
        )


def _longer_context(launch: Launch) -> str:
    tokens, context = launch.pool_tokens, launch.context_len
    if tokens is not None and context is not None and tokens > context:
        return f"context_length may rise to {tokens:,} before the pool limits it, if the model allows it."
    return "Shorten the prompts; the pool would refuse longer ones as well."


def _cap(scene: Scene, launch: Launch) -> Iterator[Finding]:
    event = first_event(launch, "cap_above_profile")
    if event is None:
        return
    asked, profiled = number(event.fields.get("requested")), number(event.fields.get("profiled"))
    if asked is None or profiled is None:
        return
    yield finding(
        "max_total_tokens_above_profile",
        launch,
        f"max_total_tokens is {asked:,.0f}, memory holds {profiled:,.0f}",
        "The engine took what memory holds; max_total_tokens can only make a pool smaller.",
        "Drop max_total_tokens. " + (advice.for_pool(launch) or ""),
        at=event.at,
        evidence=scene.places(event),
    )


def _idle(scene: Scene, launch: Launch) -> Iterator[Finding]:
    """Free memory above the reserve `(1-f)*P` by a tenth of P; without f, above two fifths of P."""
    known = facts(launch)
    free, before = launch.free_gib, known.before
    if free is None or before is None or before <= 0:
        return
    if known.fraction is not None:
        reserve = (1 - known.fraction) * before
        idle = free - reserve
        if idle <= _IDLE_SHARE * before:
            return
        why = f"{reserve:.2f} GiB is what mem_fraction_static {known.fraction:g} reserves"
    else:
        if free <= _IDLE_SHARE_UNKNOWN * before:
            return
        idle, why = free, "the fraction is not known"
    yield finding(
        "memory_left_idle",
        launch,
        f"{free:.2f} of {before:.2f} GiB stay free",
        f"{why[:1].upper()}{why[1:]}; about {idle:.2f} GiB could be pool. {_why_idle(launch)}".strip(),
        advice.for_pool(launch),
        evidence=scene.evidence(launch, "pool_tokens"),
    )


def _why_idle(launch: Launch) -> str:
    known = facts(launch)
    if known.cap_binds:
        return f"max_total_tokens={known.cap} holds the pool down."
    if known.rest is not None and known.pools_gib is not None and known.pools_gib + known.drift < known.rest:
        return "The pools took less than their budget."
    return (
        "The budget itself came out small: up to 0.5.18 leftovers of the weight loader can do that; "
        "0.5.19 frees them first."
    )


def _draft(scene: Scene, launch: Launch) -> Iterator[Finding]:
    budget, known = scene.budget(launch), facts(launch)
    if budget is None or not known.draft_gib:
        return
    if budget.why_not != "draft_pool_unbudgeted" and not _eagle_beside(launch, budget.why_not):
        return
    free = "" if launch.free_gib is None else f", of which {launch.free_gib:.2f} GiB are left"
    yield finding(
        "draft_pool_unbudgeted",
        launch,
        f"The draft model's pool of {known.draft_gib:.2f} GiB stands outside the budget",
        f"It takes its memory from what mem_fraction_static leaves{free}. A release that charges it gives a "
        "smaller pool for the same flags (EAGLE from 0.5.14, DFLASH beside a sliding window from 0.5.18).",
        "Nothing to do while memory is left; count it before raising mem_fraction_static or upgrading.",
        evidence=tuple(p.place for p in launch.pools if p.role == "draft"),
    )


def _eagle_beside(launch: Launch, why_not: str | None) -> bool:
    """EAGLE's slots up to 0.5.6 leave the draft's pool outside the budget as well."""
    return algorithm(launch) in EAGLE_LIKE and why_not == "eagle_slots_added"


def _unexplained(scene: Scene, launch: Launch) -> Iterator[Finding]:
    budget = scene.budget(launch)
    if budget is None or budget.why_not != "unknown" or budget.closure_gib is None:
        return
    more = "more" if budget.closure_gib > 0 else "less"
    yield finding(
        "budget_unexplained",
        launch,
        f"The pools take {abs(budget.closure_gib):.2f} GiB {more} than their budget",
        f"The budget is {budget.rest_gib:.2f} GiB, the pools' own lines add up to "
        f"{budget.pools_gib:.2f} GiB. No known rule explains it, so nothing is predicted from this launch.",
        None,
        evidence=scene.evidence(launch, "pool_tokens"),
    )


def _times(count: int, what: str) -> str:
    return f"{count:,} {what}{' was' if count == 1 else 's were'}"


def _count(value: int | None) -> str:
    return "an unknown number of" if value is None else f"{value:,}"
