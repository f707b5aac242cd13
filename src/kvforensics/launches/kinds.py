"""What event kinds mean for launches: which ones prove an SGLang server, begin a start, or end one."""

from __future__ import annotations

UNIT_START = frozenset({"unit_starting", "unit_started"})
UNIT_END = frozenset(
    {
        "unit_stopping",
        "unit_stopped",
        "unit_deactivated",
        "unit_failed",
        "unit_main_exited",
        "unit_start_failed",
        "unit_killing",
        "unit_oom_killed",
        "unit_restart_scheduled",
    }
)
UNIT_GONE = frozenset(
    {"unit_stopped", "unit_deactivated", "unit_failed", "unit_main_exited", "unit_start_failed"}
)
HOST_WIDE = frozenset({"sudo_command", "unit_reloading", "kernel_oom_kill"})

# A rank prints these in this order, once for the target and once for each draft (catalogue 2.0).
STAGES = {
    "init_begin": 0,
    "init_end": 1,
    "load_begin": 2,
    "load_end": 3,
    "kv_dtype": 4,
    "dsv4_sizing": 5,
    "mm_reserved": 5,
    "swa_split": 5,
    "kv_pool": 6,
    "kv_skipped": 6,
    "swa_pool": 6,
    "swa_ring": 5,
    "post_capture_total": 10,
    "mamba_pool": 6,
    "host_pool": 7,
    "pool_end": 8,
    "capture_begin": 9,
    "capture_end": 10,
    "summary": 11,
}
RANK_BEGINS = frozenset({"init_begin", "load_begin"})

# A start dies of these before it was ready; after it, they say nothing about an end.
START_ONLY = frozenset({"context_rejected", "usage_error"})
START_FAILURES = START_ONLY | {"not_enough_memory", "weights_leave_nothing", "state_cache_too_small"}

CRASHES = frozenset({"sigquit", "subprocess_died", "scheduler_terminated"})
TERMINAL = CRASHES | START_FAILURES | {"exception", "sigterm"}

# Anybody's program may print these; they belong to SGLang only where something else says so.
WEAK = frozenset({"exception", "oom_cuda", "sigterm", "usage_error", "other_engine", "log_gap"})


def is_systemd(kind: str) -> bool:
    """Whether systemd wrote the line about a unit."""
    return kind.startswith("unit_")


def proves_sglang(kind: str) -> bool:
    """Whether only an SGLang server prints this kind."""
    return not (is_systemd(kind) or kind in WEAK or kind in HOST_WIDE or kind == "suppressed")
