"""Effective values made comparable across releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.settings.names import names_of, rename

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kvforensics.knowledge.releases import Version


def normalise(
    values: Mapping[str, Any], version: Version = None, names: Collection[str] | None = None
) -> dict[str, Any]:
    """Return settings as another release would print them: its names, its way to write DP attention.

    `names` are the settings that the other side knows; without them, those of the newest release of
    `version`. Settings that the other side lacks keep their names. Values are not changed, except where
    a name says the opposite and where DP attention is written otherwise.
    """
    known = names_of(version) if names is None else names
    return _dp_attention(rename(values, known), known)


def _dp_attention(values: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Write attention data parallelism as the other side does.

    Up to 0.5.21 it is `dp_size=N, enable_dp_attention=True`; later `attn_dp_size=N, dp_size=1,
    enable_dp_attention=False` (arg_groups/parallel_hook.py@0.5.23).
    """
    size = values.get("dp_size")
    groups = values.get("attn_dp_size")
    if "attn_dp_size" in names:
        if values.get("enable_dp_attention") is True and isinstance(size, int) and size > 1:
            return {**values, "attn_dp_size": size, "dp_size": 1, "enable_dp_attention": False}
        if "attn_dp_size" not in values and "enable_dp_attention" in values and "dp_size" in values:
            return {**values, "attn_dp_size": 1}
    elif groups is not None:
        rest = {name: value for name, value in values.items() if name != "attn_dp_size"}
        if isinstance(groups, int) and groups > 1 and size in (None, 1):
            return {**rest, "dp_size": groups, "enable_dp_attention": True}
        return rest if groups == 1 else values
    return values


def attention_groups(values: Mapping[str, Any]) -> int | None:
    """Return over how many attention groups request and chunk limits are divided; None where unknown."""
    groups = values.get("attn_dp_size")
    size = values.get("dp_size")
    if isinstance(groups, int) and groups > 1:
        return groups
    if values.get("enable_dp_attention") is True:
        return size if isinstance(size, int) and size > 0 else None
    if "enable_dp_attention" in values or "attn_dp_size" in values:
        return 1
    return None
