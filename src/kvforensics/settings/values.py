"""When two values of a setting are the same value."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from kvforensics.knowledge.data import toml

if TYPE_CHECKING:
    from collections.abc import Iterable

# Lists whose order means nothing; the engine keeps them as sets, or sorts them itself.
_UNORDERED = frozenset(
    {
        "cuda_graph_bs", "cuda_graph_bs_decode", "cuda_graph_bs_prefill", "piecewise_cuda_graph_tokens",
        "lora_target_modules", "lora_paths", "uvicorn_access_log_exclude_prefixes", "allowed_media_domains",
        "tokenizer_metrics_allowed_custom_labels", "log_requests_target", "encoder_urls", "stat_loggers",
        "flashinfer_autotune_skip_ops", "mooncake_ib_device", "custom_weight_loader",
    }
)  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DEPTH = 40
_SCALARS = (str, int, float, type(None))


def canonical_value(setting: str, value: Any) -> Any:
    """Return a value in a form in which equal values of this setting are equal and can be hashed.

    Numbers lose their kind (300 and 300.0), containers theirs (list, tuple), sets and lists without an
    order are sorted, object addresses go, and the spellings of renames.toml become one.
    """
    if isinstance(value, str):
        return _canonical_text(setting, value)
    if value is None and setting in toml("renames")["same"]:
        return _one_spelling(setting, "None")
    return _canonical(value, unordered=setting in _UNORDERED, depth=0)


def same(setting: str, one: Any, other: Any) -> bool:
    """Tell whether two values of a setting mean the same."""
    if type(one) is type(other) and isinstance(one, _SCALARS) and one == other:
        return True
    return bool(canonical_value(setting, one) == canonical_value(setting, other))


def _canonical_text(setting: str, value: str) -> Any:
    text = _ADDRESS.sub("", value)
    if text[:1] in "[{" and text[:1]:
        try:
            return _canonical(json.loads(text), unordered=setting in _UNORDERED, depth=0)
        except (ValueError, RecursionError):
            return text
    return _one_spelling(setting, text)


def _one_spelling(setting: str, text: str) -> Any:
    for group in toml("renames")["same"].get(setting, ()):
        if text in group:
            return None if "None" in group else group[-1]
    return text


def _canonical(value: Any, *, unordered: bool, depth: int) -> Any:
    if depth > _DEPTH:
        return repr(type(value))
    if isinstance(value, bool) or value is None:
        return ("bool", value) if isinstance(value, bool) else None
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str):
        return _ADDRESS.sub("", value)
    if isinstance(value, dict):
        pairs = ((str(key), _canonical(one, unordered=False, depth=depth + 1)) for key, one in value.items())
        return ("dict", tuple(sorted(pairs, key=repr)))
    if isinstance(value, list | tuple | set | frozenset):
        return _sequence(value, unordered=unordered or isinstance(value, set | frozenset), depth=depth)
    return _ADDRESS.sub("", repr(value))


def _number(value: float) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def _sequence(value: Iterable[Any], *, unordered: bool, depth: int) -> Any:
    items = [_canonical(one, unordered=False, depth=depth + 1) for one in value]
    return ("list", tuple(sorted(items, key=repr) if unordered else items))
