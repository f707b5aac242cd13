"""How many typed lines a CPU-second of Lark, of layouts and of a plain script gives, side by side.

    python tests/perf/bench_layouts.py [--lines 400000]

All three read the same `Decode batch` and `Prefill batch` lines of eight ranks into typed values. The
script is what one would write by hand for this one version's lines: one regular expression a kind, its
groups converted. Goals (issue 2): layouts at least 60 times Lark and 2 times the script.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from datetime import UTC, datetime

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl

from kvforensics.parsing import Parser
from kvforensics.parsing.grammar import load
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source

BLOCK = 60_000
_DECODE = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) TP(\d+)\] Decode batch, #running-req: (\d+), #token: (\d+), "
    r"token usage: ([\d.]+), cuda graph: (True|False), gen throughput \(token/s\): ([\d.]+), #queue-req: (\d+)"
)
_PREFILL = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) TP(\d+)\] Prefill batch, #new-seq: (\d+), #new-token: (\d+), "
    r"#cached-token: (\d+), token usage: ([\d.]+), #running-req: (\d+), #queue-req: (\d+), #pending-token: (\d+), "
    r"cuda graph: (True|False), input throughput \(token/s\): ([\d.]+)"
)


def lines(count: int, seed: int = 7) -> list[str]:
    """Return scheduler lines of SGLang 0.5.11 and later, four Decode to one Prefill."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        at = datetime.fromtimestamp(1_778_580_672 + number // 16, UTC).strftime("%Y-%m-%d %H:%M:%S")
        head = f"[{at} TP{number % 8}] "
        usage = f"token usage: {chance.random():.2f}"
        if number % 5:
            made.append(
                f"{head}Decode batch, #running-req: {chance.randint(1, 60)}, #token: {chance.randint(1, 101134)}, "
                f"{usage}, cuda graph: True, gen throughput (token/s): {chance.random() * 2000:.2f}, "
                f"#queue-req: {chance.randint(0, 9)}"
            )
        else:
            made.append(
                f"{head}Prefill batch, #new-seq: 1, #new-token: {chance.randint(1, 8000)}, #cached-token: 128, "
                f"{usage}, #running-req: 7, #queue-req: 2, #pending-token: 4096, cuda graph: False, "
                f"input throughput (token/s): {chance.random() * 90000:.2f}"
            )
    return made


def by_lark(texts: list[str]) -> int:
    prefix, scheduler = load("prefix", "prefix"), load("scheduler")
    for text in texts:
        end = text.index("] ") + 2
        assert prefix.parse(text[:end]) is not None
        assert scheduler.parse(text[end:]) is not None
    return len(texts)


def by_layouts(frames: list[pl.DataFrame]) -> int:
    origins = Origins()
    origins.intern(Origin())
    parser = Parser(0, Source("bench"), origins, "UTC")
    return sum(frame.height for block in frames for frame in parser.feed(block).hot.values())


def by_script(texts: list[str]) -> int:
    found = []
    for text in texts:
        match = _DECODE.match(text)
        if match is not None:
            at, rank, running, tokens, usage, graph, tps, queue = match.groups()
            values = (int(running), int(tokens), float(usage), graph == "True", float(tps), int(queue))
            found.append((datetime.fromisoformat(at), int(rank), *values))
            continue
        match = _PREFILL.match(text)
        if match is not None:
            at, rank, seqs, new, cached, usage, running, queue, pending, graph, tps = match.groups()
            whole = (int(seqs), int(new), int(cached), int(running), int(queue), int(pending))
            found.append(
                (datetime.fromisoformat(at), int(rank), *whole, float(usage), graph == "True", float(tps))
            )
    return len(found)


def frames_of(texts: list[str]) -> list[pl.DataFrame]:
    """Return record frames as a carrier of plain files makes them."""
    frames = []
    for start in range(0, len(texts), BLOCK):
        message = pl.Series("message", texts[start : start + BLOCK])
        height = len(message)
        line = pl.int_range(start + 1, start + 1 + height, dtype=pl.Int64, eager=True)
        columns = {
            name: pl.repeat(None, height, dtype=dtype, eager=True) for name, dtype in RECORD_SCHEMA.items()
        }
        columns |= {"message": message, "line": line}
        columns |= dict.fromkeys(("source", "origin"), pl.repeat(0, height, dtype=pl.UInt32, eager=True))
        frames.append(pl.DataFrame(columns, schema=RECORD_SCHEMA))
    return frames


def rate(work, argument, repeats: int = 3) -> float:
    """Return typed lines a CPU-second, the best of some runs."""
    best = 0.0
    for _ in range(repeats):
        began = time.process_time()
        count = work(argument)
        best = max(best, count / (time.process_time() - began))
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--lines", type=int, default=400_000)
    count = options.parse_args().lines
    texts = lines(count)
    frames = frames_of(texts)
    assert by_layouts(frames) == by_script(texts) == count, "all three read every line"
    lark, layouts, script = rate(by_lark, texts[:2000]), rate(by_layouts, frames), rate(by_script, texts)
    print(f"{'':10}{'typed lines per CPU-second':>28}{'times Lark':>12}{'times the script':>18}")
    for name, speed in (("Lark", lark), ("script", script), ("layouts", layouts)):
        print(f"{name:10}{speed:>28,.0f}{speed / lark:>12.1f}{speed / script:>18.2f}")
    print(
        f"goals: layouts at least 60 times Lark ({layouts / lark:.0f}) and 2 times the script ({layouts / script:.2f})"
    )


if __name__ == "__main__":
    main()
