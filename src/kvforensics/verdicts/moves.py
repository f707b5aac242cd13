"""In which direction a setting was changed, and in which direction that should move a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.sizing.facts import number

if TYPE_CHECKING:
    from kvforensics.changes import Change
    from kvforensics.knowledge import Knob
    from kvforensics.launches import Launch

_UNLIMITED = frozenset({"max_total_tokens", "max_queued_requests", "prefill_max_requests"})
_WIDTHS = {  # bytes of a cache element; `auto` is the model's own 16-bit type unless the log says otherwise
    "fp4_e2m1": 0.5,
    "fp8_e5m2": 1.0,
    "fp8_e4m3": 1.0,
    "auto": 2.0,
    "bf16": 2.0,
    "bfloat16": 2.0,
    "half": 2.0,
    "float16": 2.0,
    "float32": 4.0,
    "float": 4.0,
}
_NARROWER_IS_MORE = frozenset({"kv_cache_dtype", "speculative_draft_kv_cache_dtype", "mamba_ssm_dtype"})


def direction(change: Change, older: Launch, newer: Launch) -> int | None:
    """Return 1 where the setting was raised (enabled; for a dtype, narrowed), -1 where lowered.

    0 where what applied stayed, None where the two values have no order that the log shows.
    """
    before, after = _figure(change, change.before, older), _figure(change, change.after, newer)
    if change.setting in _NARROWER_IS_MORE:
        wide, narrow = _WIDTHS.get(str(change.before)), _WIDTHS.get(str(change.after))
        return None if wide is None or narrow is None else _sign(wide - narrow)
    if isinstance(before, bool | None) and isinstance(after, bool | None) and (before or after):
        return _sign(int(bool(after)) - int(bool(before)))
    low, high = _ordered(change.setting, before), _ordered(change.setting, after)
    if low is None or high is None:
        return _switched(before, after)
    return _sign((high > low) - (high < low))


def fits(move: str, change: Change, way: int | None) -> bool:
    """Whether a pattern's `move` is the way the setting went; an unknown way fits `any` alone."""
    if move == "any":
        return True
    if move == "enabled":
        return _on(change.after) and not _on(change.before)
    if move == "disabled":
        return _on(change.before) and not _on(change.after)
    return way == (1 if move == "raised" else -1)


def expected(knob: Knob, figure: str, way: int | None) -> int | None:
    """Return the sign in which the change should move a figure: 0 for not at all, None where it depends."""
    rule = knob.direction.get(figure, "0")
    if rule == "0":
        return 0
    if rule == "±" or way is None:
        return None
    return way if rule in ("+", "cap") else -way


def _figure(change: Change, value: Any, launch: Launch) -> Any:
    """Return the value, or what the engine reports for one that it filled in itself."""
    if value is None and change.setting == "context_length":
        return launch.context_len
    if value is None and change.setting == "max_running_requests":
        return launch.max_running_requests
    if value is None and change.setting == "max_mamba_cache_size":
        return next((p.tokens for p in launch.pools if p.role == "mamba"), None)
    return value


def _ordered(setting: str, value: Any) -> float | None:
    if value is None:
        return float("inf") if setting in _UNLIMITED else None
    if isinstance(value, bool):
        return float(value)
    return number(value)


def _switched(before: Any, after: Any) -> int | None:
    """Read a value as a switch: giving one to a feature raises it, taking it away lowers it."""
    if before is None and after is not None:
        return 1
    return -1 if before is not None and after is None else None


def _on(value: Any) -> bool:
    return value not in (None, False, 0, "", "none", "null", "off")


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
