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
        "unit_exec_failed",
        "unit_timed_out",
        "unit_watchdog",
    }
)
UNIT_GONE = frozenset(
    {"unit_stopped", "unit_deactivated", "unit_failed", "unit_main_exited", "unit_start_failed"}
)
HOST_WIDE = frozenset(
    {
        "sudo_command",
        "sudo_continued",
        "audit_command",
        "unit_reloading",
        "kernel_oom_kill",
        "gpu_error",
        "machine_boot",
        "machine_shutdown",
        "log_gap",
    }
)
ABOUT_A_UNIT = frozenset({"suppressed", "audit_unit"})  # written by others than the unit or systemd

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
START_FAILURES = START_ONLY | {
    "not_enough_memory",
    "weights_leave_nothing",
    "state_cache_too_small",
    "pool_too_small",
    "host_memory_short",
    "warmup_failed",
}

CRASHES = frozenset({"sigquit", "subprocess_died", "scheduler_terminated", "rank_divergence", "fatal_error"})
STOPS = frozenset({"sigterm", "graceful_exit"})
GPU_OOM = frozenset({"oom_cuda", "oom_host"})
RAISED = frozenset({"exception", "exception_begin"}) | GPU_OOM
OUTSIDE_WORD = frozenset({"killed", "container_exited", "job_cancelled", "task_ended", "task_oom_killed"})
TERMINAL = CRASHES | START_FAILURES | STOPS | RAISED | OUTSIDE_WORD

# Anybody's program may print these; they belong to SGLang only where something else says so.
WEAK = frozenset(
    {
        "exception",
        "oom_cuda",
        "oom_host",
        "killed",
        "container_exited",
        "usage_error",
        "warmup_failed",
        "request_error",
        "health_failed",
        "capture_failed",
        "flush",
        "flush_refused",
        "pause",
        "other_engine",
        "job_cancelled",
        "task_ended",
        "task_oom_killed",
    }
)


def is_systemd(kind: str) -> bool:
    """Whether the line is about a unit and not the server's own."""
    return kind.startswith("unit_") or kind in ABOUT_A_UNIT


def proves_sglang(kind: str) -> bool:
    """Whether only an SGLang server prints this kind."""
    return not (is_systemd(kind) or kind in WEAK or kind in HOST_WIDE)


def is_preface(kind: str) -> bool:
    """Whether a start may say it before it prints its settings."""
    return kind.startswith("adjust__") or kind in ("context_above_derived", "draft_context_above_derived")
