"""Text that attacks: in a browser it stays text."""

import re

import pytest

from kvforensics.compare import compare, select
from kvforensics.compare.views import as_html
from kvforensics.report.html import html
from tests import hostile


@pytest.fixture(scope="module")
def attack(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    path.write_text(html(hostile.analysis(), "0.0.0"), "utf-8")
    return path


def test_hostile_text_stays_text(visit, attack):
    page = visit(attack)
    page.get_by_role("button", name="Open all").click()
    page.locator("#chart-1").focus()
    for _ in range(3):
        page.keyboard.press("n")
        page.wait_for_timeout(250)
    box = page.locator("#chart-1").bounding_box()
    for x in range(80, 1100, 8):
        page.mouse.move(box["x"] + x, box["y"] + 39)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3
    assert page.locator("a[href^=javascript]").count() == 0
    assert [url for url in page.seen.requests if not url.startswith(("file:", "data:"))] == []
    assert page.seen.complaints == []
    said = page.locator("body").inner_text()
    assert "<script>window.hit=1</script>" in said
    assert "{{ 7*191 }}" in said
    assert "1337" not in said


def test_hostile_text_stays_text_in_a_comparison(visit, tmp_path):
    from datetime import UTC, datetime

    analysis = hostile.analysis()
    sides = [select(analysis, name, now=datetime(2026, 6, 1), local=UTC) for name in ("L1", "L2")]
    path = tmp_path / "compare.html"
    path.write_text(
        as_html(compare(analysis, *sides, ("<script>window.hit=1</script>", "L2")), "0.0.0"), "utf-8"
    )
    page = visit(path, ready=False)
    assert page.evaluate("window.hit") is None
    assert page.locator("script, img").count() == 0
    assert page.seen.complaints == []
    assert "<script>window.hit=1</script>" in page.locator("h1").inner_text()


def test_no_attack_is_in_the_page_as_markup(attack):
    source = attack.read_text("utf-8")
    assert not re.search(r"<img[^>]*onerror=window", source)
    assert source.count("<script>window.hit") == 0
