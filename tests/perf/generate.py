"""Logs of any size for the benchmarks: what a busy server of eight ranks prints over several launches.

    python tests/perf/generate.py --mb 1000 FILE

45 % access lines, 40 % `Decode batch`, 10 % `Prefill batch`, the rest health checks; now and then a retraction
or a traceback; each launch begins with its settings and pools. The same size gives the same bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.acceptance.server import Start

if TYPE_CHECKING:
    from collections.abc import Callable

RANKS = 8
LINES_A_SECOND = 24
BODIES = 4000  # texts of each kind, drawn from again and again
CONTEXTS = (32768, 65536, 131072, 200000)
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/usr/lib/python3/sglang/srt/managers/tokenizer_manager.py", line 812, in handle_loop',
    "    recv_obj = await self.recv_from_detokenizer.recv_pyobj()",
    "ValueError: Request with id 8f1c is aborted by the client",
)

_Line = tuple[str, str]  # what stands between the time and `]`, what follows


def _access(chance: random.Random) -> _Line:
    status = "200 OK" if chance.random() < 0.98 else "400 Bad Request"
    peer = f"10.0.{chance.randrange(4)}.{chance.randrange(1, 250)}:{chance.randrange(30000, 60000)}"
    return "", f'INFO:     {peer} - "POST /v1/chat/completions HTTP/1.1" {status}'


def _health(chance: random.Random) -> _Line:
    return "", f'INFO:     127.0.0.1:{chance.randrange(30000, 60000)} - "GET /health HTTP/1.1" 200 OK'


def _decode(chance: random.Random) -> _Line:
    usage = chance.random()
    return f" TP{chance.randrange(RANKS)}", (
        f"Decode batch, #running-req: {int(usage * 64)}, #token: {int(usage * 112000)}, "
        f"token usage: {usage:.2f}, accept len: {chance.uniform(1, 4):.2f}, accept rate: {chance.random():.2f}, "
        f"cuda graph: True, gen throughput (token/s): {chance.uniform(100, 900):.2f}, "
        f"#queue-req: {chance.randrange(10)}"
    )


def _prefill(chance: random.Random) -> _Line:
    usage = chance.random()
    return f" TP{chance.randrange(RANKS)}", (
        f"Prefill batch, #new-seq: {chance.randint(1, 4)}, #new-token: {chance.randint(1, 8192)}, "
        f"#cached-token: {chance.randint(0, 8192)}, token usage: {usage:.2f}, #running-req: {int(usage * 64)}, "
        f"#queue-req: {chance.randrange(6)}, #pending-token: {chance.randint(0, 9000)}, cuda graph: False, "
        f"input throughput (token/s): {chance.uniform(100, 9000):.2f}"
    )


def _retraction(chance: random.Random) -> _Line:
    return f" TP{chance.randrange(RANKS)}", (
        f"KV cache pool is full. Retract requests. #retracted_reqs: {chance.randint(1, 4)}, "
        f"#new_tokens_gained: {chance.randint(1, 9000)}, #new_token_ratio: 0.5234 -> 0.9012"
    )


def _bodies(chance: random.Random) -> list[tuple[float, list[_Line]]]:
    shares: list[tuple[float, Callable[[random.Random], _Line]]] = [
        (0.45, _access),
        (0.40, _decode),
        (0.10, _prefill),
        (0.0499, _health),
        (0.0001, _retraction),
    ]
    return [(share, [make(chance) for _ in range(BODIES)]) for share, make in shares]


class Writable(Protocol):
    """What text can be written to."""

    def write(self, text: str, /) -> int:
        """Write some lines."""
        ...


def write(log: Writable, size: int, launches: int = 12, seed: int = 1) -> int:
    """Write at least `size` characters of log; return the number of lines."""
    chance = random.Random(seed)
    groups = _bodies(chance)
    weights = [share for share, _ in groups]
    now, written, lines = datetime(2026, 1, 1) + timedelta(days=10 * (seed - 1)), 0, 0
    for number in range(launches):
        start = Start(
            ranks=RANKS, context=CONTEXTS[number // 2 % 4], f=0.85 + 0.01 * (number % 5), running=64
        )
        said = [text for _, _, text in start.lines(now)]
        now += timedelta(minutes=5)
        end = size * (number + 1) // launches
        while written < end or said:
            stamp = now.strftime("%Y-%m-%d %H:%M:%S")
            for _, bodies in chance.choices(groups, weights, k=LINES_A_SECOND):
                tags, body = bodies[int(chance.random() * BODIES)]
                said.append(f"[{stamp}{tags}] {body}")
            if chance.random() < 1e-4:
                said += (f"[{stamp}] TokenizerManager hit an exception: {TRACEBACK[0]}", *TRACEBACK[1:])
            said.append("")
            text = "\n".join(said)
            log.write(text)
            written, lines, said = written + len(text), lines + len(said) - 1, []
            now += timedelta(seconds=1)
    return lines


def main() -> None:
    """Write the file that the command line asks for."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("file", type=Path)
    options.add_argument("--mb", type=int, default=300)
    options.add_argument("--launches", type=int, default=12)
    args = options.parse_args()
    with args.file.open("w", encoding="utf-8") as log:
        lines = write(log, args.mb * 1_000_000, args.launches)
    print(f"{args.file}: {args.file.stat().st_size / 1e6:.0f} MB, {lines:,} lines")


if __name__ == "__main__":
    main()
