"""Which launch is held against which."""

from msgspec.structs import replace
from tests.build import launch

from kvforensics.launches.history import ServiceHistory
from kvforensics.launches.launch import Config, Launch
from kvforensics.sizing import reconcile
from kvforensics.verdicts import judge


def judged(*launches: Launch):
    named = tuple(replace(one, id=f"L{n}") for n, one in enumerate(launches, 1))
    history = ServiceHistory(id="s", host=None, unit=None, launches=named)
    return judge(history, {one.id: reconcile(one) for one in named})


def dead() -> Launch:
    """Return a start that died before it printed anything of its own."""
    return Launch(id="", config=Config(), end="failed_start")


def test_launches_in_a_row():
    found = judged(launch(), launch(context=65536), launch(context=131072))
    assert [(v.change.from_launch, v.change.to_launch) for v in found] == [("L1", "L2"), ("L2", "L3")]
    assert {v.effects.pool_tokens.baseline for v in found} == {None}


def test_a_start_without_settings_is_stepped_over():
    found = judged(launch(), dead(), dead(), launch(context=65536))
    assert [(v.change.from_launch, v.change.to_launch) for v in found] == [("L1", "L4")]
    assert found[0].effects.pool_tokens.baseline == "L1"


def test_nothing_is_claimed_without_any_settings_before():
    assert judged(dead(), launch()) == []
    assert judged(launch(), dead()) == []


def test_a_crash_loop_forgets_nothing():
    assert [v.change.from_launch for v in judged(launch(), *[dead()] * 200, launch(context=65536))] == ["L1"]
