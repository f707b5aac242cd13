"""The ids of findings, each with its severity and what it says."""

from __future__ import annotations

CATALOGUE: dict[str, tuple[str, str]] = {
    "context_exceeds_pool": ("warning", "the context length is longer than the pool holds"),
    "request_too_long_for_pool": ("warning", "prompts were refused because the pool is too small for them"),
    "request_too_long_for_context": ("info", "prompts were refused because the context length is shorter"),
    "retractions": ("warning", "running requests were put back because the pool was full"),
    "oom_at_load": ("error", "the GPU ran out of memory while the weights were loaded"),
    "oom_at_sizing": ("error", "the GPU ran out of memory while the pools were allocated"),
    "oom_at_graph_capture": ("error", "the GPU ran out of memory while graphs were captured"),
    "oom_at_runtime": ("error", "the GPU ran out of memory while serving"),
    "oom_somewhere": ("error", "the GPU ran out of memory, and no line tells in which phase"),
    "oom_host": ("error", "the kernel or systemd killed the server for memory of the host"),
    "not_enough_memory": ("error", "the weights left too little for the pools under the fraction"),
    "max_total_tokens_above_profile": (
        "warning",
        "max_total_tokens is more than memory holds and does nothing",
    ),
    "pool_moved_unexplained": ("warning", "the pool moved, and nothing that the log shows explains it"),
    "pool_moved_by_upgrade": ("info", "the pool moved with the release, whose pool rule differs"),
    "free_memory_differs": ("warning", "the memory free before loading differs between two launches"),
    "memory_left_idle": ("warning", "much more memory stays free than the fraction reserves"),
    "draft_pool_unbudgeted": ("info", "the draft model's pool stands outside the budget"),
    "budget_unexplained": ("info", "budget and pools do not add up, and no known rule says why"),
    "watchdog_timeout": ("error", "the watchdog saw no progress"),
    "scheduler_crash": ("error", "an exception or a dead process ended the server"),
    "pool_slots_exhausted": ("error", "a batch found no free slot in the pool, an accounting failure"),
    "memory_leak_detected": ("error", "the engine's own check found slots of the pool lost"),
    "killed": ("warning", "something else killed the server"),
    "failed_start": ("error", "a start never became ready"),
    "health_check_failed": ("warning", "the health check got no answer"),
    "stale_unit": ("warning", "the unit was edited, and the next start ran with the old value"),
    "config_line_lost": ("warning", "the line with the settings is lost or cut off"),
    "rate_limited": ("warning", "the journal dropped messages"),
    "time_gap": ("info", "a stretch of time is missing from the log"),
    "secret_in_log": ("warning", "the log holds a secret in clear"),
    # faults of releases, from knowledge/known_issues.toml, where the launch shows what they need
    "draft_priced_as_target": ("info", "a draft layer is charged like a layer of the target"),
    "swa_ignores_dflash_draft": ("info", "the budget of a sliding-window model forgets the draft"),
    "dsa_fp8_layout_over_budget": ("info", "the fp8 cache takes more than it is budgeted"),
    "page_unschedulable": ("warning", "prompts near the pool's size are let in and wait for ever"),
    "swa_cap_before_split": ("info", "the full pool of a sliding-window model exceeds max_total_tokens"),
    "fraction_changed_silently": (
        "warning",
        "the fraction in the settings line is not the one that was used",
    ),
}
