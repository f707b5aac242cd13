"""The pool's budget of one launch, held against what its own lines say was allocated."""

from __future__ import annotations

from msgspec import Struct


class Budget(Struct, frozen=True):
    """The contract's `sizing` object and `bytes_per_token`; memory in GiB, None where unknown."""

    rest_gib: float | None = None
    pools_gib: float | None = None
    closure_gib: float | None = None
    closes: bool | None = None
    why_not: str | None = None
    predicted_tokens: int | None = None
    residual_percent: float | None = None
    error_percent: float | None = None
    binding: str = "unknown"  # memory | max_total_tokens | pp_min | unknown
    bytes_per_token: int | None = None  # what the budget paid for a token; None unless memory binds
