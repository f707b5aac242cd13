"""Kill a scan at random moments and go on: what is left always opens, and ends as one scan would.

`python -m tests.scan.kill 200` runs 200 kills (minutes); the suite runs a few, seeded.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kvforensics.scan.catalogue import Catalogue
from kvforensics.scan.fleet import fleet
from tests.scan.logs import decoding, plain, published, scanned, starts, unit_log


def write_logs(root: Path, files: int) -> None:
    root.mkdir()
    for number in range(files):
        data = plain(starts(number * 9, context=2000 + number), decoding(number * 9 + 6, 20, salt=number))
        (root / f"{number}.log").write_bytes(data)
    (root / "unit.export").write_bytes(unit_log("gpu1", starts(0), starts(20, f=0.9)))
    (root / "unit2.export").write_bytes(unit_log("gpu1", starts(20, f=0.9), starts(40)))


def begin(root: Path, catalogue: Path) -> subprocess.Popen[bytes]:
    """Start a scan in a process group of its own, so that its workers die with it."""
    command = [sys.executable, "-m", "kvforensics", "scan", str(root), "--catalog", str(catalogue)]
    return subprocess.Popen(
        [*command, "--progress", "none"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def kill_and_go_on(folder: Path, kills: int, seed: int, files: int) -> int:
    """Kill `kills` scans, each at a random moment of its life; return how many were alive when it came.

    After each kill the catalogue must open and its tables must be readable; at the end they must be those of
    a scan that nobody killed.
    """
    chance = random.Random(seed)
    root, catalogue = folder / "logs", folder / "killed"
    write_logs(root, files)
    scanned(folder / "whole", root)
    expected = published(folder / "whole")
    life = _timed(root, folder / "timed")
    alive = 0
    for number in range(kills):
        if number % 8 == 0:
            subprocess.run(["rm", "-rf", str(catalogue)], check=True)
        process = begin(root, catalogue)
        time.sleep(chance.uniform(0, life))
        alive += process.poll() is None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if (catalogue / "catalogue.json").exists():
            opened = Catalogue(catalogue)
            assert all(opened.has(entry) for entry in opened.manifest.done())
            if (catalogue / "launches").exists() and (catalogue / "findings").exists():
                fleet(opened)
        if number % 8 == 7 or number == kills - 1:
            process = begin(root, catalogue)
            assert process.wait(300) == 0, process.stderr.read() if process.stderr else b""
            assert published(catalogue) == expected
    return alive


def _timed(root: Path, catalogue: Path) -> float:
    began = time.monotonic()
    assert begin(root, catalogue).wait(300) == 0
    return time.monotonic() - began


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    with tempfile.TemporaryDirectory() as folder:
        alive = kill_and_go_on(Path(folder), kills, seed, files=12)
    print(
        f"{kills} kills (seed {seed}), {alive} of a living scan: the catalogue always opened and ended equal"
    )


if __name__ == "__main__":
    main()
