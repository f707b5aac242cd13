"""What tells services apart."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One service. `stream` is the identifier of a host's text stream that carries no unit."""

    host: str | None = None
    unit: str | None = None
    container: str | None = None
    stream: str | None = None


def says_sglang(name: str) -> bool:
    """Whether a name is that of an SGLang server by its own word."""
    return "sglang" in name.lower()
