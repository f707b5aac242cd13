"""What is damaged: the sample files, the lines of the grammars, and small logs whose verdict is known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.acceptance.server import Start
from tests.carriers_more import wrap

from kvforensics.parsing.kinds import samples

ROOT = Path(__file__).parents[1]
GRAMMARS = ("adjust", "foreign", "scheduler", "startup", "systemd", "trouble")
SECRET = "sk-7h3-0n3-n0b0dy-m4y-533"
LONGEST_SEED = 16_000  # bytes of a file that a carrier is fuzzed with
_KEPT = frozenset(
    {
        *("model_path", "context_length", "mem_fraction_static", "max_running_requests", "max_total_tokens"),
        *(
            "tp_size",
            "dp_size",
            "page_size",
            "chunked_prefill_size",
            "random_seed",
            "api_key",
            "disable_radix_cache",
        ),
    }
)
_DAY = datetime(2026, 5, 20, 8)  # noqa: DTZ001 - as SGLang prints it


class Known(NamedTuple):
    """A log of two launches, and the settings that were edited between them."""

    name: str
    lines: list[str]


@cache
def bodies() -> tuple[tuple[str, str], ...]:
    """Return every sample line with its grammar."""
    return tuple((name, line) for name in GRAMMARS for line in samples(name))


@cache
def lines() -> tuple[str, ...]:
    """Return every sample line of every grammar, with and without a prefix."""
    known = [line for _, line in bodies()]
    return (*known, *(f"[2026-05-20 08:00:11 TP0] {line}" for line in known), *samples("prefix"))


@cache
def settings_lines() -> tuple[str, ...]:
    """Return settings lines of both forms, as the sample servers print them."""
    return tuple(
        replace(start, version=v).config() for start in _STARTS for v in ("0.3.0", "0.5.11", "0.5.23")
    )


@cache
def files() -> tuple[bytes, ...]:
    """Return the beginnings of all sample files, and one log in every carrier that can be written."""
    folders = (ROOT / "tests/samples", ROOT / "sample_logs")
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    found = [path.read_bytes()[:LONGEST_SEED] for path in paths if path.name != "README.md"]
    log = [line.encode() for line in known()[0].lines]
    found += [b"\n".join(written(log))[:LONGEST_SEED] for written in wrap.ALL]
    return tuple(found)


_STARTS = (
    Start(ranks=1, settings={"api_key": SECRET}),
    Start(ranks=2, f=0.80, settings={"api_key": SECRET}),
    Start(ranks=1, max_total=50_000),
)


@cache
def known() -> tuple[Known, ...]:
    """Return logs of two launches that differ in one setting."""
    secret = {"api_key": SECRET}
    base = Start(ranks=1, settings=secret)
    pairs = {
        "context": (base, replace(base, context=200_000)),
        "fraction": (base, replace(base, f=0.88)),
        "fraction-2-ranks": (replace(base, ranks=2), replace(base, ranks=2, f=0.88)),
        "cap": (base, replace(base, max_total=50_000)),
        "running": (base, replace(base, running=128)),
        "dict": (replace(base, version="0.5.23"), replace(base, version="0.5.23", context=100_000)),
        "cap-fraction": (replace(base, max_total=50_000), replace(base, max_total=50_000, f=0.88)),
    }
    logs = [Known(name, _log(*pair)) for name, pair in pairs.items()]
    return (*logs, *(Known(f"{log.name}-short", [_short(line) for line in log.lines]) for log in logs))


def _short(line: str) -> str:
    """Return a settings line with the settings that matter here: it is what takes the time."""
    head, mark, values = line.partition("server_args=")
    if not mark:
        return line
    opening = "{" if values.startswith("{") else "ServerArgs("
    kept = [
        pair
        for pair in values.removeprefix(opening)[:-1].split(", ")
        if re.split("[=:]", pair)[0].strip("'") in _KEPT
    ]
    return f"{head}{mark}{opening}{', '.join(kept)}{values[-1]}"


def _log(*starts: Start) -> list[str]:
    at, found = _DAY, []
    for start in starts:
        found += [text for _, _, text in start.lines(at)]
        at += timedelta(hours=1)
    return found


def docker(text: list[str]) -> bytes:
    """Return a log as docker's json-file keeps it."""
    at = (_DAY + timedelta(seconds=number) for number in range(len(text)))
    records = (
        {"log": line + "\n", "stream": "stderr", "time": f"{when:%FT%T}.5Z"}
        for line, when in zip(text, at, strict=False)
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
