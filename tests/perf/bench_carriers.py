"""Records per CPU-second of each carrier beside the bare reader of the same bytes.

    python tests/perf/bench_carriers.py [--records 400000]

The bare reader does the least that anybody has to do: a msgspec line decoder of the needed fields for JSON, a
field reader for export, a line scan that also splits on `", "` for text, decompression and that scan for zst.
The ratio is CPU-seconds of the carrier, detection to record frames, over those of the bare reader.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from kvforensics.carriers import open_source
from kvforensics.carriers.decompress import Loss, decompressed, zstd
from kvforensics.options import Options
from kvforensics.records import Origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK = 8 << 20
NEEDED = (
    "MESSAGE",
    "__CURSOR",
    "__REALTIME_TIMESTAMP",
    "__MONOTONIC_TIMESTAMP",
    "_HOSTNAME",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_INVOCATION_ID",
    "_STREAM_ID",
    "_BOOT_ID",
    "_PID",
    "SYSLOG_IDENTIFIER",
    "_CMDLINE",
)
BEGIN = datetime(2026, 11, 30, 18, tzinfo=UTC)
PROCESS = {
    "_TRANSPORT": "stdout",
    "PRIORITY": "6",
    "SYSLOG_FACILITY": "3",
    "SYSLOG_IDENTIFIER": "python3",
    "_UID": "0",
    "_GID": "0",
    "_COMM": "sglang::schedul",
    "_EXE": "/usr/bin/python3.11",
    "_CMDLINE": "sglang::scheduler_TP0",
    "_CAP_EFFECTIVE": "1ffffffffff",
    "_SYSTEMD_CGROUP": "/system.slice/sglang-k26.service",
    "_SYSTEMD_UNIT": "sglang-k26.service",
    "_SYSTEMD_SLICE": "system.slice",
    "_SYSTEMD_INVOCATION_ID": "38a2a3153631498eb989ddbfe053415f",
    "_STREAM_ID": "57964b6d4ac54ffaa95b8a8cd0a0d5a1",
    "_BOOT_ID": "5d64a2df706450d78d1a02dd2cb6736a",
    "_MACHINE_ID": "82addb663e125faba8a361158d925af0",
    "_HOSTNAME": "k26-node1",
    "_RUNTIME_SCOPE": "system",
}


def messages(count: int) -> Iterator[tuple[datetime, int, str]]:
    """Yield time, process and text: 45 % access lines, 40 % decode, 15 % prefill, 8 ranks."""
    dice = random.Random(1)
    at = BEGIN
    for number in range(count):
        at += timedelta(microseconds=dice.randrange(40_000))
        rank, kind = number % 8, dice.random()
        prefix = f"[{at:%Y-%m-%d %H:%M:%S} TP{rank}]"
        if kind < 0.45:
            path = f'10.0.0.{number % 255}:{30000 + number % 9999} - "POST /v1/chat/completions HTTP/1.1"'
            yield at, 71, f"INFO:     {path} 200 OK"
        elif kind < 0.85:
            usage = (
                f"#running-req: {number % 64}, #token: {number % 99999}, token usage: 0.{number % 100:02d}"
            )
            speed = f"gen throughput (token/s): {dice.random() * 900:.2f}, #queue-req: {number % 9}"
            yield at, 73 + rank, f"{prefix} Decode batch, {usage}, cuda graph: True, {speed}"
        else:
            new = f"#new-seq: 1, #new-token: {number % 8192}, #cached-token: {number % 4000}"
            yield at, 73 + rank, f"{prefix} Prefill batch, {new}, token usage: 0.50, #queue-req: 0"


def write(folder: Path, count: int) -> dict[str, Path]:
    """Write the same records through every carrier."""
    names = ("plain", "short", "short-iso-precise", "json", "export", "verbose")
    paths = {name: folder / name for name in names}
    files = {name: path.open("w", encoding="utf-8") for name, path in paths.items()}
    for number, (at, pid, text) in enumerate(messages(count)):
        micro = int(at.timestamp() * 1_000_000)
        cursor = f"s=64a0f68cac674aa0a3100a8ff2e289ca;i={number:x};b={PROCESS['_BOOT_ID']};m={micro - 1_790_000_000_000_000:x};t={micro:x};x=1"
        address = {
            "__CURSOR": cursor,
            "__REALTIME_TIMESTAMP": str(micro),
            "__MONOTONIC_TIMESTAMP": str(micro - 1_790_000_000_000_000),
        }
        entry = address | PROCESS | {"_PID": str(pid), "MESSAGE": text}
        files["plain"].write(f"{text}\n")
        files["short"].write(f"{at:%b %d %H:%M:%S} k26-node1 python3[{pid}]: {text}\n")
        files["short-iso-precise"].write(f"{at:%Y-%m-%dT%H:%M:%S.%f+0000} k26-node1 python3[{pid}]: {text}\n")
        files["json"].write(json.dumps(entry, separators=(",", ":")) + "\n")
        files["export"].write("".join(f"{name}={value}\n" for name, value in entry.items()) + "\n")
        files["verbose"].write(f"{at:%a %Y-%m-%d %H:%M:%S.%f} UTC [{cursor}]\n")
        files["verbose"].write(
            "".join(f"    {name}={value}\n" for name, value in entry.items() if name[:2] != "__")
        )
    for file in files.values():
        file.close()
    paths["plain.zst"] = folder / "plain.zst"
    paths["plain.zst"].write_bytes(zstd.compress(paths["plain"].read_bytes(), 3))
    return paths


def cut(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        end = data.rfind(b"\n") + 1
        yield data[:end]
        rest = data[end:]
    yield rest


def chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(BLOCK):
            yield chunk


def bare_text(stream: Iterator[bytes]) -> int:
    return sum(
        pl.read_lines(data).select(pl.col("line").str.split(", ")).height for data in cut(stream) if data
    )


def bare_json(path: Path) -> int:
    fields = [(name.lower().strip("_"), str | list | None, None) for name in NEEDED]
    names = {field[0]: name for field, name in zip(fields, NEEDED, strict=True)}
    decoder = msgspec.json.Decoder(msgspec.defstruct("Entry", fields, rename=names, gc=False))
    return sum(len(decoder.decode_lines(data)) for data in cut(chunks(path)) if data)


def bare_export(path: Path) -> int:
    entries = 0
    rest = b""
    for chunk in chunks(path):
        *whole, rest = (rest + chunk).split(b"\n\n")
        for entry in whole:
            fields = dict(line.split(b"=", 1) for line in entry.split(b"\n"))
            entries += b"MESSAGE" in fields
    return entries


def bare_verbose(path: Path) -> int:
    """Split fields line by line, which is what the form asks for."""
    entries = 0
    for data in cut(chunks(path)):
        for line in data.split(b"\n"):
            entries += line.startswith(b"    ") and line.partition(b"=")[0] == b"    MESSAGE"
    return entries


def carrier(path: Path) -> int:
    return sum(frame.height for frame in open_source(str(path), Options(), Origins(), 0))


def cpu_s(run: Callable[[], int], expected: int) -> float:
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        found = run()
        best = min(best, time.process_time() - begin)
        assert found == expected, (found, expected)
    return best


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--records", type=int, default=400_000)
    count = arguments.parse_args().records
    with tempfile.TemporaryDirectory() as name:
        paths = write(Path(name), count)
        bare = {
            "json": lambda: bare_json(paths["json"]),
            "export": lambda: bare_export(paths["export"]),
            "verbose": lambda: bare_verbose(paths["verbose"]),
            "plain.zst": lambda: bare_text(decompressed(chunks(paths["plain.zst"]), Loss())),
        }
        print(f"{'carrier':20} {'MB':>6} {'k records/CPU-s':>16} {'bare reader':>12} {'ratio':>6}")
        for kind, path in paths.items():
            ours = cpu_s(lambda path=path: carrier(path), count)
            least = cpu_s(bare.get(kind, lambda path=path: bare_text(chunks(path))), count)
            size = path.stat().st_size / 1e6
            rates = f"{count / ours / 1e3:16.0f} {count / least / 1e3:12.0f}"
            print(f"{kind:20} {size:6.0f} {rates} {ours / least:6.2f}")


if __name__ == "__main__":
    sys.exit(main())
