"""Findings about launches that failed, crashed, were killed or ran out of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.findings.scene import Finding, Scene, finding
from kvforensics.sizing.facts import facts, first_event, number
from kvforensics.verdicts import advice
from kvforensics.verdicts.failure import failure, oom_phase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.events import Event
    from kvforensics.launches import Launch
    from kvforensics.verdicts.failure import Failure

_TOO_SMALL = ("weights_leave_nothing", "not_enough_memory", "state_cache_too_small")
_OOM_FIX = {
    "load": "The weights themselves do not fit: more GPUs (tp_size), smaller weights (quantization), or "
    "offload. mem_fraction_static does not matter here.",
}


def of_launch(scene: Scene, launch: Launch) -> Iterator[Finding]:
    """Yield how one launch failed or ended, and what went wrong on the way."""
    yield from _failed_start(scene, launch)
    yield from _too_small(scene, launch)
    yield from _gpu_oom(scene, launch)
    yield from _host_oom(scene, launch)
    yield from _crash(scene, launch)
    yield from _single(scene, launch)


def _failed_start(scene: Scene, launch: Launch) -> Iterator[Finding]:
    if launch.end != "failed_start":
        return
    cause = failure(launch)
    yield finding(
        "failed_start",
        launch,
        f"{launch.id} failed to start: {cause.text}",
        _how_far(launch),
        _fix(launch, cause),
        at=cause.event.at if cause.event is not None else launch.ended_at or launch.last_at,
        evidence=scene.places(cause.event) or scene.evidence(launch, "config"),
    )


def _how_far(launch: Launch) -> str:
    if launch.config.source == "none":
        return "Its settings are not in the log."
    if launch.memory.before_load_gib is None:
        return "It died before the weights were loaded."
    if launch.memory.after_load_gib is None:
        return "It died while the weights were loaded."
    return (
        "It died before its pools stood." if launch.pool_tokens is None else "It died after its pools stood."
    )


def _fix(launch: Launch, cause: Failure) -> str | None:
    if cause.cause == "context_rejected":
        event = first_event(launch, "context_rejected")
        limit = number(event.fields.get("derived")) if event else None
        at_most = f" at most {limit:,.0f}" if limit is not None else " lower"
        return (
            f"Set context_length to{at_most}, or give the model a rope scaling, or set "
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1."
        )
    if cause.cause == "not_enough_memory":
        return advice.for_small_budget(launch) or "Raise mem_fraction_static."
    if cause.cause == "oom":
        return _oom_fix(launch, cause.phase)
    return None


def _too_small(scene: Scene, launch: Launch) -> Iterator[Finding]:
    event = next((e for kind in _TOO_SMALL if (e := first_event(launch, kind)) is not None), None)
    if event is None:
        return
    known = facts(launch)
    detail = "The share of the memory free before loading that the fraction gives is spent by the weights."
    if known.before is not None and known.after is not None and known.fraction is not None:
        detail = (
            f"Before loading {known.before:.2f} GiB were free and after it {known.after:.2f}; "
            f"mem_fraction_static {known.fraction:g} leaves the pools {known.rest or 0:.2f} GiB."
        )
    least, suggested = number(event.fields.get("minimum")), number(event.fields.get("suggested"))
    fix = advice.for_small_budget(launch)
    if suggested is not None and least is not None:
        fix = f"Raise mem_fraction_static above {suggested:g}; the weights alone take {least:g}."
    yield finding(
        "not_enough_memory",
        launch,
        "The weights leave too little for the pools",
        detail,
        fix or "Raise mem_fraction_static: the opposite of what an out-of-memory error at run time asks for.",
        at=event.at,
        evidence=scene.places(event),
    )


def _gpu_oom(scene: Scene, launch: Launch) -> Iterator[Finding]:
    seen: set[str | None] = set()
    for event in launch.events:
        if event.kind != "oom_cuda":
            continue
        phase = oom_phase(launch, event)
        if phase in seen:
            continue
        seen.add(phase)
        tried = number(event.fields.get("tried_gib"))
        yield finding(
            f"oom_at_{phase}" if phase else "oom_somewhere",
            launch,
            f"The GPU ran out of memory{' ' + _PHASES[phase] if phase else ''}",
            (f"It tried to allocate {tried:.2f} GiB. " if tried is not None else "") + _OOM_DETAIL[phase],
            _oom_fix(launch, phase),
            at=event.at,
            evidence=scene.places(event),
        )


def _oom_fix(launch: Launch, phase: str | None) -> str | None:
    if phase is None:
        return (
            "Look at what was printed before it: an error at load and one while serving need opposite moves."
        )
    return _OOM_FIX.get(phase) or advice.for_headroom(launch)


_BESIDE = "It is not the pools that are short: they stand inside the fraction, this is what it leaves."
_OOM_DETAIL = {
    "load": "The weights did not fit.",
    "sizing": "The pools that the fraction allows did not fit into what was really free.",
    "graph_capture": _BESIDE,
    "runtime": _BESIDE,
    None: "The lines before it are not in the log.",
}
_PHASES = {
    "load": "while the weights were loaded",
    "sizing": "while the pools were allocated",
    "graph_capture": "while graphs were captured",
    "runtime": "while serving",
}


def _host_oom(scene: Scene, launch: Launch) -> Iterator[Finding]:
    event = first_event(launch, "kernel_oom_kill") or first_event(launch, "unit_oom_killed")
    if event is None:
        return
    yield finding(
        "oom_host",
        launch,
        "The server was killed for memory of the host",
        "This is the host's memory, not the GPU's: weights in page cache, the host tier, tokenizer workers.",
        "Give the host more memory or the unit a higher limit; make hicache_size or hicache_ratio smaller.",
        at=event.at,
        evidence=scene.places(event),
    )


def _crash(scene: Scene, launch: Launch) -> Iterator[Finding]:
    if launch.end == "killed":
        event = _last(launch, ("unit_main_exited", "unit_killing", "subprocess_died"))
        yield finding(
            "killed",
            launch,
            f"{launch.id} was killed from outside",
            "Nothing in the log is an error of the server's own before it.",
            None,
            at=launch.ended_at or (event.at if event else None),
            evidence=scene.places(event),
        )
    if launch.end == "failed_start" or not _has_crashed(launch):
        return
    event = first_event(launch, "exception") or _last(
        launch, ("scheduler_terminated", "subprocess_died", "sigquit")
    )
    kind = event.fields.get("type") if event else None
    message = event.fields.get("message") if event else None
    said = f"{kind}: {message}" if kind and message else str(kind or message or "no exception is in the log")
    yield finding(
        "scheduler_crash",
        launch,
        f"{launch.id} crashed: {said[:160]}",
        "The service was down until the next start.",
        None,
        at=event.at if event else launch.ended_at,
        evidence=scene.places(event),
    )


def _has_crashed(launch: Launch) -> bool:
    """Whether the launch ended by a crash; an exception that a serving server outlived is none."""
    if launch.end != "crashed":
        return False
    return not first_event(launch, "oom_cuda") and not _only(launch, "watchdog_timeout", "leak_detected")


def _only(launch: Launch, *kinds: str) -> bool:
    """Whether a crash has a finding of its own."""
    return first_event(launch, "exception") is None and any(first_event(launch, k) for k in kinds)


_SINGLE = {
    "watchdog_timeout": (
        "The watchdog saw no progress and ended the server",
        "A batch hung, or took longer than watchdog_timeout.",
        (
            "Read what stood in the batch before it; a kernel that hangs needs another backend, a slow one "
            "a longer watchdog_timeout."
        ),
    ),
    "leak_detected": (
        "The engine's own check found slots of the pool lost",
        "Free, cached and running slots do not add up to the pool.",
        "Report it with this line; a restart gives the slots back.",
    ),
    "pool_alloc_failed": (
        "A batch found no slot in the pool",
        "The scheduler had counted on slots that were not free: an accounting failure, not a small fraction.",
        "Report it with this line; fewer running requests make it less likely.",
    ),
    "health_failed": (
        "The health check got no answer",
        "The detokenizer did not answer in time.",
        "Look at what the scheduler did at that time.",
    ),
}
_IDS = {
    "leak_detected": "memory_leak_detected",
    "pool_alloc_failed": "pool_slots_exhausted",
    "health_failed": "health_check_failed",
}


def _single(scene: Scene, launch: Launch) -> Iterator[Finding]:
    for kind, (title, detail, fix) in _SINGLE.items():
        found = [e for e in launch.events if e.kind == kind]
        if not found:
            continue
        times = "" if len(found) == 1 else f" {len(found)} lines say so."
        yield finding(
            _IDS.get(kind, kind),
            launch,
            title,
            detail + times,
            fix,
            at=found[0].at,
            evidence=scene.places(*found[:3]),
        )


def _last(launch: Launch, kinds: tuple[str, ...]) -> Event | None:
    return next((e for e in reversed(launch.events) if e.kind in kinds), None)
