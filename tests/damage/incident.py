"""A small incident (the context length was raised, the pool stayed) in the carriers that damage needs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kvforensics import analyse
from kvforensics.options import Options
from kvforensics.report.timeline_json import timeline
from tests.acceptance.server import Start

BASE = Start(ranks=2)
WIDE = replace(BASE, context=200_000)
BEGIN = datetime(2026, 5, 20, 8)
HOUR = timedelta(hours=1)
COMMAND = "python3 -m sglang.launch_server --model-path /models/m --mem-fraction-static 0.85 --max-running-requests 64 --tp-size 2 --page-size 1 --chunked-prefill-size 8192 --context-length {}"
DECODE = "Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, cuda graph: True, gen throughput (token/s): 199.94, #queue-req: 2"


def rows(begin: datetime = BEGIN, step: timedelta = HOUR, starts=(BASE, WIDE)):
    """Return (number of the start, time, rank, text) of every line."""
    return [(n, *line) for n, start in enumerate(starts) for line in start.lines(begin + n * step)]


def texts(**more) -> list[str]:
    return [text for _, _, _, text in rows(**more)]


def plain(lines) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def journal(change=lambda _row, record: record, **more) -> bytes:
    """Return journal JSON, each record as `change` leaves it; None drops it."""
    made = []
    for row in rows(**more):
        number, at, rank, text = row
        record = {
            "__CURSOR": f"s=1;i={len(made) + 1:x}",
            "__REALTIME_TIMESTAMP": str(int(at.replace(tzinfo=UTC).timestamp() * 1_000_000)),
            "_HOSTNAME": "node1",
            "_SYSTEMD_UNIT": "sglang.service",
            "_SYSTEMD_INVOCATION_ID": f"{number + 1:032x}",
            "_PID": str(100 * number + 10 + rank),
            "SYSLOG_IDENTIFIER": "python3",
            "_CMDLINE": COMMAND.format((32768, 200000)[number]) if rank < 0 else "sglang::scheduler",
            "MESSAGE": text,
        }
        changed = change(row, record)
        if changed is not None:
            made.append(changed)
    return b"".join(json.dumps(record).encode() + b"\n" for record in made)


def docker(lines) -> bytes:
    """Return docker's json-file: pieces of 16 KiB, one record a line."""
    made = []
    for number, line in enumerate(lines):
        at = f"{BEGIN + timedelta(seconds=number):%FT%T}.5Z"
        text = line + "\n"
        made += [
            {"log": text[i : i + 16384], "stream": "stderr", "time": at} for i in range(0, len(text), 16384)
        ]
    return b"".join(json.dumps(record).encode() + b"\n" for record in made)


def short(lines_of=rows) -> bytes:
    """Return journalctl's short text, which has no year."""
    return b"".join(
        f"{at:%b %d %H:%M:%S} node1 python3[{100 * number + 10 + rank}]: {text}\n".encode()
        for number, at, rank, text in lines_of()
    )


def read(tmp_path, *inputs: bytes, name="server.log", **options):
    """Analyse inputs; the timeline document."""
    paths = []
    for number, data in enumerate(inputs):
        path = tmp_path / (name if len(inputs) == 1 else f"{number}-{name}")
        path.write_bytes(data)
        paths.append(str(path))
    return timeline(analyse(paths, Options(**options)))


def damage(doc) -> dict[str, int]:
    return {one["kind"]: one["count"] for one in doc["coverage"]["damaged"]}


def findings(doc) -> set[str]:
    return {one["id"] for service in doc["services"] for one in service["findings"]}


def launches(doc):
    (service,) = doc["services"]
    return service["launches"]


def verdicts(doc) -> dict[str, str]:
    return {c["setting"]: c["verdict"] for service in doc["services"] for c in service["changes"]}
