"""Engines: who dies, who is tried again, how much waits."""

import os
from itertools import count

import pytest

from kvforensics.scan.atomic import CatalogueWriteError
from kvforensics.scan.engine import RETRIES, WINDOW, Here, Local, WorkerDiedError
from tests.scan import jobs


def test_a_poison_item_is_an_error_of_its_own_and_of_no_other():
    results = {item: (value, error) for item, value, error in Local(2).run(jobs.poison, range(8))}
    assert sorted(results) == list(range(8))
    assert {item: value for item, (value, _) in results.items() if item != 3} == {
        item: item * 10 for item in range(8) if item != 3
    }
    assert isinstance(results[3][1], WorkerDiedError)


def test_who_survives_the_second_time_is_done(tmp_path):
    results = {
        item[1]: value
        for item, value, _ in Local(2).run(jobs.die_once, [(str(tmp_path), n) for n in range(5)])
    }
    assert results == {n: n for n in range(5)}


def test_one_worker_is_a_process_of_its_own():
    ((_, (pid, _), _),) = Local(1).run(jobs.threads, [1])
    assert pid != os.getpid()


def test_workers_share_the_cores_and_are_not_forked():
    workers = os.cpu_count() or 1
    found = [value for _, value, _ in Local(workers).run(jobs.threads, range(4))]
    assert {threads for _, threads in found} == {1}  # a forked one would hang, or have this process's threads


@pytest.mark.parametrize("engine", [Here(), Local(1)], ids=["here", "local"])
@pytest.mark.parametrize(("kind", "tries"), [("passing", RETRIES + 1), ("bug", 1), ("full", 1)])
def test_only_what_may_pass_is_tried_again(tmp_path, engine, kind, tries):
    ((_, value, error),) = engine.run(jobs.fails, [(str(tmp_path), kind)])
    assert value is None
    assert type(error) is {"passing": OSError, "bug": ValueError, "full": CatalogueWriteError}[kind]
    assert (tmp_path / kind).read_text() == "x" * tries


def test_an_error_comes_back_whole():
    error = jobs.full()
    made, arguments = error.__reduce__()
    again = made(*arguments)
    assert (str(again), again.hint) == (str(error), error.hint)


def test_items_are_taken_as_they_are_needed():
    taken = count()
    run = Local(2).run(jobs.poison, (10 + next(taken) for _ in range(1000)))
    next(run)
    assert next(taken) <= 2 * WINDOW + 2
    run.close()


def test_without_items_no_process_is_started(monkeypatch):
    from kvforensics.scan import engine

    monkeypatch.setattr(engine, "_pool_of", lambda _: pytest.fail("started"))
    assert list(Local(2).run(jobs.poison, [])) == []
