"""Run a campaign: `python -m fuzz carriers --cases 100000`. Failures are listed; the run goes on.

`--start` is the number of the first case: several processes share a campaign by ranges. Each case may take
`--seconds` of processor time; one that takes longer counts as hanging. The peak of memory is told at the end.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.campaigns import CAMPAIGNS


class _Stop:
    """Becomes true when the process is told to end: the result so far is still printed."""

    def __init__(self) -> None:
        self.told = False
        signal.signal(signal.SIGTERM, self)

    def __call__(self, *_: Any) -> None:
        self.told = True


class HangError(Exception):
    """A case took too long."""


def _hangs(*_: Any) -> None:
    raise HangError


def run(name: str, start: int, cases: int, seconds: float, until: float | None = None) -> dict[str, Any]:
    """Run cases and return how many there were, what failed, and the memory at its highest, in MiB."""
    signal.signal(signal.SIGPROF, _hangs)
    stop = _Stop()
    failed: list[dict[str, Any]] = []
    begun = time.monotonic()
    number = start
    with TemporaryDirectory() as folder:
        for number in range(start, start + cases):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                CAMPAIGNS[name](number, Path(folder))
            except Exception as error:  # noqa: BLE001 - whatever a case raises is what is looked for
                where = traceback.extract_tb(error.__traceback__)[-1]
                why = f"{type(error).__name__}: {error}"[:300]
                failed.append({"case": number, "why": why, "where": f"{where.filename}:{where.lineno}"})
                print(
                    f"{name} {number}: {why} ({where.filename}:{where.lineno})", file=sys.stderr, flush=True
                )
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if stop.told or (until is not None and time.monotonic() - begun > until):
                break
    return {
        "campaign": name,
        "start": start,
        "cases": number - start + 1,
        "failed": failed,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "wall_s": round(time.monotonic() - begun),
        "cpu_s": round(time.process_time()),
    }


def main() -> int:
    """Parse the options, run, and print the result as JSON; 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("campaign", choices=sorted(CAMPAIGNS))
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--until", type=float, help="stop after so many seconds")
    options = parser.parse_args()
    result = run(options.campaign, options.start, options.cases, options.seconds, options.until)
    print(json.dumps(result))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
