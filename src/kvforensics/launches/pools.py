"""Pools and their roles, ranks merged.

A rank prints one line a pool: target, draft, or the full and the sliding-window part of a hybrid. The line
does not say whose pool it is. What tells: the part of the start it stands in (a draft's pool follows
another `Load weight begin` up to 0.5.13, and another `Memory pool end` since), the label (`Full`, `SWA`
since 0.5.17), the token counts of the split of a hybrid, and the shape: MHA pools print K and V, MLA pools
print KV (mem_cache/memory_pool.py:725@0.5.11), so a model with latent attention cannot have printed K and V.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.launches.launch import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kvforensics.events import Event, Ranks
    from kvforensics.records import Place

_ORDER = {role: n for n, role in enumerate(("target", "full", "swa", "mamba", "draft", "host", "other"))}
_RESIZED = "Post-capture"  # the state of a line that says what an upper bound became
_GB_PER_GIB = 1e9 / 2**30  # host pools are printed in decimal GB

# Model classes whose attention is latent in every release that has them (models/*.py@0.5.11).
_LATENT = (
    "DeepseekV2",
    "DeepseekV3",
    "DeepseekV32",
    "DeepseekVL2",
    "GlmMoeDsa",
    "KimiK2",
    "KimiVL",
    "LongcatFlash",
    "MiniCPM3",
)


class _Split(Struct, frozen=True):
    """How a hybrid's tokens are split over full and sliding-window layers."""

    full: int | None
    swa: int | None


def pools(
    ranks: Mapping[Ranks, Sequence[Event]],
    others: Iterable[Event],
    config: Mapping[str, Any],
    place: Callable[[Event], Place],
) -> tuple[Pool, ...]:
    """Return the pools of a launch: one row a pool, the figures of the rank with the largest.

    `ranks` are the start-up events by rank, `others` the launch's events (for host pools).
    """
    merged: dict[tuple[str, int], list[Pool]] = {}
    for events in ranks.values():
        for key, pool in _of_rank(events, config, place).items():
            merged.setdefault(key, []).append(pool)
    for event in others:
        if event.kind == "host_pool" and event.fields.get("host_gb") is not None:
            size = round(float(event.fields["host_gb"]) * _GB_PER_GIB, 2)
            merged.setdefault(("host", 0), []).append(
                Pool("host", "other", total_gib=size, place=place(event))
            )
    ordered = sorted(merged.items(), key=lambda entry: (_ORDER[entry[0][0]], entry[0][1]))
    return tuple(replace(max(rows, key=_size), ranks=len(rows)) for _, rows in ordered)


def _size(pool: Pool) -> tuple[float, int]:
    return pool.total_gib or 0.0, pool.tokens or 0


def _of_rank(
    events: Sequence[Event], config: Mapping[str, Any], place: Callable[[Event], Place]
) -> dict[tuple[str, int], Pool]:
    split = _split_of(events)
    found: dict[tuple[str, int], Pool] = {}
    loads = ends = 0
    loads_at_first: int | None = None
    latent = False
    for event in events:
        if event.kind == "load_begin":
            loads += 1
        elif event.kind == "load_end" and loads <= 1:
            latent = str(event.fields.get("model_type", "")).startswith(_LATENT)
        elif event.kind == "pool_end":
            ends += 1
        elif event.kind == "mamba_pool":
            _put(found, "mamba", _mamba(event, place(event)))
        elif event.kind in ("kv_pool", "kv_skipped"):
            loads_at_first = loads if loads_at_first is None else loads_at_first
            pool = _kv(event, place(event))
            again = loads > loads_at_first or ends > 0
            if event.fields.get("state") == _RESIZED:
                _replace(found, pool, event)
            else:
                _put(found, _role(event, pool, found, split, draft=again), pool)
        elif event.kind in ("post_capture_total", "swa_split"):
            _resize(found, event)
    _without_lines(found, events, place)
    return _without_impossible(found, config, latent=latent)


def _split_of(events: Sequence[Event]) -> _Split | None:
    split: _Split | None = None
    for event in events:
        swa = event.fields.get("swa_tokens")
        first = event.kind == "swa_split" and event.fields.get("state") is None
        if first or (event.kind == "swa_pool" and split is None):
            split = _Split(event.fields.get("full_tokens"), swa)
        elif event.kind == "swa_ring" and split is not None:
            split = _Split(split.full, swa)
    return split


