"""What one launch says about its pool, as numbers: the terms of the pool rule.

`rest = A - P*(1-f)` GiB, `T = floor(rest*2^30 / cell)`; the form is the same from SGLang 0.3.0
(model_executor/model_runner.py) to 0.5.23 (mem_cache/kv_cache_configurator.py).
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from kvforensics.events import Event
    from kvforensics.launches import Launch, Pool

GIB = 2**30
HALF_HUNDREDTH_GIB = 0.005  # what a figure printed with two decimals can be off by
DRIFT_GIB = 0.05  # identical launches on a GPU differ by this much
DRIFT_CPU_GIB = 0.15  # and where host memory is the device
EAGLE_LIKE = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})
MOST_GIB = 10**6
NO_DRAFT_MODEL = frozenset({"NGRAM"})


class Facts(Struct, frozen=True):
    """The terms of the pool rule that a launch's lines give. Memory in GiB; None where not said."""

    tokens: int | None  # T
    page: int
    fraction: float | None  # f, after a change that the engine announced
    before: float | None  # P
    after: float | None  # A
    reserved: float  # taken off the budget for multimodal features, 0.5.18 and later
    cap: int | None  # max_total_tokens
    cap_binds: bool
    pools_gib: float | None  # of one rank, all GPU pools; None when one of them does not say
    draft_gib: float | None
    state_gib: float | None  # mamba
    printed_figures: int  # how many two-decimal figures `pools_gib` adds up
    on_cpu: bool

    @property
    def rest(self) -> float | None:
        """The budget of the pools in GiB."""
        if self.before is None or self.after is None or self.fraction is None:
            return None
        return self.after - self.before * (1 - self.fraction) - self.reserved

    @property
    def drift(self) -> float:
        """GiB by which identical launches differ."""
        return DRIFT_CPU_GIB if self.on_cpu else DRIFT_GIB

    @property
    def bytes_shown(self) -> int | None:
        """Bytes that the pools' own lines show a token of T to take on one GPU."""
        if self.pools_gib is None or self.tokens is None or self.tokens <= 0:
            return None
        shown = int(self.pools_gib * GIB / (self.tokens + self.page))
        return shown or None

    @property
    def holds_at_least(self) -> int | None:
        """Tokens that the budget surely holds, every printed figure being as small as it can be."""
        if self.pools_gib is None or self.rest is None or not self.tokens or self.rest <= 0:
            return None
        most = (self.pools_gib + self.printed_figures * HALF_HUNDREDTH_GIB) / (self.tokens + self.page)
        sure = self.rest - 2 * HALF_HUNDREDTH_GIB - 2 * self.drift
        return int(sure / most) if sure > 0 and most > 0 else None


def facts(launch: Launch) -> Facts:
    """Collect the terms of the pool rule from a launch."""
    page = positive(launch.config.values.get("page_size"))
    page = int(page) if page is not None and page >= 1 else 1
    pools = gpu_pools(launch)
    draft = sum_gib([p for p in pools if p.role == "draft"])
    return Facts(
        tokens=launch.pool_tokens,
        page=page,
        fraction=fraction(launch),
        before=gib(launch.memory.before_load_gib),
        after=gib(launch.memory.after_load_gib),
        reserved=_reserved(launch),
        cap=cap(launch),
        cap_binds=cap_binds(launch, page),
        pools_gib=sum_gib(pools),
        draft_gib=draft,
        state_gib=sum_gib([p for p in pools if p.role == "mamba"]),
        printed_figures=sum(2 if p.k_gib is not None and p.v_gib is not None else 1 for p in pools),
        on_cpu=on_cpu(launch),
    )


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else (booleans and text included)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return float(value) if abs(value) < 10**15 else None
    return value if isfinite(value) else None


def positive(value: Any) -> float | None:
    """Return a finite number above zero, None for anything else."""
    found = number(value)
    return found if found is not None and found > 0 else None


def gib(value: Any) -> float | None:
    """Return an amount of memory in GiB that a machine could have, None for anything else."""
    found = number(value)
    return found if found is not None and 0 <= found <= MOST_GIB else None


def first_event(launch: Launch, kind: str) -> Event | None:
    """Return a launch's first event of a kind."""
    return next((e for e in launch.events if e.kind == kind), None)


def last_event(launch: Launch, kind: str) -> Event | None:
    """Return a launch's last event of a kind."""
    return next((e for e in reversed(launch.events) if e.kind == kind), None)


def fraction(launch: Launch) -> float | None:
    """Return f as it applied: an announced change by the engine wins over `server_args`.

    0.4.4 to 0.4.8 print `Automatically reduce --mem-fraction-static to X` after `server_args`
    (model_executor/model_runner.py:273@0.4.4.post4).
    """
    announced = last_event(launch, "adjust__mem_fraction_static")
    value = positive(announced.fields.get("value")) if announced else None
    if value is None:
        value = positive(launch.config.values.get("mem_fraction_static"))
    return value if value is not None and value <= 1 else None


def cap(launch: Launch) -> int | None:
    """Return `max_total_tokens` where one is set."""
    value = positive(launch.config.values.get("max_total_tokens"))
    return int(value) if value is not None else None


def cap_binds(launch: Launch, page: int = 1) -> bool:
    """Whether `max_total_tokens`, and not memory, set the pool's size.

    The engine warns when the cap is above what it profiled, and takes the profiled value
    (model_executor/model_runner_kv_cache_mixin.py:681@0.5.11).
    """
    limit = cap(launch)
    if limit is None or launch.pool_tokens is None or first_event(launch, "cap_above_profile"):
        return False
    return limit // page * page == launch.pool_tokens


def gpu_pools(launch: Launch) -> list[Pool]:
    """Return the pools that take GPU memory out of, or beside, the budget."""
    return [p for p in launch.pools if p.role != "host"]


def sum_gib(pools: list[Pool]) -> float | None:
    """Add up pools in GiB; None when there is none or one does not say its size."""
    sizes = [gib(p.total_gib) for p in pools]
    if not sizes or any(size is None for size in sizes):
        return None
    return sum(size for size in sizes if size is not None)


def is_plain(launch: Launch) -> bool:
    """Whether the target's pool is all that the budget pays for: no draft, no window, no state."""
    return {p.role for p in gpu_pools(launch)} == {"target"} and algorithm(launch) is None


def on_cpu(launch: Launch) -> bool:
    """Whether the server ran on the CPU, where host memory is the device."""
    if launch.device is not None:
        return launch.device == "cpu"
    return launch.config.values.get("device") == "cpu"


def algorithm(launch: Launch) -> str | None:
    """Return the speculative algorithm in capitals, None without one."""
    value = launch.config.values.get("speculative_algorithm")
    return value.upper() if isinstance(value, str) and value else None


def _reserved(launch: Launch) -> float:
    event = last_event(launch, "mm_reserved")
    return (gib(event.fields.get("reserved_gib")) if event else None) or 0.0
