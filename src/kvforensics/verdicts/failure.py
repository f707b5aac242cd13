"""Why a launch failed, and which settings its last lines accuse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.sizing.facts import first_event

if TYPE_CHECKING:
    from kvforensics.events import Event
    from kvforensics.launches import Launch

PHASES = ("load", "sizing", "graph_capture", "runtime")

_TOO_SMALL = ("weights_leave_nothing", "state_cache_too_small", "not_enough_memory")
_NAMED_BY_KIND = {
    "context_rejected": frozenset({"context_length"}),
    "not_enough_memory": frozenset({"mem_fraction_static"}),
    "weights_leave_nothing": frozenset({"mem_fraction_static"}),
    "state_cache_too_small": frozenset(
        {"mem_fraction_static", "max_running_requests", "speculative_num_draft_tokens"}
    ),
}


class Failure(Struct, frozen=True):
    """The cause of a failed or ended launch, as its own lines tell it."""

    cause: str  # context_rejected | not_enough_memory | oom | usage_error | exception | unknown
    event: Event | None
    phase: str | None = None  # of an out-of-memory error, one of PHASES; None where no line tells

    @property
    def about_memory(self) -> bool:
        """Whether memory was short: for the pools, or of the GPU."""
        return self.cause in ("not_enough_memory", "oom")

    @property
    def text(self) -> str:
        """What the line says, for a person."""
        if self.event is None:
            return "nothing in the log says why"
        message = self.event.fields.get("message")
        kind = self.event.fields.get("type")
        if isinstance(message, str) and message:
            return f"{kind}: {message}"[:200] if isinstance(kind, str) and kind else message[:200]
        return _SAID.get(self.event.kind, self.event.kind)


_SAID = {
    "context_rejected": "the model's own context limit is lower",
    "not_enough_memory": "the weights left too little memory for the pools",
    "weights_leave_nothing": "the weights left no memory for the pools",
    "state_cache_too_small": "the state cache came out too small for a single request",
    "oom_cuda": "the GPU ran out of memory",
    "usage_error": "the command line was refused",
    "kernel_oom_kill": "the kernel's out-of-memory killer ended it",
    "unit_oom_killed": "systemd reports an out-of-memory kill",
    "watchdog_timeout": "the watchdog saw no progress",
    "exception": "an exception ended it",
    "pool_alloc_failed": "the pool had no slot left for the tokens of a batch",
    "subprocess_died": "a process of the server died",
    "sigterm": "it was told to stop",
}


def failure(launch: Launch) -> Failure:
    """Return the cause of a launch's end: memory and refused settings win over what followed from them."""
    rejected = first_event(launch, "context_rejected")
    if rejected is not None and launch.ready_at is None:
        return Failure("context_rejected", rejected)
    for kind in _TOO_SMALL:
        event = first_event(launch, kind)
        if event is not None:
            return Failure("not_enough_memory", event)
    oom = first_event(launch, "oom_cuda")
    if oom is not None:
        return Failure("oom", oom, oom_phase(launch, oom))
    for kind, cause in (("usage_error", "usage_error"), ("exception", "exception")):
        event = first_event(launch, kind)
        if event is not None:
            return Failure(cause, event)
    others = (
        "watchdog_timeout", "pool_alloc_failed", "kernel_oom_kill", "unit_oom_killed", "subprocess_died",
        "sigterm",
    )  # fmt: skip
    return Failure("unknown", next((e for k in others if (e := first_event(launch, k))), None))


def oom_phase(launch: Launch, oom: Event) -> str | None:
    """Return the phase of the start in which a GPU ran out of memory, by the lines of its rank before it.

    Without any line of the start, the traceback's functions tell; None where they do not either.
    """
    seen = set()
    for event in launch.events:
        if event is oom:
            break
        if oom.ranks.tp is None or event.ranks.tp is None or event.ranks.tp == oom.ranks.tp:
            seen.add(event.kind)
    if seen & {"summary", "ready"}:
        return "runtime"
    if seen & {"pool_end", "capture_begin", "capture_end"}:
        return "graph_capture"
    if seen & {"load_end", "kv_dtype", "kv_pool", "swa_split", "mamba_pool"}:
        return "sizing"
    return "load" if seen & {"server_args", "init_begin", "init_end", "load_begin"} else _by_traceback(launch)


def _by_traceback(launch: Launch) -> str | None:
    text = " ".join(e.text or "" for e in launch.events if e.kind in ("exception", "oom_cuda"))
    return next((phase for phase, words in _FUNCTIONS if any(word in text for word in words)), None)


_FUNCTIONS = (
    ("runtime", ("event_loop", "run_batch")),
    ("graph_capture", ("cuda_graph_runner", "init_cuda_graphs", "init_device_graphs")),
    ("sizing", ("init_memory_pool", "memory_pool.py", "kv_cache_configurator")),
    ("load", ("load_model", "load_weights")),
)


def names(launch: Launch, setting: str) -> bool:
    """Whether the launch's own failure line names a setting or its flag."""
    event = failure(launch).event
    if event is None:
        return False
    if setting in _NAMED_BY_KIND.get(event.kind, ()):
        return True
    if event.kind not in ("usage_error", "exception", "pool_alloc_failed", *_NAMED_BY_KIND):
        return False
    said = f"{event.fields.get('message') or ''} {event.text or ''}"[:8192]
    flag = re.escape("--" + setting.replace("_", "-"))
    return re.search(rf"(?:{flag}|\b{re.escape(setting)})(?![\w-])", said) is not None
