"""`kvforensics report`: endings, formats, several documents of one analysis, the same bytes each time."""

import json
import sys

import pytest
from tests.report_documents.conftest import INCIDENT, ROOT

from kvforensics.report.outputs import Kind, kind_of, table_of

PNG = b"\x89PNG\r\n\x1a\n"
ENDINGS = {
    "a.html": "html", "a.htm": "html", "a.md": "markdown", "A.MD": "markdown", "a.json": "json", "a.csv": "csv",
    "a.parquet": "parquet", "a.jsonl": "timesketch", "a.grafana.json": "grafana", "a.sarif": "sarif",
    "a.sarif.json": "sarif", "a.om": "openmetrics", "a.prom": "openmetrics", "a.svg": "svg", "a.png": "png",
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), ENDINGS.items())
def test_the_format_follows_the_ending(name, kind):
    assert kind_of(f"dir.csv/{name}") == kind


@pytest.mark.parametrize(
    ("name", "table"),
    {
        "changes.csv": "changes",
        "launches.parquet": "launches",
        "x-findings.csv": "findings",
        "x.csv": "changes",
    }.items(),
)
def test_a_table_is_named_by_its_file(name, table):
    assert table_of(name) == table


def test_one_run_writes_every_document_and_again_the_same_bytes(kv, tmp_path):
    names = [name for name in ENDINGS if name[0] == "a"] + ["launches.csv", "findings.parquet"]
    made = []
    for run in ("one", "two"):
        folder = tmp_path / run
        folder.mkdir()
        outputs = [word for name in names for word in ("-o", folder / name)]
        code, out, _ = kv("report", INCIDENT, *outputs)
        assert (code, out) == (0, b"")
        made.append({name: (folder / name).read_bytes() for name in names})
    assert made[0] == made[1]
    first = made[0]
    assert first["a.png"].startswith(PNG)
    assert first["a.svg"].startswith(b"<svg")
    assert json.loads(first["a.json"])["schema"] == "kvforensics.timeline/1"
    assert first["a.parquet"][:4] == b"PAR1"
    assert len(first["a.html"]) < 1_500_000


def test_json_is_the_timeline_s(kv):
    _, report, _ = kv("report", INCIDENT, "--format", "json")
    _, timeline, _ = kv("timeline", INCIDENT, "--format", "json")
    assert report == timeline


def test_format_overrides_the_ending(kv, tmp_path):
    kv("report", INCIDENT, "-o", tmp_path / "a.txt", "--format", "markdown")
    assert (tmp_path / "a.txt").read_text().startswith("# Postmortem")


def test_standard_output_needs_a_format(kv):
    code, _, err = kv("report", INCIDENT)
    assert code == 2
    assert "--format" in err
    code, out, _ = kv("report", INCIDENT, "--format", "openmetrics", "-o", "-")
    assert code == 0
    assert out.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-o", "report.docx"], "ending"),
        (["-o", "x.html", "--redact", "colours"], "colours"),
        (["-o", "x.csv", "--table", "pools"], "pools"),
        (["-o", "x.md", "--local-tz", "Mars/Base"], "Mars/Base"),
        (["-o", "nowhere/x.md"], "nowhere/x.md"),
        (["--format", "svg", "--service", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_carried_out_is_said(kv, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    code, _, err = kv("report", INCIDENT, *words)
    assert code == 2
    assert told in err
    assert not list(tmp_path.iterdir())


def test_no_launch_and_no_input(kv, tmp_path):
    empty = tmp_path / "empty.log"
    empty.write_text("nothing\n")
    assert kv("report", empty, "-o", tmp_path / "x.html")[0] == 4
    assert kv("report", tmp_path / "missing.log", "-o", tmp_path / "x.html")[0] == 3
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize("format", ["html", "svg", "png"])
def test_without_the_extra_charts_say_what_to_install(kv, monkeypatch, format):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    code, _, err = kv("report", INCIDENT, "--format", format)
    assert code == 2
    assert "pip install 'kvforensics[report]'" in err


@pytest.mark.parametrize("format", [kind.value for kind in Kind if kind.value not in ("html", "svg", "png")])
def test_everything_else_works_without_the_extra(kv, monkeypatch, format):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert kv("report", INCIDENT, "--format", format)[0] == 0


@pytest.mark.parametrize("name", ["container-0.5.23", "damaged", "plain-0.4.6"])
def test_every_sample_makes_every_document(kv, tmp_path, name):
    names = [
        f"x{ending}"
        for ending in (".html", ".md", ".csv", ".jsonl", ".grafana.json", ".sarif", ".om", ".svg")
    ]
    outputs = [word for made in names for word in ("-o", tmp_path / made)]
    assert kv("report", ROOT / "sample_logs" / name, *outputs)[0] == 0
    assert {made.name for made in tmp_path.iterdir()} == set(names)
