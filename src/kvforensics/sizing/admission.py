"""What follows from a pool and a context: the longest prompt, and how many requests may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge import within
from kvforensics.sizing.facts import positive

if TYPE_CHECKING:
    from kvforensics.launches import Launch


def longest_prompt(launch: Launch, tokens: int | None, context: int | None) -> int | None:
    """Return the longest prompt with another pool or context, by the rule this launch shows.

    The rule is `min(context, pool)` less a constant of the release (7 since 0.3.4.post2,
    managers/tp_worker.py:302@0.5.11); the constant is taken from the launch's own figures.
    """
    today = launch.longest_prompt_tokens
    if today is None or launch.pool_tokens is None or launch.context_len is None:
        return None
    if tokens is None or context is None:
        return None
    margin = min(launch.pool_tokens, launch.context_len) - today
    return max(0, min(tokens, context) - margin)


def running_requests(launch: Launch, tokens: int, context: int | None) -> int | None:
    """Return `max_running_requests` with another pool or context; today's where no rule is seen to apply.

    Clamps changed at 0.5.10 and 0.5.14 (model_executor/model_runner_kv_cache_mixin.py:707@0.5.11,
    mem_cache/kv_cache_configurator.py:3128@0.5.23). A rule is used only if it gives today's figure.
    """
    today = launch.max_running_requests
    if today is None or launch.pool_tokens is None or launch.context_len is None:
        return today
    if _by_rule(launch, launch.pool_tokens, launch.context_len) != today:
        return today
    return _by_rule(launch, tokens, context or launch.context_len)


def _by_rule(launch: Launch, tokens: int, context: int) -> int | None:
    values = launch.config.values
    wish = launch.config.requested.get("max_running_requests", values.get("max_running_requests"))
    asked = positive(wish)
    parts = int(positive(values.get("attn_dp_size")) or 1)
    if values.get("enable_dp_attention") is True:
        parts = int(positive(values.get("dp_size")) or 1)
    table = min(max(tokens * 512 // max(context, 1), 2048), 4096)
    if asked is None:
        return min(table, tokens // 2)
    share = int(asked) // max(parts, 1)
    if within(launch.version, "0.5.14", None) is True:
        return min(max(1, share), tokens // 2)
    if within(launch.version, "0.5.10", "0.5.13") is True:
        return min(share, table)
    return min(share, tokens // 2, table) if within(launch.version, None, "0.5.9") is True else None
