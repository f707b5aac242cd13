"""What a catalogue is to others: the timeline's bytes, SQL, and Parquet for plain tools."""

import json
import subprocess
import sys

import polars as pl
import pytest

from kvforensics.analysis import analyse
from kvforensics.report.plain import dumps
from kvforensics.report.timeline_json import timeline
from kvforensics.scan.catalogue import TABLES, Catalogue
from kvforensics.scan.query import VIEWS, query
from kvforensics.scan.schema import FILES, PARTITION, columns, schema
from kvforensics.scan.whole import analysis
from tests.scan.logs import decoding, docker, plain, scanned, starts, unit_log


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A folder of logs of four services, one damaged, two that overlap; and its catalogue."""
    root = tmp_path_factory.mktemp("fleet")
    logs = root / "logs"
    (logs / "sub").mkdir(parents=True)
    edits = [starts(0), starts(20, context=200000), starts(40, context=200000, f=0.9)]
    (logs / "one.export").write_bytes(unit_log("gpu1", *edits))
    (logs / "one-again.export").write_bytes(unit_log("gpu1", *edits[1:], starts(60)))
    (logs / "two.export").write_bytes(
        unit_log("gpu 2/ü", starts(0), starts(50, f=0.87), unit="other.service")
    )
    (logs / "plain.log").write_bytes(plain(starts(0), decoding(6, 40), starts(30, context=70000)))
    (logs / "sub/docker-json.log").write_bytes(docker(starts(5), decoding(12, 50, salt=4)))
    (logs / "sub/nothing.txt").write_bytes(b"just\nsome\nlines\n")
    (logs / "sub/cut.gz").write_bytes(b"\x1f\x8b\x08\x00 this is no gzip")
    scanned(root / "kv", logs)
    return logs, Catalogue(root / "kv")


def document(found) -> str:
    return dumps(timeline(found))


def test_the_catalogues_timeline_is_that_of_the_raw_logs(fleet):
    logs, catalogue = fleet
    assert document(analysis(catalogue)) == document(analyse([str(logs)]))


def test_one_services_timeline_is_that_of_the_raw_logs(fleet):
    from msgspec.structs import replace

    from kvforensics import selection

    logs, catalogue = fleet
    raw = analyse([str(logs)])
    assert len(raw.services) >= 3
    for service in raw.services:
        chosen = replace(raw, services=(selection.service(raw, service.id),))
        assert document(analysis(catalogue, service=service.id)) == document(chosen)


def test_one_services_timeline_without_a_kept_coverage(fleet, monkeypatch):
    from kvforensics.scan import whole

    _, catalogue = fleet
    expected = document(analysis(catalogue, service="gpu1/sglang.service"))
    monkeypatch.setattr(whole, "COVERAGE", "missing.json")
    assert document(analysis(catalogue, service="gpu1/sglang.service")) == expected


def test_the_command_gives_the_same_bytes(fleet):
    logs, catalogue = fleet
    asked = ["--format", "json", "--service", "gpu1/sglang.service"]
    made = [
        subprocess.run(
            [sys.executable, "-m", "kvforensics", "timeline", *inputs, *asked],
            capture_output=True,
            check=True,
        )
        for inputs in ([str(logs)], ["--catalog", str(catalogue.folder)])
    ]
    assert made[0].stdout == made[1].stdout
    assert b'"gpu1/sglang.service"' in made[0].stdout


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_have_the_published_columns(fleet, name):
    _, catalogue = fleet
    files = list(catalogue.folder.glob(FILES[name]))
    assert files
    expected = {
        n: pl.Series([], dtype=t).dtype for n, t in columns()[name].items() if n != PARTITION.get(name)
    }
    for file in files:
        assert dict(pl.read_parquet_schema(file)) == expected
    told = json.loads(schema())["datasets"][name]["columns"]
    assert [each["name"] for each in told] == list(columns()[name])


def test_samples_stand_in_the_folder_of_their_month(fleet):
    _, catalogue = fleet
    runtime = pl.read_parquet(f"{catalogue.folder}/runtime/**/*.parquet", hive_partitioning=True)
    assert set(runtime["month"]) == {"2026-05", "unknown"}  # plain access lines have no time
    assert runtime["decodes"].sum() == 90
    joined = runtime.join(pl.read_parquet(catalogue.folder / "sources/*.parquet"), on="input")
    assert joined["path"].str.split("/").list.last().unique().sort().to_list() == [
        "docker-json.log",
        "plain.log",
    ]


def test_counts_do_not_wrap():
    """Polars' sum of UInt32 wraps; every counter here is 64 bits wide."""
    for name, typed in columns().items():
        for column, dtype in typed.items():
            if column not in {"origin", "source"}:
                assert pl.Series([], dtype=dtype).dtype not in {pl.UInt32, pl.UInt16, pl.UInt8}, (
                    name,
                    column,
                )


def test_sql(fleet):
    duckdb = pytest.importorskip("duckdb")
    assert duckdb
    _, catalogue = fleet
    counts = {view: query(catalogue, f"SELECT count(*) FROM {view}").item() for view in VIEWS}
    assert counts["sources"] == 7
    assert counts["launches"] == len(pl.read_parquet(f"{catalogue.folder}/launches/**/*.parquet"))
    found = query(catalogue, "SELECT DISTINCT host FROM launches ORDER BY host")
    assert found["host"].to_list() == ["-", "gpu 2/ü", "gpu1"]


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM read_csv('/etc/passwd')", "COPY launches TO '/tmp/x.csv'", "nonsense"]
)
def test_sql_reaches_nothing_else(fleet, sql):
    pytest.importorskip("duckdb")
    from kvforensics.errors import UsageError

    with pytest.raises(UsageError):
        query(fleet[1], sql)


def test_plain_duckdb_reads_it(fleet):
    duckdb = pytest.importorskip("duckdb")
    folder = fleet[1].folder
    rows = duckdb.sql(
        f"SELECT host, count(*) FROM read_parquet('{folder}/launches/**/*.parquet') GROUP BY host ORDER BY host"
    ).fetchall()
    assert dict(rows)["gpu1"] == len(pl.read_parquet(folder / "launches/host=gpu1/*.parquet")) > 2
    months = duckdb.sql(
        f"SELECT month, sum(decodes)::BIGINT FROM '{folder}/runtime/*/*.parquet' GROUP BY month"
    ).fetchall()
    assert sorted(months) == [("2026-05", 90), ("unknown", 0)]


def test_plain_pandas_reads_it(fleet):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    folder = fleet[1].folder
    for name in ("events", "runtime", *TABLES):
        assert len(pandas.read_parquet(folder / name)) == len(
            pl.read_parquet(f"{folder}/{name}/**/*.parquet", hive_partitioning=False)
        )
    changes = pandas.read_parquet(folder / "changes")
    assert set(changes.loc[changes.setting == "context_length", "host"].astype(object).dropna()) == {
        "gpu1",
        "-",
    }
