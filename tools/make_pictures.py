"""Draw the pictures of docs/reports.md again, from the bundled incident.

    python tools/make_pictures.py

Needs Chromium and the development dependencies. Look at what it drew before you commit it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from kvforensics.analysis import analyse
from kvforensics.report import picture
from kvforensics.report.html import html

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def main() -> None:
    """Write a picture of the page, one of the page on a telephone in the dark, and the chart by itself."""
    os.chdir(ROOT)
    analysis = analyse(["sample_logs/incident/incident.export"])
    (DOCS / "report-chart.svg").write_text(picture.svg(analysis), "utf-8")
    page_path = Path(tempfile.mkdtemp()) / "incident.html"
    page_path.write_text(html(analysis, "0.1.0"), "utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, width, height, scheme, open_first in (
            ("report-page.png", 1180, 1560, "light", True),
            ("report-telephone.png", 390, 1180, "dark", False),
        ):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            page.goto(page_path.as_uri())
            page.wait_for_selector("html[data-charts=ready]")
            if open_first:
                page.locator("[data-toggle]").first.click()
                box = page.locator("#chart-1").bounding_box()
                page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 120)
            page.wait_for_timeout(500)
            page.screenshot(path=DOCS / name)
            context.close()
        browser.close()
    shutil.rmtree(page_path.parent)


if __name__ == "__main__":
    main()
