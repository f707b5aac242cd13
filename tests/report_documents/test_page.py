"""What the page is made of, without a browser: folding, series, evidence, many services."""

import json
import re
from datetime import timedelta
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests import hostile

from kvforensics.report import picture, timeline_json
from kvforensics.report.evidence import Evidence, excerpt
from kvforensics.report.html import chart, drawing, html, series
from kvforensics.report.html.folding import findings_by_id, named, settings_by_value


class TestFolding:
    def test_launches_in_words(self):
        names = [f"L{n}" for n in range(1, 21)]
        assert named([0, 1, 2, 4], names) == "L1–L3, L5"
        assert named(list(range(20)), names) == "all"
        assert named([0], ["L1"]) == "L1"
        assert named(list(range(0, 20, 2)), names) == "L1, L3, L5, L7 and 6 more"

    def test_a_setting_is_said_once_a_value(self):
        launches = [
            {"id": "L1", "config": {"a": 1, "b": 2}},
            {"id": "L2", "config": {"a": 1, "b": 3, "c": None}},
        ]
        rows = settings_by_value(launches)
        assert [(row["name"], row["value"], row["launches"], row["of"], row["varies"]) for row in rows] == [
            ("b", "2", "L1", "0", True),
            ("b", "3", "L2", "1", True),
            ("c", "not set", "L2", "1", True),
            ("a", "1", "all", "", False),
        ]

    def test_findings_of_a_kind_stand_together_errors_first(self):
        def finding(kind, severity, launch):
            return {"id": kind, "severity": severity, "launch": launch}

        given = [finding("a", "info", "L1"), finding("b", "error", "L1"), finding("a", "info", "L2")]
        groups = findings_by_id(given)
        assert [group["shown"]["id"] for group in groups] == ["b", "a"]
        assert groups[1]["shown"]["launch"] == "L2"
        assert [other["launch"] for other in groups[1]["others"]] == ["L1"]


class TestEvidence:
    def test_the_part_of_a_long_line_that_tells(self):
        line = "x" * 900 + " context_length=200000, " + "y" * 900
        told = excerpt(line, "context_length")
        assert "context_length=200000" in told
        assert told.startswith("… ")
        assert told.endswith(" …")
        assert len(told) < 340
        assert excerpt("short", "context_length") == "short"
        assert excerpt(line, "absent").startswith("xxx")

    def test_a_scheduler_line_is_known_by_its_place(self, incident):
        told = Evidence(incident)({"path": incident.sources[0].path, "line": 7272})
        assert told["where"].endswith("incident.export:7272")
        assert told["text"] is None


def samples(count, launches=2):
    return {
        "t": [1_780_000_000_000 + 1000 * n for n in range(count)],
        "usage": [0.1] * count,
        "running": [1] * count,
        "queue": [0] * count,
        "launch": [f"L{1 + n * launches // count}" for n in range(count)],
    }


class TestSeries:
    def test_peaks_survive_thinning_and_no_run_spans_two_launches(self):
        given = samples(100_001)
        given["usage"][77_777], given["queue"][33_333], given["running"][50_000] = 0.99, 500, 64
        packed = series.packed(given)
        assert len(packed["t"]) <= series.MOST_POINTS + 2
        assert (max(packed["usage"]), max(packed["queue"]), max(packed["running"])) == (990, 500, 64)
        assert [name for name, _ in packed["launch"]] == ["L1", "L2"]
        assert sum(length for _, length in packed["launch"]) == len(packed["t"])

    def test_packed_times_are_seconds_each_less_the_one_before(self):
        packed = series.packed(samples(5))
        total = [sum(packed["t"][: n + 1]) for n in range(5)]
        assert total == [1_780_000_000 + n for n in range(5)]

    def test_zero_is_a_figure_and_none_is_none(self):
        given = samples(3)
        given["usage"] = [0.0, None, 0.5]
        assert series.packed(given)["usage"] == [0, None, 500]

    def test_a_row_without_figures_stands_between_launches(self):
        rows = series.thin(samples(4))
        assert [row["usage"] for row in rows] == [0.1, 0.1, None, 0.1, 0.1]

    def test_bands_never_overlap_and_a_failed_start_is_marked(self, document, incident):
        service = json.loads(json.dumps(document["services"][0]))
        service["launches"][1]["ended_at"] = service["launches"][2]["ready_at"]
        service["launches"][1]["end"] = "failed_start"
        data = series.chart_data(service, incident.services[0], incident)
        bands = data["launches"]
        assert all(one["b"] <= after["a"] for one, after in pairwise(bands))
        assert [band["failed"] for band in bands] == [False, True, False]

    def test_no_line_leads_over_a_gap_between_launches(self, document, incident):
        service = json.loads(json.dumps(document["services"][0]))
        service["launches"][0]["ended_at"] = "2026-05-20T14:30:00.000000Z"
        rows = series.chart_data(service, incident.services[0], incident)["steps"]
        pool = [row["tokens"] for row in rows if row["what"] == "KV pool"]
        assert pool == [101134, 101134, None, 101134, 101134, 205748, 205748]

    def test_many_retractions_share_markers_and_none_is_lost(self):
        analysis = hostile.analysis()
        base = hostile.samples(hostile.SERVICE).tail(1)
        import polars as pl

        many = pl.concat(
            [
                base.with_columns(
                    slot_at=pl.col("slot_at") + timedelta(seconds=n),
                    first_retraction_at=pl.col("first_retraction_at") + timedelta(seconds=n),
                )
                for n in range(1000)
            ]
        )
        analysis = replace(analysis, samples=many)
        service = timeline_json.timeline(analysis)["services"][0]
        data = series.chart_data(service, analysis.services[0], analysis)
        found = [mark for mark in data["marks"] if mark["kind"] == "retraction"]
        assert len(found) == series.MOST_PRESSURE
        assert sum(int(re.match("[0-9,]+", mark["tip"]["what"])[0]) for mark in found) == 2000

    def test_no_time_no_chart(self):
        analysis = hostile.analysis()
        service = timeline_json.timeline(analysis)["services"][0]
        for launch in service["launches"]:
            launch["started_at"] = None
        assert series.chart_data(service, analysis.services[0], analysis) is None