def _role(
    event: Event, pool: Pool, found: Mapping[tuple[str, int], Pool], split: _Split | None, *, draft: bool
) -> str:
    label = str(event.fields.get("label") or "").lower()
    if draft or "draft" in label:
        return "draft"
    if label.startswith("full"):
        return "full" if ("full", 0) not in found else "draft"
    if label.startswith("swa"):
        return "swa" if ("swa", 0) not in found else "draft"
    if split is not None:
        return _hybrid_role(pool, found, split)
    taken = any(role in ("target", "full", "swa") for role, _ in found)
    plain = label in ("", "kv cache", "kv")
    if not taken:
        return "target"
    return "draft" if plain else "other"


def _hybrid_role(pool: Pool, found: Mapping[tuple[str, int], Pool], split: _Split) -> str:
    """Tell the parts of an unlabelled hybrid by their tokens; up to 0.5.16 the window's comes first."""
    fits = [role for role, tokens in (("swa", split.swa), ("full", split.full)) if tokens == pool.tokens]
    free = [role for role in fits if (role, 0) not in found]
    if free:
        return free[0]
    if not fits:
        missing = [role for role in ("swa", "full") if (role, 0) not in found]
        return missing[0] if split.full is None and missing else "draft"
    return "draft"


def _put(found: dict[tuple[str, int], Pool], role: str, pool: Pool) -> None:
    number = sum(name == role for name, _ in found)
    found[role, number] = replace(pool, role=role)


def _replace(found: dict[tuple[str, int], Pool], pool: Pool, event: Event) -> None:
    """Let the size after graph capture stand in for the upper bound printed before (0.5.16 and later)."""
    draft = "draft" in str(event.fields.get("label") or "").lower()
    roles = ("draft",) if draft else ("target", "full", "swa")
    key = next(((role, 0) for role in roles if (role, 0) in found), None)
    if key is None:
        _put(found, roles[0], pool)
        return
    found[key] = replace(pool, role=key[0], kind=found[key].kind, dtype=pool.dtype or found[key].dtype)


def _resize(found: dict[tuple[str, int], Pool], event: Event) -> None:
    """Take the tokens that a resize after graph capture gives; the sizes of the upper bound are void then."""
    if event.kind == "swa_split" and event.fields.get("state") != _RESIZED:
        return
    names = {"target": "tokens", "full": "full_tokens", "swa": "swa_tokens"}
    for role, name in names.items():
        tokens, pool = event.fields.get(name), found.get((role, 0))
        if pool is not None and tokens is not None and tokens != pool.tokens:
            found[role, 0] = replace(pool, tokens=tokens, k_gib=None, v_gib=None, total_gib=None)


def _without_lines(
    found: dict[tuple[str, int], Pool], events: Sequence[Event], place: Callable[[Event], Place]
) -> None:
    """Take the parts of a DeepSeek-V4 pool (0.5.12 and later) from its sizing line, its only one."""
    if any(role in ("target", "full", "swa") for role, _ in found):
        return
    for event in events:
        if event.kind == "dsv4_sizing":
            for role, name in (("full", "full_tokens"), ("swa", "swa_tokens")):
                tokens = event.fields.get(name)
                if tokens is not None:
                    found[role, 0] = Pool(role, "other", tokens, place=place(event))


def _kv(event: Event, place: Place) -> Pool:
    k, v, kv = (event.fields.get(name) for name in ("k_gib", "v_gib", "kv_gib"))
    if k is not None and v is not None:
        kind, total = "mha", round(k + v, 2)
    else:
        kind, total = ("mla" if kv is not None else "other"), kv
    tokens, dtype = event.fields.get("tokens"), event.fields.get("dtype")
    return Pool("other", kind, tokens, k, v, total, dtype, place=place)


def _mamba(event: Event, place: Place) -> Pool:
    parts = ("conv_gib", "ssm_gib", "intermediate_ssm_gib", "intermediate_conv_gib")
    sizes = [event.fields[name] for name in parts if event.fields.get(name) is not None]
    total = round(sum(sizes), 2) if sizes else None
    return Pool("mamba", "mamba", event.fields.get("slots"), total_gib=total, place=place)


def _without_impossible(
    found: dict[tuple[str, int], Pool], config: Mapping[str, Any], *, latent: bool
) -> dict[tuple[str, int], Pool]:
    """Call a K and V line of a model with latent attention what it must be: the draft's."""
    target = found.get(("target", 0))
    speculative = bool(config.get("speculative_algorithm"))
    if not latent or target is None or target.kind != "mha" or not speculative:
        return found
    drafts = [target, *(pool for (role, _), pool in sorted(found.items()) if role == "draft")]
    rest = {key: pool for key, pool in found.items() if key[0] not in ("target", "draft")}
    return {**rest, **{("draft", n): replace(pool, role="draft") for n, pool in enumerate(drafts)}}
