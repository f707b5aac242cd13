"""A judgement before it is joined with its change and the effects of the pair."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Decision(Struct, frozen=True):
    """Verdict, code, words and credit of one change."""

    verdict: str
    code: str
    reason: str
    advice: str | None = None
    attribution: str = "none"


def shown(value: Any) -> str:
    """Write a setting's value for a person; long ones are cut, whole numbers grouped."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**30 else "a huge number"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004 a line of a terminal


def moved(before: float | None, after: float | None, unit: str = "tokens") -> str:
    """Write a figure's way from before to after."""
    if before is None or after is None:
        return "unknown"
    if isinstance(before, float) or isinstance(after, float):
        return f"{before:.2f} to {after:.2f} {unit}"
    return f"{before:,} to {after:,} {unit}"
