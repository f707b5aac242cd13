"""How a launch ended, and when.

A cause that the log names wins over what restarted the server afterwards: the OOM killer or a GPU that ran
out of memory, SIGKILL from elsewhere, a crash. What follows the beginning of a stop is the stop's own: a
SIGTERM to the process group makes SGLang log `crashed with exit code -15`, and systemd kills what does not
stop in time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.launches.kinds import CRASHES, GPU_OOM, START_FAILURES, STOPS, UNIT_GONE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kvforensics.events import Event
    from kvforensics.launches.items import Item
    from kvforensics.launches.start import Start

SIGTERM, SIGKILL, SIGINT = 15, 9, 2
ALIVE_S = 10  # scheduler lines this long after an exception show that the server survived it
ONE_JOB_S = 2  # text without job ids: systemd starts within this what it stopped for a restart
_OOM_KILLS = frozenset({"kernel_oom_kill", "unit_oom_killed", "task_oom_killed"})
_CRASH_WORDS = frozenset({"unit_start_failed", "unit_exec_failed", "unit_watchdog"})
_CRASH_RESULTS = ("exit-code", "core-dump", "watchdog", "timeout")
ONE_JOB_LINES = 3  # text without times: `Stopped`, `Consumed … CPU time`, `Started`
QUIET_LEVELS = ("warning", "error", "critical")  # with these, readiness is not printed


class End(Struct, frozen=True):
    """The contract's `end`, its time, and the event that tells it."""

    kind: str
    at: datetime | None = None
    event: Event | None = None


def end_of(start: Start, following: Start | None, *, told_to_restart: bool = False) -> End:
    """Tell how a start ended. `told_to_restart`: somebody ran `systemctl restart` while it ran."""
    items = [item for item in start.items if item.event is not None]
    stop = next((n for n, item in enumerate(items) if _begins_stop(item)), len(items))
    cause = _cause(items, stop, start)
    if cause is None and (told_to_restart or _was_stopped(items, stop)):
        kind = "restarted" if told_to_restart or _restarted(items, following) else "stopped"
        cause = End(kind, event=items[min(stop, len(items) - 1)].event if items else None)
    if cause is None:
        cause = End("unknown" if following is not None else "running")
    if cause.kind != "running" and _never_ready(start, cause):
        cause = End("failed_start", event=cause.event)
    return End(cause.kind, _ended_at(start, items, cause), cause.event)


def _begins_stop(item: Item) -> bool:
    event = item.event
    if event is None:
        return False
    if event.kind in ("unit_stopped", "unit_deactivated"):
        return event.fields.get("job_type") != "start"
    return event.kind in STOPS or event.kind in ("unit_stopping", "job_cancelled")


def _cause(items: Sequence[Item], stop: int, start: Start) -> End | None:
    best: End | None = None
    order = ("oom", "killed", "crashed")
    for n, item in enumerate(items):
        kind = _cause_of(items, n, start, stopping=n > stop)
        if kind is not None and (best is None or order.index(kind) < order.index(best.kind)):
            best = End(kind, event=item.event)
    if best is None and stop >= len(items):
        return _signalled(items)
    return best


def _signalled(items: Sequence[Item]) -> End | None:
    """Tell a death by a signal of which only the unit's result is in the log."""
    if any(item.kind == "unit_main_exited" for item in items):
        return None
    failed = (item.event for item in items if item.kind == "unit_failed" and item.event is not None)
    return next((End("crashed", event=e) for e in failed if e.fields.get("result") == "signal"), None)


def _cause_of(items: Sequence[Item], n: int, start: Start, *, stopping: bool) -> str | None:
    event = items[n].event
    assert event is not None
    kind, fields = event.kind, event.fields
    if kind in _OOM_KILLS or fields.get("result") == "oom-kill" or fields.get("how") == "Out Of Memory":
        return "oom"
    if stopping:
        return None
    if kind in GPU_OOM or (kind == "exception" and "OutOfMemoryError" in str(fields.get("type"))):
        return None if _survived(start, items[n]) else "oom"
    if kind in ("exception_begin", "watchdog_timeout"):
        return None if fields.get("soft") or _survived(start, items[n]) else "crashed"
    if kind in START_FAILURES or kind == "exception":
        return "crashed" if start.ready is None and not start.served else None
    return _by_word(event)


