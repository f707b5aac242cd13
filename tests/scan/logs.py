"""Logs of small servers in several carriers, and catalogues as bytes to compare."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from kvforensics.options import Options
from kvforensics.scan.catalogue import TABLES, Catalogue
from kvforensics.scan.engine import Engine, Here
from kvforensics.scan.plan import plan
from kvforensics.scan.reduce import reduce
from kvforensics.scan.store import PUBLIC
from kvforensics.scan.work import Outcome, scan
from tests.acceptance.server import Start, journal

if TYPE_CHECKING:
    from pathlib import Path

Line = tuple[datetime, int, str]


def at(minute: int) -> datetime:
    return datetime(2026, 5, 20, 9) + timedelta(minutes=minute)


def starts(minute: int, **settings) -> list[Line]:
    return Start(**{"ranks": 1, **settings}).lines(at(minute))


def decoding(minute: int, count: int, salt: int = 0, every: float = 1.0) -> list[Line]:
    """Decode lines of one rank, with an access line after each and now and then a retraction."""
    lines: list[Line] = []
    for number in range(count):
        when = at(minute) + timedelta(seconds=number * every)
        stamp = f"[{when:%Y-%m-%d %H:%M:%S} TP0]"
        tokens = 1000 + 7 * number + salt
        lines.append(
            (
                when,
                0,
                (
                    f"{stamp} Decode batch. #running-req: {1 + number % 5}, #token: {tokens}, token usage: "
                    f"{0.01 + number % 90 / 100:.2f}, cuda graph: True, gen throughput (token/s): "
                    f"{100 + number % 13 + salt}.25, #queue-req: {number % 3}, "
                ),
            )
        )
        lines.append(
            (when, -1, f'INFO:     127.0.0.1:{4000 + salt + number} - "POST /generate HTTP/1.1" 200 OK')
        )
        if number % 41 == 40:
            lines.append(
                (
                    when,
                    0,
                    (
                        f"{stamp} KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 40, "
                        f"#new_token_ratio: 0.70 -> 0.92"
                    ),
                )
            )
    return lines


def plain(*parts: list[Line]) -> bytes:
    return "".join(f"{text}\n" for part in parts for _, _, text in part).encode()


def docker(*parts: list[Line]) -> bytes:
    rows = (
        json.dumps({"log": f"{text}\n", "stream": "stderr", "time": f"{when:%Y-%m-%dT%H:%M:%S.%f}000Z"})
        for part in parts
        for when, _, text in part
    )
    return "".join(f"{row}\n" for row in rows).encode()


def cri(*parts: list[Line]) -> bytes:
    rows = (f"{when:%Y-%m-%dT%H:%M:%S.%f}000Z stderr F {text}\n" for part in parts for when, _, text in part)
    return "".join(rows).encode()


def unit_log(host: str, *launches: list[Line], unit: str = "sglang.service") -> bytes:
    return journal(list(launches), host=host, unit=unit)


def scanned(
    folder: Path, *inputs: Path | str, engine: Engine | None = None, options: Options | None = None, **asked
) -> Outcome:
    """Scan and reduce."""
    catalogue = Catalogue(folder, create=True)
    items = plan([str(each) for each in inputs], manifest=catalogue.manifest)
    outcome = scan(items, catalogue, engine or Here(), options or Options(), **asked)
    reduce(catalogue, engine or Here())
    return outcome


def published(folder: Path) -> dict[str, bytes]:
    """Everything that other tools read of a catalogue, by its path."""
    files = (file for name in (*PUBLIC, *TABLES) for file in (folder / name).rglob("*") if file.is_file())
    found = {str(file.relative_to(folder)): file.read_bytes() for file in files}
    return {**found, "coverage.json": (folder / "coverage.json").read_bytes()}
