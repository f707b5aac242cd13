"""What takes any bytes, by name: each carrier, each grammar, settings lines, blocks of records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fuzz import corpus, invariants

if TYPE_CHECKING:
    from collections.abc import Callable


def _text(check: Callable[[str], None], data: bytes) -> None:
    check(data.decode("utf-8", "replace"))


def _settings(data: bytes) -> None:
    invariants.settings_line("server_args=" + data.decode("utf-8", "replace"))


def _records(data: bytes) -> None:
    texts: list[str | None] = [*data.decode("utf-8", "replace").split("\x00")]
    invariants.lines(texts, [len(texts) // 2])


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{
        f"carrier:{name or 'any'}": partial(invariants.carrier, name=name)
        for name in invariants.CARRIER_NAMES
    },
    **{f"grammar:{name}": partial(_text, partial(invariants.grammar, name)) for name in corpus.GRAMMARS},
    "settings": _settings,
    "records": _records,
}
