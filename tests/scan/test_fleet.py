"""The fleet view: numbers of fleets that were built so that they are known."""

import json

import pytest

from kvforensics.errors import UsageError
from kvforensics.scan import fleet_views as views
from kvforensics.scan.catalogue import Catalogue
from kvforensics.scan.fleet import fleet
from kvforensics.scan.whole import analysis
from tests.acceptance.server import journal
from tests.scan.logs import Line, at, decoding, scanned, starts


def sudo(user: str, minute: int) -> tuple:
    command = "/usr/bin/sed -i s/32768/200000/ /etc/systemd/system/sglang.service"
    return (at(minute), "sudo", f"{user} : TTY=pts/0 ; PWD=/root ; USER=root ; COMMAND={command}")


def log(host: str, *launches: list[Line], trail: list | None = None) -> bytes:
    return journal(list(launches), host=host, unit="sglang.service", trail=trail)


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    root = tmp_path_factory.mktemp("fleet")
    logs = root / "logs"
    logs.mkdir()
    week = 7 * 24 * 60
    files = {
        # alice raises the context twice on gpu1 and once on gpu2: nothing comes of it
        "gpu1": log(
            "gpu1",
            starts(0), starts(30, context=200000), starts(60, context=210000),
            trail=[sudo("alice", 20), sudo("alice", 50)],
        ),
        "gpu2": log("gpu2", starts(0), starts(30, context=200000), trail=[sudo("alice", 20)]),
        # the last configuration of gpu3 and gpu4 is the same, their pools are not
        "gpu3": log("gpu3", starts(0, context=65536)),
        "gpu4": log("gpu4", starts(0, context=65536, P=90.0, W=70.0)),
        # an upgrade moves the pool; a week and a half of launches
        "gpu5": log("gpu5", starts(0), starts(week, version="0.5.20", cell=50000), starts(week + week // 2, version="0.5.20", cell=50000)),
        # a start that dies of memory, and requests that are put back
        "gpu6": log("gpu6", starts(0) + decoding(6, 100), starts(60, ready=False, stop_before="pool"), starts(90)),
    }  # fmt: skip
    for host, data in files.items():
        (logs / f"{host}.export").write_bytes(data)
    scanned(root / "kv", logs)
    return Catalogue(root / "kv")


@pytest.fixture(scope="module")
def sections(catalogue):
    return {section.name: section.rows.to_dicts() for section in fleet(catalogue)}


def test_services(sections):
    rows = {row["service"]: row for row in sections["services"]}
    assert sorted(rows) == [f"gpu{n}/sglang.service" for n in range(1, 7)]
    assert rows["gpu1/sglang.service"]["launches"] == 3
    assert rows["gpu1/sglang.service"]["edits_without_effect"] == 2
    assert rows["gpu5/sglang.service"]["launches_a_week"] == 2.0
    assert rows["gpu6/sglang.service"]["failed"] == 1
    assert sections["services"][0]["service"] == "gpu1/sglang.service"


def test_edits_without_effect(sections):
    (row,) = [row for row in sections["edits_without_effect"] if row["setting"] == "context_length"]
    assert (row["times"], row["services"], row["edited_by"]) == (3, 2, "alice")
    assert "not_a_pool_input" in row["reason_codes"]
    assert row["service"] == "gpu1/sglang.service"


def test_who_repeats_them(sections):
    (row,) = [row for row in sections["repeated_edits"] if row["setting"] == "context_length"]
    assert (row["who"], row["times"], row["services"]) == ("alice", 3, 2)
    assert row["values"] == "200000, 210000"


def test_pools_that_differ_under_one_configuration(sections):
    (row,) = [row for row in sections["unequal_pools"] if "gpu4" in (row["service"] + row["largest_on"])]
    assert {row["service"], row["largest_on"]} == {"gpu3/sglang.service", "gpu4/sglang.service"}
    assert row["smallest"] < row["largest"]
    assert row["spread"] == round((row["largest"] - row["smallest"]) / row["largest"], 4)


def test_releases(sections):
    rows = {row["version_from"]: row["services"] for row in sections["versions"]}
    assert sum(rows.values()) == 6
    assert any(version.startswith("0.5.2") for version in rows)


def test_retractions(sections):
    assert [(row["service"], row["retractions"]) for row in sections["pressure"]] == [
        ("gpu6/sglang.service", 2)
    ]


def test_starts_that_failed(sections):
    (row,) = sections["failed_starts"]
    assert (row["service"], row["times"], row["how"], row["last"]) == (
        "gpu6/sglang.service",
        1,
        "failed_start",
        "L2",
    )


def test_pools_that_an_upgrade_moved(sections):
    (row,) = sections["upgrades"]
    assert (row["service"], row["launch"]) == ("gpu5/sglang.service", "L2")
    assert row["moved"] == round(row["pool_tokens"] / row["pool_tokens_before"] - 1, 4) > 0.3


def test_each_row_leads_to_a_timeline(catalogue, sections):
    services = {row["service"] for rows in sections.values() for row in rows}
    assert services
    for service in services:
        assert analysis(catalogue, service=service).services[0].id == service


def test_views_agree(catalogue):
    sections = fleet(catalogue)
    document = json.loads(views.as_json(sections))
    assert document["schema"] == "kvforensics.fleet/1"
    texts = {
        "text": views.as_text(sections, "kv"),
        "md": views.as_markdown(sections, "kv"),
        "html": views.as_html(sections, "kv", "1"),
    }
    for name, text in texts.items():
        for row in document["edits_without_effect"]:
            assert row["setting"] in text.replace("\\_", "_"), name
        assert "timeline --catalog kv --service" in text, name
    assert texts["md"].count("\n## ") == len(sections)


def test_hostile_names_stay_names():
    import polars as pl

    from kvforensics.scan.fleet import Section

    bad = "<script>alert(1)</script>|`\x1b[31m"
    section = Section("services", "Services", pl.DataFrame({"service": [bad]}))
    assert "<script>alert" not in views.as_html([section], bad, "1")
    assert "\x1b" not in views.as_text([section], "kv")
    assert "\x1b" not in views.as_html([section], "kv", "1")


def test_a_catalogue_without_tables_says_so(tmp_path):
    with pytest.raises(UsageError, match="no tables"):
        fleet(Catalogue(tmp_path / "kv", create=True))


def test_an_empty_fleet_has_nothing_to_tell(tmp_path):
    (tmp_path / "a.log").write_bytes(b"nothing\n")
    scanned(tmp_path / "kv", tmp_path / "a.log")
    assert "Nothing to tell" in views.as_text(fleet(Catalogue(tmp_path / "kv")), "kv")


def test_hosts_that_cannot_be_judged_do_not_stop_the_others(tmp_path, monkeypatch):
    import polars as pl

    from kvforensics.scan import reduce as reducing
    from kvforensics.scan.engine import Here

    for host in ("gpu1", "gpu2"):
        (tmp_path / f"{host}.export").write_bytes(log(host, starts(0)))
    scanned(tmp_path / "kv", tmp_path / "gpu1.export", tmp_path / "gpu2.export")
    real = reducing.analysis_of

    def breaks(intake, options):
        if any(intake.origins[number].host == "gpu1" for number in range(len(intake.origins))):
            raise RuntimeError("a bug with this host")
        return real(intake, options)

    monkeypatch.setattr(reducing, "analysis_of", breaks)
    (tmp_path / "kv/launches/host=gpu2/part-0.parquet").unlink()
    with pytest.raises(RuntimeError, match="a bug with this host"):
        reducing.reduce(Catalogue(tmp_path / "kv"), Here())
    hosts = pl.read_parquet(tmp_path / "kv/launches/**/*.parquet", hive_partitioning=True)["host"]
    assert set(hosts) == {"gpu1", "gpu2"}  # what was there of the first is kept
