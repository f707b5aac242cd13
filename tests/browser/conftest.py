"""One headless Chromium for all tests of the report page; without one they are skipped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from kvforensics.analysis import analyse
from kvforensics.report.html import html

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="package")  # its event loop must be gone when other tests begin
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium here (Debian's package is chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def incident():
    return analyse([str(ROOT / "sample_logs/incident/incident.export")])


@pytest.fixture(scope="session")
def report(incident, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "incident.html"
    path.write_text(html(incident, "0.0.0"), "utf-8")
    return path


@pytest.fixture
def visit(browser):
    """Open a file; `seen` collects what the page asked the network for and what it complained about."""
    contexts = []

    def go(path, *, width=1280, height=900, scheme="light", ready=True):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        seen = SimpleNamespace(requests=[], complaints=[])
        devtools = context.new_cdp_session(page)
        devtools.send("Network.enable")
        devtools.on("Network.requestWillBeSent", lambda sent: seen.requests.append(sent["request"]["url"]))
        page.on("console", lambda said: seen.complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.goto(path.as_uri())
        if ready:
            page.wait_for_selector("html[data-charts=ready]", timeout=60_000)
        page.seen = seen
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe():
    """Return a function that gives the rules of axe-core that a page breaks, by how much that matters."""
    from importlib.resources import files

    script = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")

    def check(page):
        page.evaluate(script)
        found = json.loads(page.evaluate("axe.run().then((result) => JSON.stringify(result.violations))"))
        return {
            each["id"]: [node["html"][:200] for node in each["nodes"]]
            for each in found
            if each["impact"] in ("serious", "critical")
        }

    return check
