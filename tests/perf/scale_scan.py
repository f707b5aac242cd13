"""10^5 files and 1,000 workers, without the reading: what plan, commits and reduce cost the driver.

`python -m tests.perf.scale_scan [HOSTS [DAYS [WORKERS]]]` makes HOSTS × DAYS empty log files, plans them and gives
them out to 1,000 shards; then it makes a catalogue of as many inputs (a start and a minute of load each, linked
from one template a day) and reduces it. Printed: seconds, microseconds an input, and the peak of memory.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from tests.scan.logs import decoding, starts, unit_log

from kvforensics.options import Options
from kvforensics.scan.catalogue import Catalogue
from kvforensics.scan.engine import Here, Local
from kvforensics.scan.plan import plan, shard
from kvforensics.scan.reduce import reduce
from kvforensics.scan.work import scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.scan.manifest import Entry

SHARDS = 1000
COMMITS = 2000
DAY_MIN = 24 * 60
DEFAULTS = (2000, 50, 2)  # hosts, days, workers


@contextmanager
def timed(what: str, count: int) -> Iterator[None]:
    began, cpu = time.perf_counter(), time.process_time()
    yield
    took, worked = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{what:38} {took:8.1f} s  {worked:8.1f} CPU-s  {took / count * 1e6:8.0f} us each  peak {peak:6,} MiB",
        flush=True,
    )


def templates(folder: Path, days: int) -> list[Entry]:
    """Scan one host's log of each day."""
    logs = folder / "logs"
    logs.mkdir()
    for day in range(days):
        minute = day * DAY_MIN
        context = 32768 + 1024 * (day % 3)
        (logs / f"{day:04}.export").write_bytes(
            unit_log("gpu0", [*starts(minute, context=context), *decoding(minute + 6, 60, salt=day)])
        )
    catalogue = Catalogue(folder / "template", create=True)
    scan(plan([str(logs)]), catalogue, Here(), Options())
    return list(catalogue.manifest.done())


def clone(entries: list[Entry], template: Path, folder: Path, hosts: int) -> Catalogue:
    """Make a catalogue in which every host has these inputs, by links to the same files."""
    catalogue = Catalogue(folder, create=True)
    files = [file for file in template.rglob("*.parquet") if file.parts[-2] != "overlaps"]
    for file in files:
        (folder / file.relative_to(template)).parent.mkdir(parents=True, exist_ok=True)
    for host in range(hosts):
        for file in files:
            target = folder / file.relative_to(template)
            os.link(file, target.with_name(f"{file.stem}-{host}.parquet"))
        for entry in entries:
            name, spans = f"{entry.key}-{host}", tuple((host, *span[1:]) for span in entry.spans)
            mine = replace(
                entry,
                path=f"s3://logs/gpu{host}/{entry.path[-11:]}",
                key=name,
                piece=name,
                hosts=(f"gpu{host}",),
                spans=spans,
            )
            catalogue.manifest.entries[mine.path] = mine
    return catalogue


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    hosts, days, workers = (*given, *DEFAULTS[len(given) :])
    count = hosts * days
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for host in range(hosts):
            (root / f"empty/gpu{host}").mkdir(parents=True)
            for day in range(days):
                (root / f"empty/gpu{host}/{day:04}.log").touch()
        with timed(f"plan of {count:,} files", count):
            items = plan([str(root / "empty")])
        with timed(f"one of {SHARDS:,} shards of them", count):
            shard(items, 7, SHARDS)
        entries = templates(root, days)
        catalogue = clone(entries, root / "template", root / "kv", hosts)
        some = list(catalogue.manifest.entries.values())[:COMMITS]
        with timed("commits by the driver", len(some)):
            for entry in some:
                catalogue.manifest.put(entry)
        with timed("the manifest packed", count):
            catalogue.manifest.pack()
        opened = Catalogue(root / "kv")
        with timed("the manifest opened", count):
            assert len(opened.manifest.entries) == count
        with timed(f"the reduce, {workers} workers", count):
            counts = reduce(opened, Local(workers))
        print(counts)


if __name__ == "__main__":
    main()
