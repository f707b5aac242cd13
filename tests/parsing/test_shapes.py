"""Unknown lines by shape, their number bounded."""

from __future__ import annotations

import pytest

from kvforensics.events import ShapeCount
from kvforensics.parsing import shapes
from kvforensics.parsing.shapes import LONGEST, OTHER, Shapes, merged, shape_of


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("Foo bar 12", "Foo bar <n>"),
        ("took 1.25s for 3/4 at 10:11:12", "took <n>s for <n>/<n> at <n>"),
        ("at 0xdeadBEEF, id 7f1c2bab", "at <hex>, id <hex>"),
        ("read /a/b-1/c.py and ~/x", "read <path> and <path>"),
        ("from 10.2.3.4:80 to https://h/p?q=1", "from <address> to <url>"),
        ("job 123e4567-e89b-12d3-a456-426614174000", "job <uuid>"),
        ("a\x1b[2Jb\u202ec", "a<control>[<n>Jb<control>c"),
        ("   ", "<blank>"),
        ("deadline missed", "deadline missed"),
    ],
)
def test_what_varies_is_replaced_by_its_sort(text: str, shape: str) -> None:
    assert shape_of(text) == shape


def test_a_shape_is_short_and_holds_no_secret() -> None:
    assert len(shape_of("x" * 10_000_000)) <= LONGEST + 1
    assert "hunter2" not in shape_of("login api_key='hunter2-very-secret' failed")


def test_shapes_are_counted_with_their_first_line() -> None:
    table: dict[str, ShapeCount] = {}
    counter = Shapes(3)
    for line in (9, 4, 7):
        counter.count(table, "a <n>", line)
    assert table == {"a <n>": ShapeCount("a <n>", 3, 3, 4)}


def test_beyond_a_bound_shapes_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MAX_SHAPES", 2)
    counter = Shapes(0)
    blocks: list[dict[str, ShapeCount]] = [{}, {}]
    for number, name in enumerate(["a", "b", "c", "a", "d", "c"]):
        counter.count(blocks[number // 3], name, number + 1)
    assert {name: one.count for name, one in merged(blocks).items()} == {"a": 2, "b": 1, OTHER: 3}
    assert merged(blocks)[OTHER].first_line == 3
