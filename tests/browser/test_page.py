"""The report page in a real browser: alone on the network, quiet, and all its parts at work."""

import re

import pytest
from msgspec.structs import replace

from kvforensics.report.html import html


def window(page):
    return page.locator("#window-1").inner_text()


def moved(page, before):
    page.wait_for_function("old => document.getElementById('window-1').textContent !== old", arg=before)
    return window(page)


def hours(said):
    days = re.findall(r"2026-05-(\d\d) (\d\d):(\d\d)", said)
    (a, b, c), (d, e, f) = days[:2]
    return (int(d) - int(a)) * 24 + int(e) - int(b) + (int(f) - int(c)) / 60


def drawn(page):
    """How many pixels of the chart's canvas are not empty."""
    return page.evaluate("""() => {
      const canvas = document.querySelector('#chart-1 canvas');
      const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let count = 0;
      for (let i = 3; i < bytes.length; i += 4) count += bytes[i] > 0;
      return count;
    }""")


@pytest.fixture
def page(visit, report):
    return visit(report)


def test_nothing_but_the_file_is_asked_for_and_nothing_complains(page):
    page.mouse.move(600, 500)
    page.keyboard.press("Tab")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    assert [url for url in page.seen.requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.seen.requests if url.startswith("file:")]) == 1
    assert page.seen.complaints == []


def test_the_policy_forbids_everything_that_is_not_in_the_file(page):
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert page.evaluate("fetch('https://example.org/').then(() => 'went out', () => 'stayed')") == "stayed"


def test_the_chart_is_drawn_and_replaces_the_picture(page):
    assert drawn(page) > 10_000
    assert page.locator(".static").first.is_hidden()
    assert page.locator("#chart-1 canvas").is_visible()


def test_zoom_by_button_and_back(page):
    whole = window(page)
    page.get_by_role("button", name="Zoom in").click()
    near = moved(page, whole)
    assert hours(near) == pytest.approx(hours(whole) / 2, abs=0.05)
    page.get_by_role("button", name="Later").click()
    later = moved(page, near)
    assert later > near
    page.get_by_role("button", name="Whole time").click()
    assert moved(page, later) == whole


def test_zoom_and_move_by_keyboard(page):
    whole = window(page)
    page.locator("#chart-1").focus()
    page.keyboard.press("+")
    near = moved(page, whole)
    page.keyboard.press("ArrowLeft")
    earlier = moved(page, near)
    assert hours(near) < hours(whole)
    assert earlier < near
    page.keyboard.press("0")
    assert moved(page, earlier) == whole


def test_zoom_by_wheel_keeps_the_moment_under_the_pointer(page):
    whole = window(page)
    box = page.locator("#chart-1").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 80)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    near = moved(page, whole)
    assert hours(near) < hours(whole)
    assert near[:16] > whole[:16]


def test_the_wheel_alone_scrolls_the_page(page):
    whole = window(page)
    box = page.locator("#chart-1").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 80)
    page.mouse.wheel(0, 300)
    page.wait_for_function("() => scrollY > 100")
    assert window(page) == whole


def test_drag_moves_the_window(page):
    whole = window(page)
    page.get_by_role("button", name="Zoom in").click()
    near = moved(page, whole)
    box = page.locator("#chart-1").bounding_box()
    page.mouse.move(box["x"] + 400, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 120, steps=8)
    page.mouse.up()
    earlier = moved(page, near)
    assert earlier < near
    assert hours(earlier) == pytest.approx(hours(near), abs=0.05)


def test_the_numbers_and_the_evidence_of_the_moment_under_the_pointer(page):
    box = page.locator("#chart-1").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 100)
    page.wait_for_function("() => document.getElementById('readout-1').textContent.includes('L2')")
    said = page.locator("#readout-1").inner_text()
    assert "pool 101,134" in said
    assert "context 200,000" in said
    assert "incident.export:" in said


def test_a_marker_tells_what_happened_and_where(page):
    page.locator("#chart-1").focus()
    page.keyboard.press("n")
    page.wait_for_function("() => document.getElementById('window-1').textContent.includes('refused')")
    page.keyboard.press("n")
    page.wait_for_function(
        "() => document.getElementById('window-1').textContent.includes('edit without effect')"
    )
    assert "context_length: 32768 → 200000" in window(page)
    page.get_by_role("button", name="Previous event").click()
    page.wait_for_function(
        "() => document.getElementById('window-1').textContent.includes('longer than the context')"
    )


def test_hovering_a_marker_shows_its_place(page):
    """The refusals have the second row of markers."""
    box = page.locator("#chart-1").bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 39)
    for x in range(int(box["x"]) + 600, int(box["x"]) + 900, 4):
        page.mouse.move(x, box["y"] + 39)
        if page.locator("#vg-tooltip-element.visible").count():
            break
    said = page.locator("#vg-tooltip-element").inner_text()
    assert "1 request refused" in said
    assert "incident.export:" in said