def _by_word(event: Event) -> str | None:
    """Tell the cause from what somebody says about the process: systemd, SGLang's parent process, a shell."""
    kind, fields = event.kind, event.fields
    if kind in ("subprocess_died", "scheduler_terminated"):
        return _by_exit_code(_number(fields.get("exit_code")))
    if kind == "container_exited":
        return _by_status("exited", _number(fields.get("exit_code")))
    if kind == "unit_main_exited":
        return _by_status(str(fields.get("code")), _number(fields.get("status")))
    if kind == "unit_killing":
        by_hand = "client request" in (event.text or "")
        return "killed" if by_hand and "KILL" in str(fields.get("signal", "")) else None
    if kind == "unit_failed":
        return "crashed" if fields.get("result") in _CRASH_RESULTS else None
    if kind == "task_ended":
        return {"Terminated": None, "Killed": "killed"}.get(str(fields.get("how")), "crashed")
    if kind == "killed":
        return "killed"
    return "crashed" if kind in CRASHES or kind in _CRASH_WORDS else None


def _survived(start: Start, item: Item) -> bool:
    """Whether the server went on to serve after a trouble line."""
    place = start.items.index(item)
    for later in start.items[place + 1 :]:
        if later.kind == "ready":
            return True
        if later.hot is None or item.at is None or later.last_at is None:
            continue
        if (later.last_at - item.at).total_seconds() > ALIVE_S:
            return True
    return False


def _by_exit_code(code: int | None) -> str | None:
    if code in (-SIGTERM, -SIGINT, 0):
        return None
    return "killed" if code == -SIGKILL else "crashed"


def _by_status(code: str, status: int | None) -> str | None:
    if code in ("killed", "dumped"):
        if status in (SIGTERM, SIGINT):
            return None
        return "killed" if status == SIGKILL else "crashed"
    if status is None or status in (0, 128 + SIGTERM, 128 + SIGINT):
        return None
    return "killed" if status == 128 + SIGKILL else "crashed"


def _number(value: Any) -> int | None:
    """Return the number at the head of `9/KILL`, `-15`, 3."""
    found = re.match(r"\s*(-?[0-9]{1,9})", str(value))
    return int(found[1]) if found else None


def _was_stopped(items: Sequence[Item], stop: int) -> bool:
    if stop < len(items):
        return True
    return any(
        item.event is not None
        and (
            item.event.kind in UNIT_GONE
            or item.event.kind in ("container_exited", "task_ended")
            or (
                item.event.kind in ("subprocess_died", "scheduler_terminated")
                and _number(item.event.fields.get("exit_code")) in (-SIGTERM, -SIGINT)
            )
        )
        for item in items
    )


def _restarted(items: Sequence[Item], following: Start | None) -> bool:
    stopped: Event | None = None
    for item in items:
        event = item.event
        if event is None:
            continue
        if event.kind == "unit_restart_scheduled" or event.fields.get("job_type") == "restart":
            return True
        if event.kind in ("unit_stopping", "unit_stopped", "unit_deactivated"):
            stopped = event
    begun = None if following is None else following.unit_start
    if stopped is None or begun is None:
        return False
    ours, theirs = stopped.fields.get("job_id"), begun.fields.get("job_id")
    if ours is not None and theirs is not None:
        return bool(ours == theirs)
    if stopped.at is not None and begun.at is not None:
        return 0 <= (begun.at - stopped.at).total_seconds() <= ONE_JOB_S
    if stopped.mono is not None and begun.mono is not None:
        return 0 <= begun.mono - stopped.mono <= ONE_JOB_S * 1_000_000
    return stopped.source == begun.source and abs(begun.line - stopped.line) <= ONE_JOB_LINES


def _never_ready(start: Start, cause: End) -> bool:
    """Whether a start that ended had not been ready. The head of a rotated log had its readiness before."""
    if start.ready is not None or start.served:
        return False
    if any(item.kind in START_FAILURES for item in start.items):
        return True
    begun = start.server_args is not None or start.unit_start is not None
    if not begun and not start.stages:
        return cause.kind == "crashed" and any(item.kind == "exception" for item in start.items)
    values = start.server_args.fields.get("values") or {} if start.server_args is not None else {}
    unseen = values.get("log_level") in QUIET_LEVELS or values.get("node_rank") not in (None, 0)
    if unseen and cause.kind in ("stopped", "restarted", "unknown"):
        return False
    return begun or start.summary is None


def _ended_at(start: Start, items: Sequence[Item], cause: End) -> datetime | None:
    if cause.kind in ("running", "unknown"):
        return None
    gone = [item.at for item in items if item.kind in UNIT_GONE and item.at is not None]
    if gone:
        return gone[0]
    if cause.kind == "failed_start" and cause.event is None:
        return None
    return start.last_at
