"""Scanning in pieces, in any order, with any restarts gives the same bytes as scanning at once."""

import contextlib
import io
import os
import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvforensics.options import Options
from kvforensics.scan.catalogue import Catalogue
from kvforensics.scan.engine import Here
from kvforensics.scan.plan import plan
from kvforensics.scan.work import scan
from tests.scan.logs import cri, decoding, docker, plain, published, scanned, starts, unit_log

pytestmark = pytest.mark.usefixtures("small_bounds")
FULL = os.environ.get("KVFORENSICS_FULL")
ONE = [*starts(0), *decoding(6, 60), *starts(20, context=200000), *decoding(26, 30)]
NEXT = [*starts(50, f=0.9), *decoding(56, 50, salt=3)]
TRACE = [
    (when, rank, text)
    for when, rank, _ in starts(80)[:1]
    for text in ("Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: no")
]
FILES = {
    "one.log": plain(ONE, NEXT, TRACE, decoding(81, 9, salt=5)),
    "docker/two-json.log": docker(ONE, NEXT),
    "pods/0.log": cri(starts(3, context=65536), decoding(9, 80, salt=11), TRACE),
    "three.export": unit_log("gpu3", starts(0), starts(20, context=200000)),
    "overlapping.export": unit_log("gpu3", starts(20, context=200000), starts(40, f=0.8)),
}
NAMES = sorted(FILES)


class InterruptedScanErrorScanError(Exception):
    pass


def write(root: Path, name: str, data: bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (1_700_000_000, 1_700_000_000 + len(data)))


def cut(data: bytes, share: float) -> bytes:
    """A file as it was when it was shorter: mostly whole lines, sometimes not."""
    size = int(len(data) * share)
    return data[:size] if size % 5 == 0 else data[: data.rfind(b"\n", 0, size) + 1]


step = st.one_of(
    st.tuples(st.just("grow"), st.sampled_from(NAMES), st.floats(0.05, 1)),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.just(0.0)),
    st.tuples(st.just("scan"), st.sampled_from([*NAMES, "*"]), st.just(0.0)),
    st.tuples(st.just("die"), st.just("*"), st.floats(0, 4)),
)


def play(root: Path, catalogue: Path, steps) -> None:
    at: dict[str, str] = {}
    shares = dict.fromkeys(NAMES, 0.0)
    for what, name, amount in steps:
        if what == "grow" and amount > shares[name]:
            shares[name] = amount
            write(root, at.setdefault(name, name), cut(FILES[name], amount))
        elif what == "rename" and name in at and at[name] == name:
            new = f"{name}.1"
            (root / name).rename(root / new)
            at[name] = new
        elif what in {"scan", "die"}:
            wanted = [root / at[name]] if name in at else [root]
            if any(path.exists() and (path.is_file() or any(path.rglob("*.*"))) for path in wanted):
                some(catalogue, wanted, None if what == "scan" else int(amount))
    for name in NAMES:
        write(root, at.get(name, name), FILES[name])
    scanned(catalogue, root)


def some(folder: Path, wanted: list[Path], dies_after: int | None) -> None:
    catalogue = Catalogue(folder, create=True)

    def die(outcome, _item) -> None:
        if dies_after is not None and outcome.read + outcome.continued > dies_after:
            raise InterruptedScanErrorScanError

    if dies_after is None:
        scanned(folder, *wanted)
        return
    with contextlib.suppress(InterruptedScanErrorScanError):
        scan(plan(map(str, wanted), manifest=catalogue.manifest), catalogue, Here(), Options(), progress=die)


@settings(
    max_examples=150 if FULL else 6,
    deadline=None,
    derandomize=not FULL,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=st.lists(step, min_size=3, max_size=9))
def test_any_history_gives_the_bytes_of_one_scan(steps):
    with TemporaryDirectory() as name:
        root, catalogue, once = (Path(name) / part for part in ("logs", "pieces", "once"))
        root.mkdir()
        play(root, catalogue, steps)
        scanned(once, root)
        assert published(catalogue) == published(once)


@pytest.mark.parametrize("name", ["one.log", "docker/two-json.log", "pods/0.log"])
def test_a_grown_file_continues_and_gives_the_same_bytes(tmp_path, name):
    data = FILES[name]
    catalogue, once = tmp_path / "pieces", tmp_path / "once"
    outcomes = []
    for share in (0.6, 0.8, 0.9, 1):
        size = len(data) if share == 1 else data.rfind(b"\n", 0, int(len(data) * share)) + 1
        write(tmp_path / "logs", name, data[:size])
        outcomes.append(scanned(catalogue, tmp_path / "logs"))
    scanned(once, tmp_path / "logs")
    assert [outcome.continued for outcome in outcomes[1:]] == [1, 1, 1]
    assert [outcome.read for outcome in outcomes[1:]] == [0, 0, 0]
    assert published(catalogue) == published(once)


def test_a_file_that_ended_within_a_line_or_a_traceback_is_read_anew(tmp_path):
    log, catalogue = tmp_path / "logs/a.log", tmp_path / "c"
    beginning = plain(ONE)
    for ending in (b"[2026-05-20 10:00:00 TP0] Decode ba", plain(TRACE[:2])):
        shutil.rmtree(catalogue, ignore_errors=True)
        write(log.parent, log.name, beginning + ending)
        scanned(catalogue, log)
        write(log.parent, log.name, beginning + ending + plain(decoding(90, 3)))
        outcome = scanned(catalogue, log)
        assert (outcome.continued, outcome.read) == (0, 1)


