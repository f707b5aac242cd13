from __future__ import annotations

from datetime import datetime

import pytest

from kvforensics.carriers import expand


def test_since_and_until_are_inclusive(read, samples):
    path = samples / "journald-252/incident/json-all.json"
    everything = read(path).frame["at"]
    since, until = everything[100], everything[300]
    found = read(path, since=since, until=until)
    assert found.source.records == found.frame.height == sum(since <= at <= until for at in everything)
    assert (found.source.first_at, found.source.last_at) == (since, until)
    assert found.source.lines == 431


def test_records_without_time_stay(read, samples):
    path = samples / "journald-252/incident/cat.txt"
    assert read(path, since=datetime(2030, 1, 1)).frame.height == 431


@pytest.mark.parametrize("unit", ["sglang-k26.service", "sglang-k26", "sglang-*", "sglang-k26.*"])
def test_a_unit_and_its_trail(read, samples, unit):
    found = read(samples / "journald-252/incident/json-all.json", units=(unit,))
    assert found.values("unit") - {"session-4.scope", "init.scope", "systemd-journald.service"} == {
        "sglang-k26.service"
    }
    assert "sudo" in found.values("ident")
    assert "nginx" not in found.values("ident")


def test_hosts(read, samples):
    path = samples / "journald-252/two-hosts/short.txt"
    assert read(path, hosts=("k26-node2",)).values("host") == {"k26-node2"}
    assert read(path, hosts=("k26-*",)).frame.height == 520
    assert read(path, hosts=("nowhere",)).frame.height == 0
    assert read(samples / "journald-252/incident/cat.txt", hosts=("nowhere",)).frame.height == 431


def test_damage_of_what_was_not_asked_for_is_not_counted(read, samples):
    path = samples / "journald-252/incident/json.json"
    assert read(path, units=("nginx",)).damage() == {}


def test_a_directory_stands_for_its_files(tmp_path):
    for name in ("b/2.log", "a/1.log", "0.log", "b/c/3.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    found = [path.removeprefix(str(tmp_path)) for path in expand([str(tmp_path)])]
    assert found == ["/0.log", "/a/1.log", "/b/2.log", "/b/c/3.log"]


def test_paths_stay_as_typed_and_count_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("x")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "b.log").write_text("x")
    assert expand(["./a.log", "a.log", "d", "d/b.log", "-", "absent"]) == [
        "./a.log",
        "d/b.log",
        "-",
        "absent",
    ]
