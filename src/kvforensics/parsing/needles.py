"""Which of many constants stand in a text, without looking for each of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_GRAM = 4
_LONG = 20_000  # characters from which on looking for each constant takes less time and memory


class Needles:
    """An index of constants by four characters of each, the four that fewest other constants share.

    Owners are numbers; a text has an owner when one of the owner's constants stands in it.
    """

    def __init__(self, needles: Mapping[int, Sequence[str]], grams: Mapping[str, str] | None = None) -> None:
        owners: dict[str, list[int]] = {}
        for owner, constants in needles.items():
            for constant in constants:
                owners.setdefault(constant, []).append(owner)
        chosen = rarest(owners) if grams is None else grams
        self._by_gram: dict[str, list[tuple[str, list[int]]]] = {}
        self._short: list[tuple[str, list[int]]] = []
        for constant, numbers in owners.items():
            if constant in chosen:
                self._by_gram.setdefault(chosen[constant], []).append((constant, numbers))
            else:
                self._short.append((constant, numbers))

    def owners(self, text: str) -> list[int]:
        """Return the owners of the constants that stand in a text, in ascending order."""
        found: set[int] = set()
        for constant, numbers in self._short:
            if constant in text:
                found.update(numbers)
        grams = self._by_gram.keys() & _grams(text) if len(text) <= _LONG else self._by_gram.keys()
        for gram in grams:
            for constant, numbers in self._by_gram[gram]:
                if constant in text:
                    found.update(numbers)
        return sorted(found)


def rarest(constants: Collection[str]) -> dict[str, str]:
    """Return of each constant that is long enough the four characters that fewest others share."""
    shared = Counter(gram for constant in constants for gram in _grams(constant))
    grams = ((constant, sorted(_grams(constant))) for constant in constants)
    return {constant: min(found, key=shared.__getitem__) for constant, found in grams if found}


def _grams(text: str) -> set[str]:
    return {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)}
