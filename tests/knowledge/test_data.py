"""What is kept of the data files is what they say, and counts only for their very text."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from kvforensics.knowledge import data

FOLDER = Path(data.__file__).parent


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a small data file and what is kept of it."""
    monkeypatch.setattr(data, "_FOLDER", tmp_path)
    data.toml.cache_clear()
    (tmp_path / "tables").mkdir()
    (tmp_path / "small.toml").write_text('a = 1\nb = ["x", 0.5, true]\n', "utf-8")
    (tmp_path / "tables" / "small.json").write_text(data.table("small"), "utf-8")
    yield tmp_path
    data.toml.cache_clear()


def test_every_data_file_is_kept():
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(data.TOML)


@pytest.mark.parametrize("name", data.TOML)
def test_what_is_kept_is_what_the_file_says(name):
    kept = data.table_path(name).read_text("utf-8")
    assert kept == data.table(name), "run `python tools/make_tables.py`"
    assert json.loads(kept)["data"] == tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


@pytest.mark.usefixtures("folder")
def test_a_file_is_not_read_where_it_is_kept(monkeypatch):
    monkeypatch.setattr(data, "_read", lambda _: pytest.fail("the file was read"))
    assert data.toml("small") == {"a": 1, "b": ["x", 0.5, True]}


def test_an_edited_file_is_read_at_once(folder):
    (folder / "small.toml").write_text("a = 2\n", "utf-8")
    assert data.toml("small") == {"a": 2}


@pytest.mark.parametrize("kept", ["", "{", "[]", "{}", '{"key": null, "data": {"a": 3}}', "5", "\x80"])
def test_what_is_kept_may_be_anything(folder, kept):
    (folder / "tables" / "small.json").write_text(kept, "latin-1")
    assert data.toml("small")["a"] == 1
