import gzip
import io
import lzma
import os
import sys
import tarfile
import zipfile

import pytest

from kvforensics.carriers import archive_zip, expand, spool
from kvforensics.errors import InputError

from .reading import read_path
from .wrap import cri, docker_json

LOG = b"[2026-05-20 14:03:11] a\n[2026-05-20 14:03:12] b\n"


def tar(path, members, mode="w"):
    path.write_bytes(tarred(members, mode))


def tarred(members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.fixture
def stdin(monkeypatch):
    def given(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return given


MEMBERS = {
    "logs/plain.txt": LOG,
    "logs/docker.json": b"\n".join(docker_json([b"x", b"y"])) + b"\n",
    "logs/cri.log.gz": gzip.compress(b"\n".join(cri([b"z"])) + b"\n"),
}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_members_of_a_tar_are_read_by_their_content(tmp_path, mode):
    path = tmp_path / "no-suffix"
    tar(path, MEMBERS, mode)
    names = expand([str(path)])
    assert names == [f"{path}!{name}" for name in MEMBERS]
    for order in (names, names[::-1]):
        readings = {name.rpartition("/")[2]: read_path(name) for name in order}
        assert {name: reading.source.carrier for name, reading in readings.items()} == {
            "plain.txt": "plain",
            "docker.json": "docker-json",
            "cri.log.gz": "cri",
        }
        assert readings["docker.json"].messages == ["x", "y"]
        assert readings["cri.log.gz"].messages == ["z"]
        assert readings["plain.txt"].source.path == names[0]


def test_members_of_a_zip(tmp_path):
    path = tmp_path / "logs"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("logs")
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    names = expand([str(path)])
    assert names == [f"{path}!{name}" for name in MEMBERS]
    assert [read_path(name).source.carrier for name in names] == ["plain", "docker-json", "cri"]


def test_links_and_folders_are_no_members(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
            info = tarfile.TarInfo(f"member{kind!r}")
            info.type = kind
            info.linkname = "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("../../etc/outside")
        info.size = len(LOG)
        archive.addfile(info, io.BytesIO(LOG))
    assert expand([str(path)]) == [f"{path}!../../etc/outside"]  # read as a stream, written nowhere


def test_archives_in_folders_and_named_twice(tmp_path):
    tar(tmp_path / "a.tar", {"m": LOG})
    (tmp_path / "b.log").write_bytes(LOG)
    expected = [f"{tmp_path}/a.tar!m", f"{tmp_path}/b.log"]
    assert expand([str(tmp_path)]) == expected
    assert expand([str(tmp_path), f"{tmp_path}/a.tar", f"{tmp_path}/b.log"]) == expected


def test_a_member_named_by_hand(tmp_path):
    tar(tmp_path / "a.tar", {"x!y": LOG})
    assert read_path(f"{tmp_path}/a.tar!x!y").source.records == 2
    with pytest.raises(InputError, match="no such member"):
        read_path(f"{tmp_path}/a.tar!nope")
    with pytest.raises(InputError, match="without a readable file"):
        read_path(f"{tmp_path}/a.tar")


def test_a_file_with_an_exclamation_mark_is_a_file(tmp_path):
    path = tmp_path / "a!b"
    path.write_bytes(LOG)
    assert expand([str(path)]) == [str(path)]
    assert read_path(path).source.records == 2


def test_a_tar_cut_off_gives_what_stands_before_the_cut(tmp_path):
    whole = tmp_path / "whole.tar"
    tar(whole, {"first": LOG, "second": LOG * 1000})
    for name, data in (
        ("cut.tar", whole.read_bytes()[:4096]),
        ("cut.tgz", gzip.compress(whole.read_bytes())[:400]),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        names = expand([str(path)])
        assert names[0] == f"{path}!first"
        assert read_path(names[0]).source.records == 2
    second = read_path(f"{tmp_path}/cut.tar!second")
    assert second.source.records > 10
    assert second.source.damaged


def test_an_encrypted_and_a_broken_zip(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m", LOG)
    data = bytearray(path.read_bytes())
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        at = data.index(mark) + (6 if mark == b"PK\x03\x04" else 8)
        data[at] |= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="encrypted"):
        read_path(f"{path}!m")
    broken = tmp_path / "b.zip"
    broken.write_bytes(b"PK\x03\x04" + os.urandom(100))
    assert expand([str(broken)]) == [str(broken)]
    with pytest.raises(InputError):
        read_path(broken)


def test_a_bomb_in_a_zip_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_zip, "BOMB_BYTES", 4 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("m", b"\n" * (16 << 20))
    reading = read_path(f"{path}!m")
    assert reading.source.bytes <= 8 << 20
    assert "unreadable" in reading.source.damaged


def test_not_every_file_is_an_archive(tmp_path):
    for name, data in (("zeros", bytes(2048)), ("xz", lzma.compress(LOG)), ("text", LOG), ("empty", b"")):
        path = tmp_path / name
        path.write_bytes(data)
        assert expand([str(path)]) == [str(path)]


def test_loops_and_pipes_in_a_folder(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "self").symlink_to("self")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.log").write_bytes(LOG)
    (tmp_path / "link").symlink_to(tmp_path / "a.log")
    assert expand([str(tmp_path)]) == [f"{tmp_path}/a.log"]


NODE = {"node1/sglang.log": LOG, "node1/old.tbz": tarred({"a.json": MEMBERS["logs/docker.json"]}, "w:bz2")}


@pytest.mark.parametrize("outer", [tarred, zipped, lambda members: tarred(members, "w:xz")])
@pytest.mark.parametrize("inner", [zipped, lambda members: tarred(members, "w:gz")])
def test_archives_in_archives(tmp_path, outer, inner):
    path = tmp_path / "bundle"
    path.write_bytes(outer({"first.log": LOG, "node1": inner(NODE), "last.log": LOG}))
    names = expand([str(path)])
    assert [name.removeprefix(f"{path}!") for name in names] == [
        "first.log",
        "node1!node1/sglang.log",
        "node1!node1/old.tbz!a.json",
        "last.log",
    ]
    for order in (names, names[::-1]):
        assert {name: read_path(name).source.records for name in order} == dict.fromkeys(names, 2)
    assert read_path(names[2]).source.carrier == "docker-json"


def test_an_inner_archive_is_copied_again_when_its_copy_is_gone(tmp_path):
    path = tmp_path / "a.tar"
    tar(path, {"b.zip": zipped({"c!d.log": LOG})})
    (name,) = expand([str(path)])
    spool.forget(f"{path}!b.zip")
    assert read_path(name).source.records == 2
    with pytest.raises(InputError, match="no such member"):
        read_path(f"{path}!b.zip!c!e.log")


def test_copies_are_bounded(tmp_path, monkeypatch):
    noise = os.urandom(3000)
    monkeypatch.setattr(spool, "KEPT_BYTES", 8000)
    path = tmp_path / "a.tar"
    tar(path, {f"{n}.zip": zipped({"noise": noise, "log": LOG}) for n in range(5)})
    names = [name for name in expand([str(path)]) if name.endswith("log")]
    assert [spool.is_kept(f"{path}!{n}.zip") for n in range(5)] == [False, False, False, True, True]
    assert [read_path(name).source.records for name in names] == [2] * 5
    monkeypatch.setattr(spool, "MOST_BYTES", 2000)
    assert expand([str(path)]) == [f"{path}!{n}.zip" for n in range(5)]
    with pytest.raises(InputError, match="too large"):
        read_path(f"{path}!0.zip")


def test_archives_are_opened_three_deep(tmp_path):
    data = LOG
    for depth in range(4):
        data = zipped({str(depth): data})
    path = tmp_path / "deep"
    path.write_bytes(data)
    (name,) = expand([str(path)])
    assert name == f"{path}!3!2!1"
    with pytest.raises(InputError, match="too deep"):
        read_path(name)


def test_an_inner_archive_cut_off_gives_what_stands_before_the_cut(tmp_path):
    path = tmp_path / "a.tar"
    tar(path, {"inner.tar": tarred({"first": LOG, "second": LOG * 1000})})
    path.write_bytes(path.read_bytes()[:8192])
    first, second = expand([str(path)])
    assert read_path(first).source.records == 2
    reading = read_path(second)
    assert reading.source.records > 10
    assert reading.source.damaged


@pytest.mark.parametrize("make", [tarred, zipped, lambda members: tarred(members, "w:bz2")])
def test_an_archive_on_standard_input(stdin, make):
    stdin(make({**MEMBERS, "inner.zip": zipped({"m": LOG})}))
    names = expand(["-"])
    assert names == [*(f"-!{name}" for name in MEMBERS), "-!inner.zip!m"]
    assert [read_path(name).source.records for name in names] == [2, 2, 1, 2]
    assert expand(["-"]) == names
    stdin(LOG)
    assert expand(["-"]) == ["-"]


@pytest.mark.parametrize(
    "data", [LOG, b"", b"x", gzip.compress(LOG, mtime=0), lzma.compress(LOG * 9), LOG * 100_000]
)
def test_what_is_no_archive_is_read_from_its_first_byte(stdin, tmp_path, data):
    (tmp_path / "file").write_bytes(data)
    stdin(data)
    assert expand(["-"]) == ["-"]
    assert read_path("-").messages == read_path(tmp_path / "file").messages


def test_an_archive_with_nothing_in_it_on_standard_input(stdin):
    stdin(zipped({}))
    assert expand(["-"]) == ["-"]
    with pytest.raises(InputError, match="archive"):
        read_path("-")
