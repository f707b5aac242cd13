import pytest
from msgspec.structs import replace

from kvforensics.findings import CATALOGUE, find
from kvforensics.launches.history import ServiceHistory
from kvforensics.records import Source
from kvforensics.sizing import reconcile
from kvforensics.verdicts import judge


@pytest.fixture
def found():
    """Findings of a service by id; launches are numbered L1, L2 … in the order given."""

    def go(*launches, trail=(), source=None, copies=()):
        launches = tuple(replace(one, id=f"L{i + 1}") for i, one in enumerate(launches))
        history = ServiceHistory(
            "node1/sglang.service", "node1", "sglang.service", launches, tuple(trail), copies=tuple(copies)
        )
        budgets = {one.id: reconcile(one) for one in launches}
        sources = [source or Source("log.txt")]
        result = find(history, budgets, judge(history, budgets), sources)
        for one in result:
            assert one.id in CATALOGUE
            assert one.severity in ("info", "warning", "error")
            assert one.title
            assert one.detail
        by_id = {}
        for one in result:
            by_id.setdefault(one.id, []).append(one)
        return by_id

    return go
