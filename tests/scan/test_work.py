"""A scan's outcomes: failures, retries, catalogues that take no more, two scans at once."""

import gzip
import multiprocessing
import os
import resource
import subprocess
import sys
from functools import partial

import pytest
from backports import zstd

from kvforensics.options import Options
from kvforensics.scan import work
from kvforensics.scan.atomic import PART, CatalogueWriteError
from kvforensics.scan.catalogue import Catalogue
from kvforensics.scan.engine import Here, Local
from kvforensics.scan.plan import plan
from tests.scan import jobs
from tests.scan.logs import decoding, plain, published, scanned, starts, unit_log

KV = [sys.executable, "-m", "kvforensics"]


def run(*arguments, **kwargs) -> subprocess.CompletedProcess:
    command = [*KV, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **kwargs)


@pytest.fixture
def logs(tmp_path):
    root = tmp_path / "logs"
    root.mkdir()
    (root / "good.log").write_bytes(plain(starts(0), decoding(6, 30)))
    return root


def test_one_bad_file_never_stops_the_rest(logs, tmp_path):
    (logs / "cut.log.gz").write_bytes(gzip.compress(plain(starts(30)))[:20])
    (logs / "bad.gz").write_bytes(b"\x1f\x8b\x08\x00garbage that is no gzip stream at all")
    (logs / "hanging.log").symlink_to(tmp_path / "nowhere")
    outcome = scanned(tmp_path / "c", logs, tmp_path / "missing.log")
    assert outcome.read >= 1
    assert [path for path, _ in outcome.failures] == [str(tmp_path / "missing.log")] or outcome.failed >= 1
    import polars as pl

    sources = pl.read_parquet(tmp_path / "c/sources/*.parquet")
    failed = sources.filter(pl.col("status") == "failed")
    assert failed["error"].null_count() == 0
    assert str(tmp_path / "missing.log") in failed["path"].to_list()
    assert sources.filter(pl.col("path").str.ends_with("good.log"))["status"].item() == "done"


def test_a_truncated_zst_is_never_taken_for_a_whole_one(logs, tmp_path):
    data = zstd.compress(plain(*(decoding(6, 4000, salt=n) for n in range(3))))
    (logs / "cut.log.zst").write_bytes(data[: len(data) * 2 // 3])
    scanned(tmp_path / "c", logs)
    import polars as pl

    row = pl.read_parquet(tmp_path / "c/sources/*.parquet").filter(pl.col("path").str.ends_with(".zst"))
    assert row["damage"].item() == "truncated_file"
    assert 0 < row["records"].item() < 24_000


def test_failed_inputs_are_tried_again_only_when_asked_or_changed(logs, tmp_path, monkeypatch):
    from kvforensics.scan import reading

    def breaks(*_, **__):
        raise ValueError("a bug with this file")

    monkeypatch.setattr(reading, "read", breaks)
    assert scanned(tmp_path / "c", logs).failures == [(str(logs / "good.log"), "a bug with this file")]
    monkeypatch.undo()
    again = scanned(tmp_path / "c", logs)
    assert (again.failed, again.read) == (1, 0)
    retried = scanned(tmp_path / "c", logs, retry_failed=True)
    assert (retried.failed, retried.read) == (0, 1)


def test_a_poison_file_is_named_and_the_others_are_read(logs, tmp_path, monkeypatch):
    for number in range(4):
        (logs / f"{number}.log").write_bytes(plain(starts(number * 20, context=1000 + number)))
    (logs / "poison.log").write_bytes(plain(starts(3)))
    monkeypatch.setattr(work, "read_one", jobs.poison_file)
    outcome = scanned(tmp_path / "c", logs, engine=Local(2))
    assert outcome.read == 5
    assert [(path.rpartition("/")[2], why) for path, why in outcome.failures] == [
        ("poison.log", "its worker died 3 times")
    ]


def test_local_workers_give_the_bytes_of_this_process(logs, tmp_path):
    (logs / "unit.export").write_bytes(unit_log("gpu1", starts(0), starts(20, f=0.9)))
    (logs / "unit2.export").write_bytes(unit_log("gpu1", starts(20, f=0.9), starts(40)))
    scanned(tmp_path / "here", logs)
    scanned(tmp_path / "local", logs, engine=Local(2))
    assert published(tmp_path / "here") == published(tmp_path / "local")


def test_a_part_of_a_file_is_never_seen(tmp_path):
    import polars as pl

    from kvforensics.scan.atomic import write_parquet

    class TornError(Exception):
        pass

    def torn(part, **_):
        part.write_bytes(b"PAR1 and then the power went")
        raise TornError

    frame = pl.DataFrame({"a": [1]})
    frame.write_parquet = torn
    with pytest.raises(TornError):
        write_parquet(frame, tmp_path / "t/a.parquet")
    assert list((tmp_path / "t").iterdir()) == []


def test_leftovers_of_a_killed_writer_are_swept(logs, tmp_path):
    scanned(tmp_path / "c", logs)
    left = tmp_path / f"c/events/.x.parquet.123{PART}"
    left.write_bytes(b"PAR1")
    orphan = tmp_path / "c/events/0123.parquet"
    orphan.write_bytes((next((tmp_path / "c/events").glob("*.parquet"))).read_bytes())
    scanned(tmp_path / "c", logs)
    assert not left.exists()
    assert not orphan.exists()


def test_a_catalogue_begun_by_a_killed_scan_is_gone_on_with(logs, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / f"c/.catalogue.json.1{PART}").write_bytes(b"{")
    assert scanned(tmp_path / "c", logs).read == 1


def test_a_disk_that_is_full_is_told_and_nothing_is_lost(logs, tmp_path):
    scanned(tmp_path / "c", logs)
    before = published(tmp_path / "c")
    (logs / "more.log").write_bytes(plain(starts(30, context=70000), decoding(36, 3000, salt=9)))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, 15_000))

    done = run("scan", logs, "--catalog", tmp_path / "c", "--workers", 1, preexec_fn=limit)
    assert done.returncode == 2, done.stderr
    assert "cannot write to the catalogue" in done.stderr
    assert published(tmp_path / "c") == before
    assert run("scan", logs, "--catalog", tmp_path / "c").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(logs, tmp_path):
    (tmp_path / "c").mkdir(mode=0o500)
    assert run("scan", logs, "--catalog", tmp_path / "c").returncode == 2


