"""The size of a report of a whole year, and the longest task of its page while a reader scrolls and zooms.

    python tests/perf/bench_report.py [--lines 5000000] [--starts 200] [--keep FOLDER]

A plain log of one service is written (200 starts over twelve months, five million scheduler lines), read, and
drawn; then Chromium opens the page and traces its main thread. Goals (issue 5): under 6 MB, no task over 100 ms.
`--keep` leaves log, page and trace in a folder and takes a log that is there already.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.acceptance.server import Start

from kvforensics import __version__
from kvforensics.analysis import analyse
from kvforensics.report.html import html

YEAR = timedelta(days=365)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]


def write(path: Path, starts: int, lines: int) -> None:
    """Write the log: each start with its settings, then load that swings through the day."""
    chance = random.Random(7)
    each = lines // starts
    begin, life = datetime(2025, 6, 1), YEAR / starts
    with path.open("w") as log:
        for number in range(starts):
            start = Start(
                ranks=1,
                f=0.85 + 0.01 * (number // 9 % 8),
                context=(32768, 65536, 131072, 200000)[number // 3 % 4],
                running=(64, 96, 128)[number // 5 % 3],
                ready=number % 23 != 7,
            )
            said = start.lines(begin + number * life)
            log.writelines(text + "\n" for _, _, text in said)
            if start.ready:
                _load(log, chance, said[-1][0], life * 0.97, each)


def _load(log, chance, begin, life, lines):
    step = life.total_seconds() / (lines + 1)
    for line in range(lines):
        now = begin + timedelta(seconds=(line + 1) * step)
        wave = 0.5 + 0.4 * math.sin(line * step / 13751) + chance.gauss(0, 0.06)
        usage = min(max(wave, 0.01), 0.99)
        running, queue = int(usage * 60), chance.randrange(9) if usage > 0.9 else 0
        if usage > 0.985 and chance.random() < 0.02:
            log.write(
                f"[{now:%Y-%m-%d %H:%M:%S}] KV cache pool is full. Retract requests. "
                "#retracted_reqs: 1, #new_token_ratio: 0.40 -> 0.98\n"
            )
        log.write(
            f"[{now:%Y-%m-%d %H:%M:%S}] Decode batch, #running-req: {running}, #token: {int(usage * 140000)}, "
            f"token usage: {usage:.2f}, cuda graph: True, gen throughput (token/s): {running * 31.7:.2f}, "
            f"#queue-req: {queue}\n"
        )


def trace(page_path: Path, folder: Path) -> dict[str, float]:
    """Scroll and zoom the page in Chromium; return milliseconds of the longest task of each stretch."""
    longest = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name, act in (("open", _open), ("scroll", _scroll), ("zoom", _zoom), ("drag", _drag)):
            where = folder / f"trace-{name}.json"
            browser.start_tracing(
                page=page, path=where, categories=["toplevel", "devtools.timeline", "blink"]
            )
            act(page, page_path)
            page.wait_for_timeout(400)
            browser.stop_tracing()
            longest[name] = _longest(where)
        browser.close()
    return longest


def _open(page, path):
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-charts=ready]")


def _scroll(page, _):
    height = page.evaluate("document.documentElement.scrollHeight")
    for _step in range(min(height // 300, 150)):
        page.mouse.wheel(0, 300)
        page.wait_for_timeout(16)
    for _step in range(min(height // 1500, 40)):
        page.mouse.wheel(0, -1500)
        page.wait_for_timeout(16)
    page.evaluate("scrollTo(0, 0)")


def _zoom(page, _):
    box = page.locator(".chart").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.keyboard.down("Control")
    for delta in [-120] * 25 + [120] * 25:
        page.mouse.wheel(0, delta)
        page.wait_for_timeout(16)
    page.keyboard.up("Control")
    page.locator(".chart").first.focus()
    for key in "+++++":
        page.keyboard.press(key)
        page.wait_for_timeout(30)


def _drag(page, _):
    box = page.locator(".chart").first.bounding_box()
    y = box["y"] + 60
    page.mouse.move(box["x"] + 900, y)
    page.mouse.down()
    for step in range(60):
        page.mouse.move(box["x"] + 900 - 12 * step, y)
        page.wait_for_timeout(16)
    page.mouse.up()
    for step in range(40):
        page.mouse.move(box["x"] + 100 + 20 * step, y)
        page.wait_for_timeout(10)


def _longest(path: Path) -> float:
    """Return the longest task of the page's main thread, by wall clock and by processor time where told."""
    events = json.loads(path.read_text())["traceEvents"]
    main = {
        (e["pid"], e["tid"])
        for e in events
        if e.get("name") == "thread_name" and e["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        e
        for e in events
        if e.get("ph") == "X"
        and e["name"] in ("ThreadControllerImpl::RunTask", "RunTask")
        and (e["pid"], e["tid"]) in main
    ]
    return {
        "wall_ms": round(max((e["dur"] for e in tasks), default=0) / 1000, 1),
        "cpu_ms": round(max((e.get("tdur", 0) for e in tasks), default=0) / 1000, 1),
        "over_50": sum(e["dur"] > 50_000 for e in tasks),
    }


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    folder = args.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    log, page = folder / "year.log", folder / "year.html"
    if not log.exists():
        write(log, args.starts, args.lines)
    began = time.process_time()
    analysis = analyse([str(log)])
    read = time.process_time() - began
    made = html(analysis, __version__)
    drawn = time.process_time() - began - read
    page.write_text(made)
    launches = sum(len(service.launches) for service in analysis.services)
    print(
        f"log {log.stat().st_size / 1e6:.0f} MB, {launches} launches, {len(analysis.samples):,} buckets of samples"
    )
    print(f"read {read:.1f} CPU-s, drawn {drawn:.1f} CPU-s, page {len(made.encode()) / 1e6:.2f} MB (goal 6)")
    for name, took in trace(page, folder).items():
        print(
            f"{name:>7}: longest task {took['wall_ms']} ms ({took['cpu_ms']} ms of CPU), {took['over_50']} over 50 ms"
        )
    print(f"load {os.getloadavg()[0]:.1f}")
    if args.keep is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
