"""What there is to scan."""

import os

import pytest

from kvforensics.errors import UsageError
from kvforensics.scan.plan import Item, plan, shard, walk_order


def touch(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x\n")


def test_a_walk_meets_files_before_folders(tmp_path):
    touch(tmp_path, "b/c.log", "b/a/d.log", "z.log", "a.log")
    found = [item.path.removeprefix(f"{tmp_path}/") for item in plan([str(tmp_path)])]
    assert found == ["a.log", "z.log", "b/c.log", "b/a/d.log"]
    assert found == sorted(found, key=walk_order)


def test_patterns_and_names_that_look_like_one(tmp_path):
    touch(tmp_path, "a.log", "b.log", "sub/c.log", "x[1].log")
    names = lambda *inputs: [item.path.rpartition("/")[2] for item in plan([str(each) for each in inputs])]  # noqa: E731
    assert names(tmp_path / "*.log") == ["a.log", "b.log", "x[1].log"]
    assert names(tmp_path / "**/*.log") == ["a.log", "b.log", "x[1].log", "c.log"]
    assert names(tmp_path / "x[1].log") == ["x[1].log"]
    assert names(tmp_path / "a.log", tmp_path / "a.log") == ["a.log"]


def test_shards_are_all_of_it_once():
    items = [Item(f"logs/{number}.log", 1, "1") for number in range(500)]
    parts = [shard(items, number, 7) for number in range(1, 8)]
    assert sorted(item.path for part in parts for item in part) == sorted(item.path for item in items)
    assert min(map(len, parts)) > 40
    assert shard(items, 3, 7) == shard(items, 3, 7)


@pytest.mark.parametrize("number", [0, 8, -1])
def test_there_is_no_such_shard(number):
    with pytest.raises(UsageError):
        shard([], number, 7)


@pytest.mark.parametrize("name", ["-", "journal://sglang"])
def test_what_cannot_be_scanned(name):
    with pytest.raises(UsageError, match="cannot be scanned"):
        plan([name])


def test_nothing_is_found(tmp_path):
    with pytest.raises(UsageError, match="nothing to scan"):
        plan([str(tmp_path)])


def test_a_pipe_is_an_input_that_fails(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (item,) = plan([str(tmp_path / "pipe")])
    assert item.error is not None


def test_a_folder_of_journal_files_changes_with_its_files(tmp_path):
    journal = tmp_path / "system.journal"
    journal.write_bytes(b"LPKSHHRH" + bytes(100))
    (item,) = plan([str(tmp_path)])
    assert item.path == str(tmp_path)
    journal.write_bytes(b"LPKSHHRH" + bytes(200))
    (grown,) = plan([str(tmp_path)])
    assert grown.stamp != item.stamp
