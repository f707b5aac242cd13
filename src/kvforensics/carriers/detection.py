"""Which carrier a source is. All but plain text are loaded when something may be theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.carriers.plain import Plain
from kvforensics.carriers.telltale import may_be_carried
from kvforensics.carriers.wrapped import Wrapped
from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from kvforensics.carriers.carrier import Carrier, Head


def carriers() -> tuple[Carrier, ...]:
    """Return every carrier."""
    from kvforensics.carriers.registry import CARRIERS  # noqa: PLC0415 - the modules of all of them

    return CARRIERS


def detect(head: Head) -> Carrier:
    """Return the carrier that knows most of the head's lines; the first of them on a tie.

    Text that somebody wrapped is put together again before anything is looked for in it.
    """
    if not may_be_carried(head):
        return Plain()
    best, best_score = carriers()[-1], 0.0
    for carrier in carriers():
        score = carrier.score(head)
        if score > best_score:
            best, best_score = carrier, score
    return Plain() if best_score < Wrapped().score(head) else best


def by_name(name: str) -> Carrier:
    """Return the carrier of this name. Raises UsageError when there is none."""
    if name == Plain.name:
        return Plain()
    for carrier in carriers():
        if carrier.name == name:
            return carrier
    names = ", ".join(sorted({carrier.name for carrier in carriers()}))
    raise UsageError(f"there is no carrier {name!r}", hint=f"carriers: {names}")
