"""Launches built by hand: the terms of the pool rule in, a `Launch` with consistent figures out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from kvforensics.events import Event
from kvforensics.launches import Config, Launch, Memory, Pool, Requests, VersionRange
from kvforensics.records import Place

GIB = 2**30
START = datetime(2026, 5, 20, 9, 0)
MLA = 70272  # bytes of a token: 61 layers, 576 numbers, bf16
DRAFT = 3072


def event(kind: str, at: datetime | None = None, line: int = 50, **fields: Any) -> Event:
    return Event(kind, fields, source=0, line=line, origin=0, at=at or START, text=f"{kind} {fields}")


def pool(role: str, tokens: int | None, size: float | None, kind: str = "mla", **kwargs: Any) -> Pool:
    """A pool as its line prints it: `size` GiB in all, K and V apart where the kind is mha."""
    if size is None:
        return Pool(role, kind, tokens, **kwargs)
    if kind == "mha":
        half = round(size / 2, 2)
        return Pool(role, kind, tokens, half, half, round(2 * half, 2), **kwargs)
    return Pool(role, kind, tokens, None, None, round(size, 2), **kwargs)


def launch(
    launch_id: str = "L1",
    *,
    before: float | None = 94.0,
    weights: float = 72.63,
    fraction: float | None = 0.85,
    cell: int = MLA,
    shown: int | None = None,
    draft: int | None = None,
    page: int = 1,
    context: int | None = 32768,
    cap: int | None = None,
    running: int | None = 64,
    free: float | None = 9.87,
    version: str | tuple[str | None, str | None] = "0.5.11",
    device: str = "gpu",
    tokens: int | None = None,
    events: tuple[Event, ...] = (),
    kind: str = "mla",
    settings: dict[str, Any] | None = None,
    pools: tuple[Pool, ...] | None = None,
    hour: int = 0,
    end: str = "running",
    ready: bool = True,
    requests: Requests | None = None,
    requested: dict[str, Any] | None = None,
    source: str = "server_args",
    truncated: bool = False,
) -> Launch:
    """A server whose arithmetic closes unless told otherwise.

    `cell` is what the budget pays for a token, `shown` what the target's own line shows, `draft` the same
    of a draft pool. `tokens` overrides what the rule gives.
    """
    rest = fraction * before - weights if before is not None and fraction is not None else None
    profiled = int(rest * GIB / cell) // page * page if rest is not None else None
    if tokens is None:
        tokens = profiled if cap is None or profiled is None else min(profiled, cap) // page * page
    if pools is None:
        size = None if tokens is None else (tokens + page) * (shown or cell) / GIB
        pools = () if size is None else (pool("target", tokens, size, kind, ranks=8),)
        if draft is not None and tokens is not None:
            pools += (pool("draft", tokens, (tokens + page) * draft / GIB, "mha", ranks=8),)
    oldest, newest = (version, version) if isinstance(version, str) else version
    values = {
        "context_length": context,
        "mem_fraction_static": fraction,
        "max_running_requests": running,
        "max_total_tokens": cap,
        "page_size": page,
        "tp_size": 8,
        "chunked_prefill_size": 8192,
        "kv_cache_dtype": "auto",
        **(settings or {}),
    }
    started = START + timedelta(hours=hour)
    after = None if before is None else round(before - weights, 2)
    longest = min(context, tokens) - 7 if context is not None and tokens is not None else None
    return Launch(
        id=launch_id,
        config=Config(values, source, truncated, requested or {}, Place("log.txt", 12)),
        started_at=started,
        ready_at=started + timedelta(minutes=4) if ready else None,
        last_at=started + timedelta(minutes=30),
        end=end,
        version=VersionRange(oldest, newest, "server_args fields"),
        device=device,
        pool_tokens=tokens,
        context_len=context,
        max_running_requests=running,
        longest_prompt_tokens=longest,
        free_gib=free,
        memory=Memory(before, after, None),
        pools=pools,
        requests=requests or Requests(),
        events=events,
        evidence={"config": Place("log.txt", 12), "pool_tokens": Place("log.txt", 98)},
    )


def incident(launch_id: str = "L1", context: int = 32768, free: float = 9.87, **kwargs: Any) -> Launch:
    """The incident: MLA target, six GQA draft layers priced like target layers, T = 101,134."""
    if not kwargs.keys() & {"fraction", "weights", "before", "cap"}:
        kwargs.setdefault("tokens", 101134)
    return launch(
        launch_id,
        cell=77184,
        shown=MLA,
        draft=DRAFT,
        context=context,
        free=free,
        settings={"speculative_algorithm": "DFLASH", **kwargs.pop("settings", {})},
        **kwargs,
    )


def failed(launch_id: str, *events: Event, **kwargs: Any) -> Launch:
    """A start that died before it had a pool."""
    made = launch(launch_id, events=events, ready=False, end="failed_start", **kwargs)
    return replace(
        made,
        pool_tokens=None,
        context_len=None,
        max_running_requests=None,
        longest_prompt_tokens=None,
        free_gib=None,
        pools=(),
    )
