"""Plain files of servers that run beside one another."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from datetime import timedelta

import pytest

from kvforensics import analyse
from kvforensics.report.timeline_json import timeline
from tests.acceptance.server import Start
from tests.damage.incident import BEGIN, DECODE, HOUR

BASE = Start(ranks=2)


def log(begin, *starts, serving=60):
    """Return the lines of starts an hour apart, each of which serves for ten minutes.

    Equal records in two files are copies: servers differ in what they serve.
    """
    load = zlib.crc32(repr((begin, starts)).encode()) % 10_000
    lines = []
    for number, start in enumerate(starts):
        at = begin + number * HOUR
        lines += [text for _, _, text in start.lines(at)]
        lines += [
            f"[{at + timedelta(minutes=5, seconds=10 * n):%F %T} TP0] {DECODE.replace('20227', str(20_000 + load + n))}"
            for n in range(serving)
        ]
    return lines


def contexts(start, *lengths):
    return [replace(start, context=length) for length in lengths]


def histories(folder, files):
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    document = timeline(analyse([str(folder)]))
    return {
        service["id"].removeprefix(f"{folder}/"): (
            [launch["pool_tokens"] for launch in service["launches"]],
            [(c["setting"], c["before"], c["after"], c["verdict"]) for c in service["changes"]],
        )
        for service in document["services"]
    }


RAISED = [
    ("context_length", 32768, 65536, "no_op_for_pool"),
    ("context_length", 65536, 100000, "no_op_for_pool"),
]


@pytest.mark.parametrize("seed", range(3))
def test_eight_servers_of_three_launches_each(tmp_path, seed):
    chance = random.Random(seed)
    files, pools = {}, {}
    for number in range(8):
        start = replace(
            BASE, P=94 + number / 10, settings={"model_path": f"/m{number % 3}", "port": 30000 + number % 2}
        )
        files[f"server{number}.log"] = log(
            BEGIN + timedelta(seconds=chance.randrange(300)), *contexts(start, 32768, 65536, 100000)
        )
        pools[f"server{number}.log"] = ([start.T] * 3, RAISED)
    assert histories(tmp_path, files) == pools


def test_equal_servers_that_start_in_the_same_second(tmp_path):
    files = {f"{n}.log": log(BEGIN, *contexts(BASE, 32768, 65536, 100000)) for n in "ab"}
    files["c.log"] = log(BEGIN, *contexts(replace(BASE, P=95), 100000, 32768))
    found = histories(tmp_path, files)
    assert found["a.log"] == ([BASE.T] * 3, RAISED)
    assert [launches for launches, _ in found.values()][-1] == [replace(BASE, P=95).T] * 2


def test_one_server_in_files_of_its_launches_is_one_history(tmp_path):
    files = {
        f"{9 - n}.log": log(BEGIN + n * HOUR, start)
        for n, start in enumerate(contexts(BASE, 32768, 65536, 100000))
    }
    assert histories(tmp_path, files) == {"9.log": ([BASE.T] * 3, RAISED)}


def test_rotated_logs_of_two_servers(tmp_path):
    files = {}
    for name, start in (("a", BASE), ("b", replace(BASE, P=95))):
        lines = log(BEGIN, *contexts(start, 32768, 65536, 100000))
        files |= {f"{name}.log.2": lines[:50], f"{name}.log.1": lines[50:120], f"{name}.log": lines[120:]}
    found = histories(tmp_path, files)
    assert found == {"a.log.2": ([BASE.T] * 3, RAISED), "b.log.2": ([replace(BASE, P=95).T] * 3, RAISED)}


def test_files_of_launches_of_two_servers_are_told_by_port_and_model(tmp_path):
    files = {}
    for name, port in (("x", 30000), ("y", 30001)):
        for n, start in enumerate(contexts(replace(BASE, settings={"port": port}), 32768, 65536, 100000)):
            files[f"{name}{n}.log"] = log(BEGIN + n * HOUR, start)
    assert histories(tmp_path, files) == {"x0.log": ([BASE.T] * 3, RAISED), "y0.log": ([BASE.T] * 3, RAISED)}


def test_files_of_launches_of_equal_servers_are_not_compared(tmp_path):
    """Nothing tells which launch is whose: no verdict is better than a wrong one."""
    files = {
        f"{name}{n}.log": log(BEGIN + n * HOUR + timedelta(seconds="xy".index(name)), start)
        for name in "xy"
        for n, start in enumerate(contexts(BASE, 32768, 65536))
    }
    found = histories(tmp_path, files)
    assert len(found) == 4
    assert all(changes == [] for _, changes in found.values())


def test_the_nodes_of_one_server_are_one(tmp_path):
    files = {}
    for node in range(2):
        nodes = {"nnodes": 2, "node_rank": node, "dist_init_addr": "10.0.0.1:5000"}
        files[f"node{node}.log"] = [
            line.replace(" TP", f" TP{node}") for line in log(BEGIN, replace(BASE, settings=nodes))
        ]
    assert list(histories(tmp_path, files)) == ["node0.log"]


def test_a_second_stream_is_of_the_server_beside_it(tmp_path):
    """What goes to standard output has a file of its own; it starts nothing."""
    files = {}
    for name, start in (("a", BASE), ("b", replace(BASE, P=95))):
        lines = log(BEGIN, *contexts(start, 32768, 65536, 100000))
        files[f"{name}/server.err"] = [line for line in lines if "Decode" not in line]
        files[f"{name}/server.out"] = [line for line in lines if "Decode" in line]
    found = histories(tmp_path, files)
    assert found == {
        "a/server.err": ([BASE.T] * 3, RAISED),
        "b/server.err": ([replace(BASE, P=95).T] * 3, RAISED),
    }


def test_two_streams_of_one_server(tmp_path):
    lines = log(BEGIN, *contexts(BASE, 32768, 65536, 100000))
    files = {"err": [x for x in lines if "Decode" not in x], "out": [x for x in lines if "Decode" in x]}
    assert histories(tmp_path, files) == {"err": ([BASE.T] * 3, RAISED)}


@pytest.mark.parametrize("excerpt", ["a-part.log", "z-part.log"])
def test_an_excerpt_with_a_start_of_its_own_belongs_to_its_log_whichever_is_read_first(tmp_path, excerpt):
    lines = log(BEGIN, *contexts(BASE, 32768, 65536, 100000))
    third = len(lines) // 3
    files = {"m.log": lines, excerpt: lines[third - 20 : 2 * third + 20]}
    (found,) = histories(tmp_path, files).values()
    assert found == ([BASE.T] * 3, RAISED)


def test_an_excerpt_belongs_to_its_log_beside_other_servers(tmp_path):
    lines = log(BEGIN, *contexts(BASE, 32768, 65536, 100000))
    third = len(lines) // 3
    files = {"a.log": lines[third - 20 : 2 * third + 20], "m.log": lines}
    files["n.log"] = log(BEGIN, *contexts(replace(BASE, P=95), 32768, 65536))
    found = histories(tmp_path, files)
    assert sorted(found.values()) == sorted(
        [([BASE.T] * 3, RAISED), ([replace(BASE, P=95).T] * 2, RAISED[:1])]
    )


def test_a_log_that_holds_two_excerpts_with_starts_of_their_own(tmp_path):
    lines = log(BEGIN, *contexts(BASE, 32768, 65536, 100000))
    third = len(lines) // 3
    files = {"a.log": lines[third - 60 : third + 30], "b.log": lines[2 * third - 30 : -15], "m.log": lines}
    files["n.log"] = log(BEGIN, *contexts(replace(BASE, P=95), 32768, 65536))
    found = histories(tmp_path, files)
    assert sorted(found.values()) == sorted(
        [([BASE.T] * 3, RAISED), ([replace(BASE, P=95).T] * 2, RAISED[:1])]
    )


def test_a_log_with_an_excerpt_does_not_swallow_a_smaller_server_of_its_time(tmp_path):
    lines = log(BEGIN, *contexts(BASE, 32768, 65536, 100000))
    third = len(lines) // 3
    files = {
        "a.log": lines[third - 20 : 2 * third + 20],
        "b.log": log(BEGIN, replace(BASE, P=95)),
        "m.log": lines,
    }
    found = histories(tmp_path, files)
    assert sorted(found.values()) == sorted([([BASE.T] * 3, RAISED), ([replace(BASE, P=95).T], [])])
