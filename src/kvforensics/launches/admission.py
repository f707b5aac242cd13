"""The longest prompt that a server lets in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.knowledge import within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.knowledge import VersionRange


def longest_prompt(
    pool_tokens: int | None,
    context_len: int | None,
    version: VersionRange,
    config: Mapping[str, Any],
    *,
    dated: bool,
) -> int | None:
    """Return N_max in tokens, None where a limit or the rule is unknown.

    The scheduler refuses N >= min(C-1, POOL-1) - 5 (managers/utils.py:133@0.5.11, managers/tp_worker.py:302);
    0.3.0 to 0.3.2 have no -5. POOL is the printed pool, times dcp_size in 0.5.17 to 0.5.20
    (managers/tp_worker.py@0.5.17); from 0.5.21 the printed figure holds that already. `dated` says that the
    log's prefix has a date, which 0.3.0 to 0.3.2 lack.
    """
    if pool_tokens is None or context_len is None or config.get("dllm_algorithm"):
        return None
    pool = _logical(pool_tokens, version, config)
    if pool is None:
        return None
    limit = min(pool, context_len)
    if within(version, None, "0.3.2") is True:
        return max(limit - 2, 0)
    if dated or within(version, "0.3.4.post2", None) is True:
        return max(limit - 7, 0)
    return None


def _logical(tokens: int, version: VersionRange, config: Mapping[str, Any]) -> int | None:
    shards = config.get("dcp_size")
    if not isinstance(shards, int) or shards <= 1 or within(version, "0.5.21", None) is True:
        return tokens
    return tokens * shards if within(version, "0.5.17", "0.5.20") is True else None