def shown(page, table="changes-1"):
    return page.locator(f"#{table} tr.row:not([hidden])")


def test_filter_search_and_the_settings_that_are_no_matter_of_memory(page):
    assert shown(page).count() == 2
    page.get_by_label(re.compile("no matter of memory")).check()
    assert shown(page).count() == 4
    page.get_by_label("Verdict").select_option("no_op_for_pool")
    assert shown(page).count() == 1
    assert "context_length" in shown(page).inner_text()
    assert page.locator("#changes-1-count").inner_text() == "1 shown"
    page.get_by_label("Verdict").select_option("")
    page.get_by_label("Find").first.fill("205,748")
    assert "mem_fraction_static" in shown(page).first.inner_text()
    page.get_by_label("Find").first.fill("no such thing")
    assert shown(page).count() == 0


def test_sort_by_a_column_and_back(page):
    head = page.locator("#changes-1 th", has_text="before")
    first = lambda: shown(page).first.locator("td").nth(3).inner_text()  # noqa: E731
    head.get_by_role("button").click()
    assert (first(), head.get_attribute("aria-sort")) == ("0.85", "ascending")
    head.get_by_role("button").click()
    assert (first(), head.get_attribute("aria-sort")) == ("32768", "descending")


def test_a_change_opens_to_reason_effects_and_lines(page):
    button = page.get_by_role("button", name="Details of context_length, L1 to L2")
    button.focus()
    page.keyboard.press("Enter")
    detail = page.locator("#d1-1")
    assert detail.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    said = detail.inner_text()
    assert "incident.export:4297" in said
    assert "context_length=200000" in said
    assert "101,134 → 101,134" in said
    page.keyboard.press("Enter")
    assert detail.is_hidden()


def test_sorting_keeps_details_with_their_row(page):
    page.get_by_role("button", name="Open all").click()
    page.locator("#changes-1 th", has_text="setting").get_by_role("button").click()
    for number in range(shown(page).count()):
        row = shown(page).nth(number)
        controls = row.locator("button").get_attribute("aria-controls")
        assert row.evaluate("row => row.nextElementSibling.id") == controls


def test_settings_of_one_launch_with_search(page):
    settings = shown(page, "settings-1")
    everything = settings.count()
    page.locator("[data-launch=settings-1]").select_option("0")
    assert settings.count() < everything
    page.locator("[data-search=settings-1]").fill("context_length")
    assert settings.locator("td:nth-child(2)").first.inner_text() == "32768"


def test_every_control_is_reached_by_keyboard(page):
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.textContent.trim().slice(0, 20)"
            )
        )
    assert {"Zoom in", "chart-1", "setting", "open"} <= reached


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_no_serious_fault_for_those_who_do_not_see_or_point(visit, report, axe, width, scheme):
    page = visit(report, width=width, scheme=scheme)
    page.get_by_role("button", name="Open all").click()
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert axe(page) == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_never_scrolls_sideways(visit, report, scheme):
    page = visit(report, width=390, height=844, scheme=scheme)
    page.get_by_role("button", name="Open all").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert drawn(page) > 5_000


def test_a_picture_stands_where_scripts_are_off(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".static svg").is_visible()
    assert page.locator("#chart-1").is_hidden()
    assert page.locator("#changes-1 tr.row").first.is_visible()
    context.close()


def test_without_load_figures_and_events_the_page_is_as_quiet(visit, incident, tmp_path):
    one = incident.services[0]
    bare = tuple(replace(each, pool_tokens=None, context_len=None) for each in one.launches)
    quiet = replace(one, launches=bare, verdicts=(), findings=())
    path = tmp_path / "bare.html"
    path.write_text(html(replace(incident, services=(quiet,), samples=None), "0"), "utf-8")
    page = visit(path)
    page.mouse.move(600, 450)
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(300)
    assert page.seen.complaints == []


def test_every_service_s_chart_is_drawn_when_it_comes_near(visit, incident, tmp_path):
    one = incident.services[0]
    services = tuple(replace(one, id=f"node{number}/x.service") for number in range(1, 4))
    path = tmp_path / "many.html"
    path.write_text(html(replace(incident, services=services), "0"), "utf-8")
    page = visit(path)
    assert page.locator("#chart-3[data-drawn]").count() == 0
    page.get_by_role("link", name="node3/x.service").click()
    page.wait_for_selector("#chart-3[data-drawn] canvas")
    assert page.seen.complaints == []


def test_print_shows_the_picture_and_whole_tables(page):
    page.emulate_media(media="print")
    assert page.locator(".static svg").first.is_visible()
    assert page.locator("#chart-1").is_hidden()
    assert page.get_by_role("button", name="Zoom in").is_hidden()
    scroll = page.locator(".scroll.tall").last
    assert scroll.evaluate("box => box.scrollHeight <= box.clientHeight + 1")
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
