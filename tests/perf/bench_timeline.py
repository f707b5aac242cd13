"""The whole program beside its peers on generated logs: CPU-seconds, wall clock, peak memory, ratios.

    python tests/perf/bench_timeline.py [--mb 1000] [--growth 4] [--runs 3] [--folder FOLDER] [--floor]

Peers: ripgrep counting one word, lnav's headless SQL over a format of its own, a typed Python script (all where
installed), and `python -c "import polars"` for the start. A command runs some times in turn with the others and
the least CPU-seconds count, since those suffer least from what else the machine does. `--floor` ends with 1 when a
ratio is far worse than measured (docs/performance.md): for CI, at a small size.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.perf.generate import write

OURS = [sys.executable, "-m", "kvforensics"]
SCRIPT = Path(__file__).with_name("typed_script.py")
FORMAT = {
    "sglang_bench": {
        "title": "SGLang",
        "regex": {
            "all": {
                "pattern": (
                    r"^\[(?<timestamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: TP(?<tp>\d+))?\] (?:(?<kind>Decode|Prefill) "
                    r"batch, (?:#running-req: (?<running>\d+), #token: (?<tokens>\d+), )?(?:#new-seq: \d+, "
                    r"#new-token: (?<fresh>\d+), #cached-token: \d+, )?token usage: (?<usage>[\d.]+), )?(?<body>.*)$"
                )
            }
        },
        "value": {
            "tp": {"kind": "integer"},
            "kind": {"kind": "string"},
            "running": {"kind": "integer"},
            "tokens": {"kind": "integer"},
            "fresh": {"kind": "integer"},
            "usage": {"kind": "float"},
        },
        "sample": [{"line": "[2026-01-01 00:00:00 TP0] The server is fired up and ready to roll!"}],
    }
}
SQL = ";SELECT kind, count(*), max(usage), max(running), max(tokens), sum(fresh) FROM sglang_bench GROUP BY kind"


@dataclass
class Cost:
    """The least of some runs."""

    cpu_s: float = float("inf")
    wall_s: float = float("inf")
    peak_mb: float = 0.0

    def add(self, cpu_s: float, wall_s: float, peak_mb: float) -> None:
        """Take another run."""
        self.cpu_s, self.wall_s = min(self.cpu_s, cpu_s), min(self.wall_s, wall_s)
        self.peak_mb = max(self.peak_mb, peak_mb)


def once(
    command: list[str], cores: int = 0, stdin: Path | None = None, *, polars: bool = True
) -> tuple[float, float, float]:
    """Run a command, on some cores; return its CPU-seconds, wall clock and peak memory in MB.

    With `polars` that has as many threads as there are cores, else what the command gives it.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if cores and polars:
        environment["POLARS_MAX_THREADS"] = str(cores)
    prefix = ["taskset", "-c", ",".join(map(str, range(cores)))] if cores else []
    with stdin.open("rb") if stdin else open(os.devnull, "rb") as source:  # noqa: PTH123
        begin = time.perf_counter()
        process = subprocess.Popen(
            [*prefix, *command],
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def measure(commands: dict[str, list[str]], runs: int) -> dict[str, Cost]:
    """Run the commands in turn."""
    costs = {name: Cost() for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            costs[name].add(*once(command))
    return costs


def peers(log: Path, folder: Path) -> dict[str, list[str]]:
    """Return the commands over one log: ours, and the peers that are installed."""
    commands = {
        "timeline": [*OURS, "timeline", "--format", "json", str(log)],
        "launches": [*OURS, "launches", "--format", "json", str(log)],
        "typed script": [sys.executable, str(SCRIPT), str(log)],
    }
    if shutil.which("rg"):
        commands["ripgrep -c"] = ["rg", "-c", "Decode batch", str(log)]
    if shutil.which("lnav"):
        formats = folder / "lnav/formats/bench"
        formats.mkdir(parents=True, exist_ok=True)
        (formats / "bench.json").write_text(json.dumps(FORMAT))
        commands["lnav SQL"] = ["lnav", "-I", str(folder / "lnav"), "-n", "-c", SQL, str(log)]
    return commands


def small(folder: Path, runs: int) -> tuple[Cost, Cost]:
    """Return what a log of 20 MB costs in a cold process, and what importing polars costs."""
    log = generated(folder, 20)
    costs = measure(
        {
            "small": [*OURS, "timeline", "--format", "json", str(log)],
            "polars": [sys.executable, "-c", "import polars"],
        },
        runs,
    )
    return costs["small"], costs["polars"]


def generated(folder: Path, mb: int) -> Path:
    """Return a log of this size, written unless it is there."""
    log = folder / f"bench-{mb}.log"
    if not log.exists():
        with log.open("w", encoding="utf-8") as stream:
            write(stream, mb * 1_000_000)
    return log


class Journal:
    """A text stream that puts the prefix of `journalctl -o short-iso` before each line."""

    def __init__(self, stream: TextIO, host: str) -> None:
        self._stream, self._host, self._stamp = stream, host, "2026-01-01 00:00:00"

    def write(self, text: str) -> int:
        """Write whole lines."""
        for line in text.splitlines():
            if line[:3] == "[20":
                self._stamp = line[1:20]
            at = self._stamp.replace(" ", "T")
            self._stream.write(f"{at}+0000 {self._host} python3[4711]: {line}\n")
        return len(text)


def many(folder: Path, mb: int, runs: int) -> float:
    """Return how many times as fast two cores with a worker each scan the journals of eight hosts as one core."""
    logs = folder / f"many-{mb}"
    logs.mkdir(exist_ok=True)
    for number in range(8):
        log = logs / f"gpu{number}.log"
        if not log.exists():
            with log.open("w", encoding="utf-8") as stream:
                write(Journal(stream, f"gpu{number}"), mb * 125_000, seed=number + 1)
    walls = {1: float("inf"), 2: float("inf")}
    for cores in list(walls) * runs:
        with tempfile.TemporaryDirectory(dir=folder) as catalog:
            scan = [*OURS, "scan", str(logs), "--catalog", catalog, "--workers", str(cores)]
            walls[cores] = min(walls[cores], once(scan, cores, polars=False)[1])
    return walls[1] / walls[2]


def report(costs: dict[str, Cost], mb: int) -> dict[str, float]:
    """Print what each command cost; return the ratios."""
    print(
        f"{'command':16}{'CPU s':>9}{'wall s':>9}{'MB/CPU-s':>10}{'peak MB':>9}   load {os.getloadavg()[0]:.1f}"
    )
    for name, cost in costs.items():
        print(f"{name:16}{cost.cpu_s:9.2f}{cost.wall_s:9.2f}{mb / cost.cpu_s:10.0f}{cost.peak_mb:9.0f}")
    ours, listed = costs["timeline"], costs["launches"]
    ratios = {"peak MB": max(ours.peak_mb, listed.peak_mb)}
    for peer in ("typed script", "lnav SQL"):
        if peer in costs:
            ratios[f"{peer} / timeline, CPU"] = costs[peer].cpu_s / ours.cpu_s
            ratios[f"{peer} / timeline, wall"] = costs[peer].wall_s / ours.wall_s
    if "ripgrep -c" in costs:
        for name, cost in (("timeline", ours), ("launches", listed)):
            ratios[f"{name} / ripgrep -c, CPU"] = cost.cpu_s / costs["ripgrep -c"].cpu_s
            ratios[f"{name} / ripgrep -c, wall"] = cost.wall_s / costs["ripgrep -c"].wall_s
    return ratios


FLOORS = {  # far under what was measured: only a mistake in the hot path crosses them
    "typed script / timeline, CPU": 0.2,
    "peak MB": -700.0,  # at most
    "small / import polars, CPU": -12.0,
}


def fallen(ratios: dict[str, float]) -> list[str]:
    """Return what is beyond its floor."""
    found = []
    for name, floor in FLOORS.items():
        value = ratios.get(name)
        if value is not None and (value > -floor if floor < 0 else value < floor):
            found.append(f"{name} is {value:.2f}, its floor {abs(floor):g}")
    return found


def main() -> int:
    """Print the table that the command line asks for."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mb", type=int, default=1000)
    options.add_argument("--growth", type=int, default=0, help="also a log this many times as large")
    options.add_argument(
        "--cores", action="store_true", help="also one core against two: a file, a scan of eight"
    )
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--folder", type=Path, help="where logs are kept")
    options.add_argument("--floor", action="store_true")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = args.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        log = generated(folder, args.mb)
        costs = measure(peers(log, folder), args.runs)
        ratios = report(costs, args.mb)
        cold, polars = small(folder, max(args.runs, 3))
        ratios["small / import polars, CPU"] = cold.cpu_s / polars.cpu_s
        ratios["small / import polars, wall"] = cold.wall_s / polars.wall_s
        if args.cores:
            command = [*OURS, "timeline", "--format", "json", str(log)]
            walls = [min(once(command, cores)[1] for _ in range(args.runs)) for cores in (1, 2)]
            ratios["one core / two cores, wall"] = walls[0] / walls[1]
            ratios["one core / two cores, scan of eight, wall"] = many(folder, args.mb, args.runs)
        if args.growth:
            large = generated(folder, args.mb * args.growth)
            cpu_s, wall_s, peak_mb = once([*OURS, "timeline", "--format", "json", str(large)])
            ratios[f"{args.growth} times the size, CPU"] = cpu_s / costs["timeline"].cpu_s
            ratios[f"{args.growth} times the size, wall"] = wall_s / costs["timeline"].wall_s
            ratios[f"{args.growth} times the size, peak MB"] = peak_mb
            stdin = once([*OURS, "timeline", "--format", "json", "-"], stdin=log)
            ratios["standard input, peak MB"] = stdin[2]
    for name, ratio in ratios.items():
        print(f"{name:42}{ratio:9.2f}")
    if not args.floor:
        return 0
    failures = fallen(ratios)
    print("\n".join(failures) or "all above their floors")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
