"""Ray Core as an engine: a real cluster of two nodes on this machine."""

import os
from pathlib import Path

import pytest

from kvforensics.scan import work
from kvforensics.scan.engine import RETRIES, WorkerDiedError
from tests.scan import jobs
from tests.scan.logs import plain, published, scanned, starts, unit_log

ray = pytest.importorskip("ray", reason="the extra kvforensics[ray] is not installed")


@pytest.fixture(scope="module")
def engine():
    from kvforensics.scan.engines.ray import Ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])  # workers find the functions of these tests
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        yield Ray(cluster.address)
    finally:
        ray.shutdown()
        cluster.shutdown()
        del os.environ["PYTHONPATH"]


def test_a_killed_worker_and_a_poison_file(engine, tmp_path, monkeypatch):
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(5):
        (logs / f"{number}.log").write_bytes(plain(starts(number * 20, context=1000 + number)))
    (logs / "kills-once.log").write_bytes(plain(starts(7, context=50_000)))
    (logs / "unit.export").write_bytes(unit_log("gpu1", starts(0), starts(20, f=0.9)))
    (logs / "unit2.export").write_bytes(unit_log("gpu1", starts(20, f=0.9), starts(40)))
    scanned(tmp_path / "local", logs)
    monkeypatch.setattr(work, "read_one", jobs.deadly_files)
    (logs / "poison.log").write_bytes(plain(starts(3)))
    outcome = scanned(tmp_path / "ray", logs, engine=engine)
    assert (tmp_path / "ray/.died").exists()
    assert outcome.read == 8
    assert [(path.rpartition("/")[2], why) for path, why in outcome.failures] == [
        ("poison.log", f"its worker died {RETRIES + 1} times")
    ]
    monkeypatch.undo()
    (logs / "poison.log").unlink()
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.reduce import reduce

    held = Catalogue(tmp_path / "ray")
    held.manifest.drop(str(logs / "poison.log"))
    reduce(held, engine)
    assert published(tmp_path / "ray") == published(tmp_path / "local")


@pytest.mark.parametrize(("kind", "tries"), [("passing", RETRIES + 1), ("bug", 1), ("full", 1)])
def test_only_what_may_pass_is_tried_again(engine, tmp_path, kind, tries):
    ((_, value, error),) = engine.run(jobs.fails, [(str(tmp_path), kind)])
    assert value is None
    assert isinstance(error, type({"passing": OSError(), "bug": ValueError(), "full": jobs.full()}[kind]))
    assert (tmp_path / kind).read_text() == "x" * tries


def test_a_poison_item_among_others(engine):
    results = {item: (value, error) for item, value, error in engine.run(jobs.poison, range(6))}
    assert [results[item][0] for item in (0, 1, 2, 4, 5)] == [0, 10, 20, 40, 50]
    assert isinstance(results[3][1], WorkerDiedError)


def test_a_worker_has_one_thread_of_polars(engine):
    assert {value[1] for _, value, _ in engine.run(jobs.threads, range(3))} == {1}


def test_tasks_are_given_out_as_they_are_needed(engine, monkeypatch):
    from kvforensics.scan.engines import ray as adapter

    monkeypatch.setattr(adapter, "WINDOW", 2)
    taken = []
    run = engine.run(jobs.poison, (taken.append(n) or n for n in range(10, 200)))
    next(run)
    assert len(taken) <= 2 * 2 + 1
    run.close()


@pytest.mark.usefixtures("engine")
def test_nothing_is_reported_to_anybody():
    from ray._common.usage import usage_lib

    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert not usage_lib.usage_stats_enabled()


def test_the_report_is_off_before_ray_is_started(monkeypatch):
    from kvforensics.scan.engines.ray import Ray

    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED", raising=False)
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    Ray()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
