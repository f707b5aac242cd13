"""A launch: one start of the server, from its first line to its end, ranks and workers merged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.knowledge.releases import VersionRange as VersionRange  # noqa: PLC0414  exported from here too

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from kvforensics.events import Event
    from kvforensics.records import Place


class Pool(Struct, frozen=True):
    """One KV pool of a rank: the rank with the largest figure. Memory in GiB."""

    role: str  # target | draft | full | swa | mamba | host | other
    kind: str  # mha | mla | mamba | other
    tokens: int | None = None
    k_gib: float | None = None
    v_gib: float | None = None
    total_gib: float | None = None
    dtype: str | None = None
    ranks: int = 1
    place: Place | None = None


class Memory(Struct, frozen=True):
    """Free memory along the start, in GiB, minimum over ranks."""

    before_load_gib: float | None = None  # P of the pool rule
    after_load_gib: float | None = None  # A: target's weights up to 0.5.13, the draft's from 0.5.14
    after_pool_gib: float | None = None  # the last `Memory pool end`


class Requests(Struct, frozen=True):
    """What the scheduler lines of a launch add up to. None where no such line was printed."""

    rejected_too_long: int = 0
    retractions: int = 0
    peak_token_usage: float | None = None
    peak_running: int | None = None
    peak_queue: int | None = None
    refused_by_pool: int = 0  # of rejected_too_long, those that the pool refused
    refused_by_context: int = 0  # and those that the context length refused
    first_retraction: Place | None = None
    first_refused_by_pool: Place | None = None
    first_refused_by_context: Place | None = None
    first_retraction_at: datetime | None = None  # naive UTC, of these lines
    first_refused_by_pool_at: datetime | None = None
    first_refused_by_context_at: datetime | None = None


class Config(Struct, frozen=True):
    """The settings of a launch. `values` are effective ones, named as this version names them."""

    values: Mapping[str, Any] = field(default_factory=dict)
    source: str = "none"  # server_args | cmdline | unit_file | partial | none
    truncated: bool = False
    requested: Mapping[str, Any] = field(
        default_factory=dict
    )  # what a command line asked for, if one is known
    place: Place | None = None
    handed: Mapping[str, Any] | None = None  # what a file that the user handed in asks for, run or not
    given_twice: frozenset[str] = frozenset()  # settings of which `requested` holds the value that lost


class Launch(Struct, frozen=True):
    """One start of the server. Everything the log does not say is None; nothing is guessed."""

    id: str  # L1, L2 … within its service
    config: Config
    started_at: datetime | None = None  # naive UTC, as all times here
    ready_at: datetime | None = None
    ended_at: datetime | None = None
    last_at: datetime | None = None  # the last record that belongs to this launch
    end: str = "unknown"  # running|stopped|restarted|crashed|killed|oom|failed_start|unknown
    engine: str = "sglang"
    version: VersionRange = field(default_factory=VersionRange)
    device: str | None = None  # gpu | cpu, from the summary line
    pool_tokens: int | None = None
    context_len: int | None = None
    max_running_requests: int | None = None
    longest_prompt_tokens: int | None = None
    free_gib: float | None = None
    memory: Memory = Memory()
    pools: tuple[Pool, ...] = ()
    requests: Requests = Requests()
    downtime_s: float | None = None
    complete_start: bool = True  # False: the head of a rotated log, its start is missing
    events: tuple[Event, ...] = ()  # rare events in order, for findings, verdicts and views
    evidence: Mapping[str, Place] = field(default_factory=dict)  # "config", "pool_tokens", "ready" …