class TestChart:
    def test_no_text_of_a_log_is_in_a_compiled_chart(self, attack):
        service = timeline_json.timeline(attack)["services"][0]
        data = series.chart_data(service, attack.services[0], attack)
        empty = {name: [] for name in ("launches", "steps", "marks", "samples")}
        made = drawing.compiled(chart.specification(data | empty, legends=False, kinds=series.kinds(data)))
        assert "window.hit" not in json.dumps(made)
        assert all(
            scale["domain"] == {"signal": "[t0, t1]"} for scale in made["scales"] if scale["type"] == "utc"
        )

    def test_two_pictures_of_a_page_share_no_name(self, incident):
        page = html(incident, "0")
        ids = re.findall(r' id="([^"]+)"', page.split("<script>")[0])
        assert len(ids) == len(set(ids)) > 20


def test_a_log_without_load_has_no_panels_of_load(incident):
    assert "token usage" not in picture.svg(replace(incident, samples=None))
    assert "token usage" in picture.svg(incident)


@pytest.mark.parametrize("missing", [["pool_tokens"], ["context_len"], ["pool_tokens", "context_len"]])
def test_a_picture_is_finite_whatever_is_missing(incident, missing):
    one = incident.services[0]
    bare = tuple(replace(each, **dict.fromkeys(missing)) for each in one.launches)
    quiet = replace(one, launches=bare, verdicts=(), findings=())
    for samples_of in (incident.samples, None):
        drawn = picture.svg(replace(incident, services=(quiet,), samples=samples_of))
        assert "Infinity" not in drawn
        assert "NaN" not in drawn


def test_many_services_have_an_index_and_a_chart_each(incident):
    one = incident.services[0]
    services = tuple(replace(one, id=f"node{n}/x.service") for n in range(1, 6))
    page = html(replace(incident, services=services), "0")
    assert page.count('<nav aria-label="Services">') == 1
    for n in range(1, 6):
        assert f'<a href="#s{n}">node{n}/x.service</a>' in page
        assert f'id="chart-{n}"' in page


def test_a_service_without_times_or_samples_is_a_page_all_the_same(incident):
    one = incident.services[0]
    bare = tuple(
        replace(each, started_at=None, ready_at=None, ended_at=None, last_at=None) for each in one.launches
    )
    page = html(replace(incident, services=(replace(one, launches=bare),), samples=None), "0")
    assert "there is no chart" in page
    assert 'id="charts"' not in page
    assert "context_length" in page
    assert 'id="chart-1"' in html(replace(incident, samples=None), "0")


@pytest.mark.parametrize("size", [1, 60])
def test_memory_bars_fit_the_page_whatever_their_number(size):
    bars = [
        {"launch": f"L{n}", "part": "free", "order": 3, "gib": 9.0, "limit": None, "tip": {}}
        for n in range(size)
    ]
    picture = drawing.inline_svg(chart.memory_specification(bars, legends=False), "m")
    width = float(re.search(r'width="([\d.]+)"', picture)[1])
    assert width < 1100


def test_no_character_of_a_log_steers_the_reader(attack):
    """Controls, bidi overrides and what cannot be seen are letters in the page, in its data and its pictures."""
    page = html(attack, "0.0.0")
    begin = page.index('id="charts"')
    data = page[page.index(">", begin) + 1 : page.index("</script>", begin)]
    texts = [page.replace(data, ""), *said(json.loads(data))]
    steering = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")
    assert [found for text in texts if (found := steering.search(text))] == []
    assert r"\u202e" in page
    assert r"\x1b[31m" in page


def said(value):
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in said(one)]
    return [text for one in value for text in said(one)] if isinstance(value, list) else []
