"""The campaigns: one function makes and checks the case of a number. The same number is the same case."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from fuzz import corpus, damage, invariants

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def carriers(number: int, folder: Path) -> None:
    """Read damaged bytes as the carrier that they seem to be, or as any other."""
    del folder
    chance = random.Random(number)
    data = chance.choice(corpus.files())
    begin = chance.randrange(len(data)) if chance.random() < 0.5 else 0
    data = damage.of_bytes(data[begin : begin + chance.choice((200, 1500, 6000))], chance)
    name = None if chance.random() < 0.7 else chance.choice(invariants.CARRIER_NAMES)
    cuts = (
        [chance.randrange(len(data) + 1) for _ in range(chance.randrange(6))] if chance.random() < 0.3 else []
    )
    invariants.carrier(data, name, cuts, chance.choice((1, 100, 4000)) if cuts else 8 << 20)


def grammars(number: int, folder: Path) -> None:
    """Parse a damaged line with one grammar."""
    del folder
    chance = random.Random(number)
    if chance.random() < 0.02:
        text = chance.choice(corpus.settings_lines())
        begin = chance.randrange(len(text) - 300)
        text = text[:40] + text[begin : begin + chance.choice((100, 300))]
        invariants.settings_line(damage.of_text(text, chance))
        return
    name, text = chance.choice(corpus.bodies())
    if chance.random() < 0.2:
        text += chance.choice(("", " ", ", ")) + chance.choice(corpus.lines())
    other = chance.random() < 0.2
    invariants.grammar(chance.choice(corpus.GRAMMARS) if other else name, damage.of_text(text, chance))


def records(number: int, folder: Path) -> None:
    """Parse a block of damaged lines, in one piece and in several."""
    del folder
    chance = random.Random(number)
    texts: list[str | None] = [
        damage.of_text(text, chance) for text in chance.choices(corpus.lines(), k=chance.randint(1, 12))
    ]
    if chance.random() < 0.1:
        texts.append(None)
    cuts = [chance.randrange(len(texts) + 1) for _ in range(3)] if chance.random() < 0.2 else []
    invariants.lines(texts, cuts)


def whole(number: int, folder: Path) -> None:
    """Analyse a damaged log whose right verdicts are known; then the same log cut in two files."""
    chance = random.Random(number)
    logs = corpus.known()
    half = len(logs) // 2
    log = chance.choice(
        logs[:half] if chance.random() < 0.1 else logs[half:]
    )  # whole settings lines take long
    made = damage.of_lines(log.lines, chance)
    carried = chance.random() < 0.3
    write: Callable[[list[str]], bytes] = corpus.docker if carried else _plain
    said = invariants.whole([_written(folder / "log", write(made.lines))])
    invariants.no_verdict_became_wrong(said, invariants.truths()[log.name])
    if chance.random() < 0.3 and not carried and made.in_order and made.lines:
        cut = chance.randrange(len(made.lines) + 1)
        parts = [made.lines[:cut], made.lines[cut:]]
        paths = [_written(folder / f"part{n}", write(part)) for n, part in enumerate(parts) if part]
        assert invariants.essence(invariants.whole(paths)) == invariants.essence(said), (
            "cut in two, it says otherwise"
        )


def sources(number: int, folder: Path) -> None:
    """Analyse any sample file, damaged as bytes."""
    chance = random.Random(number)
    data = damage.of_bytes(chance.choice(corpus.files()), chance)
    invariants.whole([_written(folder / "log", data)])


def _plain(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


CAMPAIGNS: dict[str, Callable[[int, Path], Any]] = {
    "carriers": carriers,
    "grammars": grammars,
    "records": records,
    "whole": whole,
    "sources": sources,
}
