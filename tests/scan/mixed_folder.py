"""A folder of a thousand mixed logs to try a scan on: `python -m tests.scan.mixed_folder FOLDER [COUNT]`.

Journals, container logs and plain files of a fleet of forty machines over half a year; two thirds are compressed,
one in twenty is cut off or garbage, some were copied or exported twice. Each machine's people edit its
unit file from time to time, and often nothing comes of it.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
from datetime import timedelta
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from tests.acceptance.server import journal
from tests.scan.logs import at, cri, decoding, docker, plain, starts

HOSTS = 40
DAY_MIN = 24 * 60
PEOPLE = ("alice", "bob", "carol", "dave")
PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstd.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": bz2.compress,
}
_EDITS = (  # what is edited, and to what: most change nothing about the pool
    {"context": 200000},
    {"context": 131072},
    {"context": 65536},
    {"f": 0.88},
    {"running": 128},
    {"settings": {"schedule_policy": "'fcfs'"}},
)


def write(folder: Path, count: int = 1000, seed: int = 1) -> None:
    """Write `count` files below `folder`; the same seed gives the same bytes."""
    chance = random.Random(seed)
    for number in range(count):
        host, day = number % HOSTS, number // HOSTS * 7 + number % 3
        name, data = _log(chance, host, day)
        ending = chance.choice(list(PACKERS))
        packed = PACKERS[ending](data)
        damage = chance.random()
        if damage < 0.04:
            packed = packed[: len(packed) * chance.randint(30, 90) // 100]
        elif damage < 0.05:
            packed = chance.randbytes(500)
        file = folder / f"gpu{host:02}" / f"{day:03}-{name}{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(packed)


def _log(chance: random.Random, host: int, day: int) -> tuple[str, bytes]:
    minute = day * DAY_MIN + host
    first = starts(minute, **({"P": 90.0, "W": 70.0} if host % 13 == 5 else {}))
    edit = chance.choice(_EDITS)
    second = starts(minute + 40, **edit)
    before = decoding(minute + 6, chance.randint(20, 200), salt=host)
    after = [*second, *decoding(minute + 46, 30, salt=day)]
    kind = host % 4
    if kind < 2:
        who = PEOPLE[host % 3 if chance.random() < 0.7 else 3]
        trail = [_sudo(who, minute + 35)]
        return "sglang.export", journal([[*first, *before], after], host=f"gpu{host:02}", trail=trail)
    if kind == 2:
        return "docker-json.log", docker(first, before, after)
    if host % 8 == 3:
        return "0.log", cri(first, before, after)
    return "server.log", plain(first, before, after)


def _sudo(who: str, minute: int) -> tuple:
    command = "/usr/bin/sed -i s/32768/200000/ /etc/systemd/system/sglang-k26.service"
    return (
        at(minute) + timedelta(seconds=3),
        "sudo",
        f"{who} : TTY=pts/0 ; PWD=/root ; USER=root ; COMMAND={command}",
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