def test_what_was_written_while_it_was_read_waits_for_the_next_scan(tmp_path, monkeypatch):
    from kvforensics.scan import work

    log, catalogue = tmp_path / "logs/a.log", tmp_path / "c"
    write(log.parent, log.name, plain(ONE))
    real = work.fingerprint

    def and_then_grow(path):
        found = real(path)
        with path.open("ab") as stream:
            stream.write(plain(NEXT))
        return found

    monkeypatch.setattr(work, "fingerprint", and_then_grow)
    scanned(catalogue, log)
    monkeypatch.undo()
    entry = next(Catalogue(catalogue).manifest.done())
    assert entry.source["bytes"] == len(plain(ONE))


def test_a_truncated_file_is_read_anew(tmp_path):
    log, catalogue, once = tmp_path / "logs/a.log", tmp_path / "c", tmp_path / "once"
    write(log.parent, log.name, plain(ONE))
    scanned(catalogue, log)
    write(log.parent, log.name, plain(NEXT))
    outcome = scanned(catalogue, log)
    assert (outcome.read, outcome.continued) == (1, 0)
    scanned(once, log)
    assert published(catalogue) == published(once)


def test_an_unchanged_file_is_not_opened(tmp_path, monkeypatch):
    from kvforensics.carriers import archive
    from kvforensics.scan import work

    log = tmp_path / "logs/a.log"
    write(log.parent, log.name, plain(starts(0)))
    scanned(tmp_path / "c", log.parent)

    def opened(*_):
        raise AssertionError("opened")

    monkeypatch.setattr(work, "fingerprint", opened)
    monkeypatch.setattr(archive, "_kind", opened)
    assert scanned(tmp_path / "c", log.parent).skipped == 1


def test_a_renamed_file_is_known_by_its_content(tmp_path):
    log, catalogue = tmp_path / "logs/a.log", tmp_path / "c"
    write(log.parent, log.name, plain(starts(0)))
    scanned(catalogue, log.parent)
    log.rename(log.with_name("a.log.1"))
    outcome = scanned(catalogue, log.parent)
    assert (outcome.read, outcome.renamed) == (0, 1)
    assert list(Catalogue(catalogue).manifest.entries) == [f"{log}.1"]


def test_what_is_gone_is_kept(tmp_path):
    root, catalogue = tmp_path / "logs", tmp_path / "c"
    write(root, "a.log", plain(starts(0)))
    write(root, "b.export", unit_log("gpu1", starts(9)))
    scanned(catalogue, root)
    before = published(catalogue)
    (root / "a.log").unlink()
    scanned(catalogue, root)
    assert published(catalogue) == before


def test_the_same_content_twice_counts_once(tmp_path):
    root, catalogue = tmp_path / "logs", tmp_path / "c"
    write(root, "a.log", plain(starts(0), decoding(6, 5)))
    write(root, "b.log", plain(starts(0), decoding(6, 5)))
    scanned(catalogue, root)
    repeated = [entry.source["repeated"] for entry in Catalogue(catalogue).manifest.done()]
    assert min(repeated) == 0
    assert sorted(repeated)[1] > 0


def test_a_path_that_names_a_container_is_part_of_what_is_read(tmp_path):
    from kvforensics.analysis import analyse
    from kvforensics.report.plain import dumps
    from kvforensics.report.timeline_json import timeline
    from kvforensics.scan.whole import analysis

    root, catalogue = tmp_path / "logs", tmp_path / "c"
    for digit, minute in (("a", 0), ("b", 300)):
        write(root, f"{digit * 64}/{digit * 64}-json.log", docker(starts(minute), decoding(minute + 6, 9)))
    scanned(catalogue, root)
    (root / ("b" * 64) / f"{'b' * 64}-json.log").rename(root / "b.log")
    scanned(catalogue, root)
    raw = dumps(timeline(analyse([str(root)])))
    assert dumps(timeline(analysis(Catalogue(catalogue)))) == raw
    assert "bbbbbbbbbbbb" not in raw.replace("b" * 64, "")


def test_a_rotated_file_that_is_compressed_later_is_the_same(tmp_path):
    import gzip

    root, catalogue, once = tmp_path / "logs", tmp_path / "c", tmp_path / "once"
    write(root, "app.log", plain(ONE))
    scanned(catalogue, root)
    (root / "app.log").rename(root / "app.log.1")
    write(root, "app.log", plain(NEXT))
    scanned(catalogue, root)
    write(root, "app.log.1.gz", gzip.compress(plain(ONE)))
    (root / "app.log.1").unlink()
    scanned(catalogue, root)
    scanned(once, root)
    assert published(catalogue) == published(once)


def test_members_of_archives_and_of_those_in_them(tmp_path):
    root, catalogue = tmp_path / "logs", tmp_path / "c"
    inner = zipped({"two.log": plain(NEXT)})
    write(root, "bundle.zip", zipped({"x!y.log": plain(ONE), "node.zip": inner}))
    outcome = scanned(catalogue, root)
    assert (outcome.read, outcome.failed) == (2, 0)
    names = [f"{root}/bundle.zip!x!y.log", f"{root}/bundle.zip!node.zip!two.log"]
    assert sorted(Catalogue(catalogue).manifest.entries) == sorted(names)
    assert scanned(catalogue, root).skipped == 2
    write(root, "bundle.zip", zipped({"x!y.log": plain(ONE), "node.zip": inner, "more.log": plain(TRACE)}))
    assert scanned(catalogue, root).read == 3


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()
