"""A log written by hand: events with lines, times and origins, as the parser would give them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl

from kvforensics.events import BASE_SCHEMA, RANK_TAGS, SEEN_SCHEMA, Event, EventBlock, Ranks
from kvforensics.launches import ServiceHistory, build
from kvforensics.launches.kinds import proves_sglang
from kvforensics.records import Origin, Origins, Source
from kvforensics.samples import Samples

START = datetime(2026, 5, 20, 9, 0)
UNIT = "sglang-k26.service"
CONFIG = {"context_length": 32768, "mem_fraction_static": 0.85, "tp_size": 2, "node_rank": 0}


class Log:
    """One source. Each call writes one line, a second after the one before unless `at` says otherwise."""

    def __init__(self, path: str = "a.log", at: datetime | None = START, **origin: Any) -> None:
        self.source = Source(path)
        self.lines: list[tuple[str, dict[str, Any], Origin, datetime | None, Ranks, int | None]] = []
        self.now = at
        self.origin = Origin(**origin)
        self.boot: str | None = None

    def write(
        self,
        kind: str,
        *,
        after: float = 1,
        rank: Ranks | int | None = None,
        origin=None,
        mono=None,
        **fields,
    ):
        """Write an event (or hot line, or `note` for an ordinary record) and return self."""
        if self.now is not None:
            self.now += timedelta(seconds=after)
        ranks = rank if isinstance(rank, Ranks) else Ranks(tp=rank)
        who = Origin(**{**self.origin._asdict(), **(origin or {})})
        self.lines.append((kind, fields, who, self.now, ranks, mono))
        return self

    def systemd(self, kind: str, *, unit: str | None = UNIT, after: float = 1, **fields):
        """Write what systemd says about a unit."""
        manager = {"unit": "init.scope" if self.origin.unit else None, "ident": "systemd", "pid": 1}
        manager |= {"invocation": None, "stream": None, "container": None}
        named = {} if unit is None else {"unit": unit}
        return self.write(kind, after=after, origin=manager, **named, **fields)

    def start(
        self,
        ranks: int = 2,
        tokens: int = 101134,
        *,
        config=None,
        ready=True,
        pids=None,
        draft=False,
        **origin,
    ):
        """Write a whole start up to readiness."""
        values = {**CONFIG, **(config or {})}

        def of(rank):
            return {**origin, **({} if pids is None else {"pid": pids + 1 + rank})}

        main = {**origin, **({} if pids is None else {"pid": pids})}
        self.write("server_args", origin=main, values=values, form="repr", truncated=False)
        for kind, fields in (
            ("init_begin", {}),
            ("init_end", {"mem_usage_gib": 1.2}),
            ("load_begin", {"avail_gib": 94.0}),
            ("load_end", {"avail_gib": 21.37, "model_type": "DeepseekV3ForCausalLM"}),
            ("kv_pool", {"label": "KV Cache", "state": "is allocated", "tokens": tokens, "kv_gib": 6.62}),
            ("pool_end", {"avail_gib": 14.2}),
        ):
            for rank in range(ranks):
                self.write(kind, rank=rank, origin=of(rank), after=0.1, **fields)
        if draft:
            for kind, fields in (
                ("load_begin", {"avail_gib": 14.1}),
                ("load_end", {"avail_gib": 13.0, "model_type": "DFlashDraftModel"}),
                (
                    "kv_pool",
                    {
                        "label": "KV Cache",
                        "state": "is allocated",
                        "tokens": tokens,
                        "k_gib": 0.14,
                        "v_gib": 0.14,
                    },
                ),
                ("pool_end", {"avail_gib": 12.7}),
            ):
                for rank in range(ranks):
                    self.write(kind, rank=rank, origin=of(rank), after=0.1, **fields)
        self.write(
            "summary",
            rank=0,
            origin=of(0),
            pool_tokens=tokens,
            max_running_requests=64,
            context_len=values["context_length"],
            device="gpu",
            free_gib=9.87,
        )
        if ready:
            self.write("ready", origin=main)
        return self


HOT = {"prefill", "decode", "retraction", "too_long", "access"}


def histories(*logs: Log, handed=None, blocks: int = 1, flip: int = 0) -> list[ServiceHistory]:
    """Build the histories of logs given as several inputs.

    `blocks` cuts each source into that many; `flip` numbers lines down from there, as the carrier of an
    input printed newest first does.
    """
    origins, samples, events = Origins(), Samples(), []
    for index, log in enumerate(logs):
        size = -(-max(len(log.lines), 1) // blocks)
        for first in range(0, len(log.lines), size):
            block = _block(log, index, origins, first, first + size, flip)
            events += block.rare
            samples.add(block)
    return build([log.source for log in logs], origins, events, samples, handed)


def _block(log: Log, index: int, origins: Origins, first: int, last: int, flip: int) -> EventBlock:
    block = EventBlock()
    hot: dict[str, list[dict[str, Any]]] = {}
    seen = []
    for number, (kind, fields, who, at, ranks, mono) in enumerate(log.lines[first:last], first + 1):
        number = flip + 1 - number if flip else number  # noqa: PLW2901
        origin = origins.intern(who)
        ours = int(kind != "note" and (kind in HOT or proves_sglang(kind)))
        seen.append({"source": index, "line": number, "at": at, "origin": origin, "records": 1, "ours": ours})
        if kind in HOT:
            row = {"source": index, "line": number, "at": at, "origin": origin, **ranks._asdict(), **fields}
            hot.setdefault(kind, []).append(row)
        elif kind != "note":
            block.rare.append(
                Event(kind, fields, index, number, origin, at, at, mono, None, ranks, f"{kind} {fields}")
            )
    block.seen = pl.DataFrame(seen, schema=SEEN_SCHEMA)
    for kind, rows in hot.items():
        names = {name for row in rows for name in row}
        block.hot[kind] = pl.DataFrame(
            {
                name: [row.get(name) for row in rows]
                for name in [*BASE_SCHEMA, *sorted(names - set(BASE_SCHEMA))]
            },
            schema_overrides={**BASE_SCHEMA, **{tag: pl.Int32() for tag in RANK_TAGS}},
        )
    return block


def only(*logs: Log, **kwargs) -> ServiceHistory:
    """Build the history of logs that are one service."""
    found = histories(*logs, **kwargs)
    assert len(found) == 1, [history.id for history in found]
    return found[0]


def ends(history: ServiceHistory) -> list[str]:
    return [launch.end for launch in history.launches]
