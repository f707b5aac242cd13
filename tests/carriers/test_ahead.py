"""Items made one ahead are the same items, and what goes wrong while they are made is seen."""

import threading
from collections.abc import Iterator

import pytest

from kvforensics.carriers.ahead import ahead


@pytest.mark.parametrize("count", [0, 1, 2, 3, 50])
def test_all_items_come_in_order(count):
    assert list(ahead(range(count))) == list(range(count))


@pytest.mark.parametrize("good", [0, 1, 2, 5])
def test_an_error_comes_after_the_items_before_it(good):
    def items() -> Iterator[int]:
        yield from range(good)
        raise OSError("the disk is gone")

    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        seen.extend(number for number in ahead(items()))
    got = iter(ahead(items()))
    assert [next(got) for _ in range(good)] == list(range(good))


def test_no_more_than_one_item_is_made_in_advance():
    made, asked = [], threading.Event()

    def items() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            if number == 3:
                asked.set()
            yield number

    got = ahead(items())
    assert [next(got), next(got)] == [0, 1]
    asked.wait(10)
    assert max(made) <= 3  # 2 is handed over, 3 waits for its place
    got.close()


def test_who_stops_early_waits_for_nothing():
    gate = threading.Event()

    def items() -> Iterator[int]:
        yield from (1, 2)
        gate.wait(60)
        yield 3

    got = ahead(items())
    assert [next(got), next(got)] == [1, 2]
    got.close()
    assert not gate.is_set()
    gate.set()