def test_a_catalogue_that_takes_nothing_stops_the_scan(logs, tmp_path, monkeypatch):
    from kvforensics.scan import store

    def refuses(*_, **__):
        raise CatalogueWriteError.of(OSError(30, "Read-only file system"), "c")

    monkeypatch.setattr(store, "write", refuses)
    with pytest.raises(CatalogueWriteError, match="Read-only file system"):
        scanned(tmp_path / "c", logs)
    assert Catalogue(tmp_path / "c").manifest.entries == {}


def test_another_kind_of_folder_is_left_alone(logs, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c/thesis.txt").write_text("mine")
    done = run("scan", logs, "--catalog", tmp_path / "c")
    assert done.returncode == 2
    assert "something else" in done.stderr
    assert [file.name for file in (tmp_path / "c").iterdir()] == ["thesis.txt"]


def test_a_second_scan_waits_or_says_so(logs, tmp_path):
    scanned(tmp_path / "c", logs)
    with Catalogue(tmp_path / "c").lock():
        done = run("scan", logs, "--catalog", tmp_path / "c", "--no-wait")
        assert done.returncode == 2
        assert "another scan is working" in done.stderr
        waiting = subprocess.Popen(
            [*KV, "scan", str(logs), "--catalog", str(tmp_path / "c")], stderr=subprocess.PIPE, text=True
        )
        assert waiting.stderr is not None
        assert "waiting for it to end" in waiting.stderr.readline()
        assert waiting.poll() is None
    waiting.communicate(timeout=100)
    assert waiting.returncode == 0


def code(monkeypatch, *arguments) -> int:
    """Return the exit code of a command in this process."""
    from kvforensics.cli import main

    monkeypatch.setattr(sys, "argv", ["kvforensics", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


def test_exit_codes(logs, tmp_path):
    some = run("scan", logs, tmp_path / "missing.log", "--catalog", tmp_path / "c")
    assert some.returncode == 6
    assert "missing.log: No such file" in some.stderr
    assert run("scan", tmp_path / "missing.log", "--catalog", tmp_path / "d").returncode == 3


@pytest.mark.parametrize(
    "asked",
    [
        ["--shard", "5/4"],
        ["--shard", "x"],
        ["--max-memory", "lots"],
        ["--engine", "spark"],
        ["--retention", "soon"],
        ["--since", "tomorrow", "--until", "yesterday"],
        ["--tz", "Moon/Crater"],
    ],
)
def test_what_cannot_be_carried_out_is_said_before_anything_is_read(logs, tmp_path, monkeypatch, asked):
    monkeypatch.setattr(work, "scan", lambda *_, **__: pytest.fail("read"))
    assert code(monkeypatch, "scan", logs, "--catalog", tmp_path / "c", *asked) == 2


def test_a_catalogue_that_is_not_there(tmp_path, monkeypatch):
    for command in ("fleet", "reduce", "timeline"):
        assert code(monkeypatch, command, "--catalog", tmp_path / "nothing") == 2
    assert code(monkeypatch, "timeline", "--catalog", tmp_path, tmp_path / "a.log") == 2


def _shard(catalogue: str, root: str, number: int) -> None:
    from kvforensics.scan.plan import shard

    held = Catalogue(catalogue, create=True)
    with held.lock(shared=True):
        items = shard(plan([root], manifest=held.manifest), number, 3)
        work.scan(items, held, Here(), Options())


def test_shards_at_the_same_time_and_a_reduce_give_the_bytes_of_one_scan(logs, tmp_path):
    from kvforensics.scan.reduce import reduce

    for number in range(7):
        (logs / f"{number}.log").write_bytes(plain(starts(number * 9, context=2000 + number)))
    (logs / "unit.export").write_bytes(unit_log("gpu1", starts(0), starts(20, f=0.9)))
    (logs / "unit2.export").write_bytes(unit_log("gpu1", starts(20, f=0.9), starts(40)))
    context = multiprocessing.get_context("forkserver")
    shards = [
        context.Process(target=_shard, args=(str(tmp_path / "sharded"), str(logs), n)) for n in (1, 2, 3)
    ]
    for each in shards:
        each.start()
    for each in shards:
        each.join(100)
    assert [each.exitcode for each in shards] == [0, 0, 0]
    reduce(Catalogue(tmp_path / "sharded"), Here())
    scanned(tmp_path / "once", logs)
    assert published(tmp_path / "sharded") == published(tmp_path / "once")


def test_filters_leave_records_out_and_other_filters_read_anew(tmp_path):
    root = tmp_path / "logs"
    root.mkdir()
    (root / "a.export").write_bytes(unit_log("gpu1", starts(0), starts(30)))
    (root / "b.export").write_bytes(unit_log("gpu2", starts(0)))
    everything = scanned(tmp_path / "c", root)
    only = Options(hosts=("gpu1",))
    filtered = scanned(tmp_path / "c", root, options=only)
    assert filtered.read == everything.read == 2
    entries = Catalogue(tmp_path / "c").manifest.done()
    assert {entry.path.rpartition("/")[2]: entry.counts["records"] > 0 for entry in entries} == {
        "a.export": True,
        "b.export": False,
    }
    assert scanned(tmp_path / "c", root, options=only).skipped == 2


def test_excluded_paths_and_names(tmp_path):
    for name in ("a.log", "b.tmp", "old/c.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x\n")
    found = plan([str(tmp_path)], exclude=["*.tmp", "*/old/*"])
    assert [item.path.rpartition("/")[2] for item in found] == ["a.log"]


def test_retention_forgets_what_is_old(tmp_path):
    from datetime import UTC, datetime

    from kvforensics.scan.reduce import reduce
    from kvforensics.scan.retention import days, retain

    (tmp_path / "old.export").write_bytes(unit_log("gpu1", starts(0)))
    (tmp_path / "new.export").write_bytes(unit_log("gpu2", starts(60 * 24 * 40)))
    (tmp_path / "timeless.log").write_bytes(b"no time here\n")
    scanned(tmp_path / "c", tmp_path / "old.export", tmp_path / "new.export", tmp_path / "timeless.log")
    held = Catalogue(tmp_path / "c")
    assert retain(held, days("30d"), datetime(2026, 7, 1, tzinfo=UTC)) == 1
    reduce(held, Here())
    assert sorted(path.rpartition("/")[2] for path in Catalogue(tmp_path / "c").manifest.entries) == [
        "new.export",
        "timeless.log",
    ]
    assert len(list((tmp_path / "c/events").glob("*.parquet"))) == 2


def test_fewer_workers_where_memory_is_short():
    from kvforensics.scan.limits import WORKER_BYTES, size, workers_within

    assert workers_within("1G", 8) == (1 << 30) // WORKER_BYTES
    assert workers_within("10M", 8) == 1
    assert workers_within(None, 8) == 8
    assert size("1.5k") == 1536


def test_progress_as_json_lines(logs, tmp_path):
    import json

    done = run("scan", logs, "--catalog", tmp_path / "c", "--progress", "json")
    rows = [json.loads(line) for line in done.stderr.splitlines()]
    assert [row["event"] for row in rows] == ["input", "end"]
    assert rows[-1]["read"] == 1
    assert rows[-1]["lines"] == rows[0]["lines"] > 60
    assert done.stdout == ""


def test_nothing_of_polars_is_loaded_in_a_worker_before_its_threads_are_set():
    code = "import sys, kvforensics.scan.engine; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_jobs_can_be_sent():
    import pickle

    (item,) = plan([__file__])
    job = partial(work.read_one, "c", Options())
    assert pickle.loads(pickle.dumps((job, (item, None))))[1][0] == item
