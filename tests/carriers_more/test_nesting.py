"""Layers: what stands around them is kept, what passes by stays in its place."""

import json
from datetime import datetime

import pytest

from kvforensics.carriers.nesting import within
from kvforensics.records import Origin

from .reading import read
from .wrap import docker_json, docker_text, kubectl, loki_text, quoted, script, srun, ts


def journal(message, number=0, **fields):
    entry = {
        "__CURSOR": f"s=1;i={number}",
        "__REALTIME_TIMESTAMP": str(1779285791000000 + number * 1000),
        "_HOSTNAME": "gpu01",
        "_SYSTEMD_UNIT": "app.service",
        "_PID": "71",
        "SYSLOG_IDENTIFIER": "python3",
        "_TRANSPORT": "stdout",
        **fields,
    }
    if message is not None:
        entry["MESSAGE"] = message
    return json.dumps(entry).encode()


def test_layers_keep_the_place_the_cursor_and_the_machine():
    reading = read([journal(f"sglang-1  | line {number}", number) for number in range(5)])
    assert (reading.source.carrier, reading.source.layers) == ("journal-json", ("compose",))
    assert reading.messages[3] == "line 3"
    assert reading.column("cursor")[3] == "s=1;i=3"
    assert reading.column("line")[3] == 4
    assert reading.column("at")[0] == datetime(2026, 5, 20, 14, 3, 11)
    origin = reading.origin(0)
    assert (origin.host, origin.unit, origin.container, origin.pid) == (
        "gpu01",
        "app.service",
        "sglang-1",
        71,
    )


def test_what_passes_by_stays_in_its_place():
    systemd = {"_PID": "1", "SYSLOG_IDENTIFIER": "systemd", "_TRANSPORT": "journal", "UNIT": "app.service"}
    reading = read(
        [
            journal("sglang-1  | a", 0),
            journal(None, 1),
            journal(
                "Stopping app.service - x...", 2, MESSAGE_ID="de5b426a63be47a7b6ac3eaac82e2f6f", **systemd
            ),
            journal("sglang-1  | b", 3),
            journal("", 4),
            journal("sglang-1  | c", 5),
            journal(None, 6),
        ]
    )
    assert reading.messages == ["a", None, "Stopping app.service - x...", "b", "", "c", None]
    assert reading.column("line") == [1, 2, 3, 4, 5, 6, 7]
    assert reading.column("extra")[2] is not None


def test_pieces_of_an_inner_carrier_are_joined_across_the_outer_ones_records():
    lines = [
        journal("2026-05-20T14:03:11Z stderr P server_args=", 0),
        journal("2026-05-20T14:03:11Z stdout F other", 1),
        journal("2026-05-20T14:03:11Z stderr F ServerArgs(a=1)", 2),
    ]
    reading = read(lines)
    assert reading.messages == ["server_args=ServerArgs(a=1)", "other"]
    assert reading.column("cursor") == ["s=1;i=0", "s=1;i=1"]


def test_a_message_of_several_lines_stays_one_record():
    reading = read([journal("sglang-1  | Traceback\n  File x\nValueError", number) for number in range(3)])
    assert reading.messages == ["Traceback\n  File x\nValueError"] * 3


def test_ray_and_torchrun_prefixes_anywhere_in_a_log():
    lines = [b"plain line %d" % number for number in range(500)]
    lines.append(b"(SGLangEngine pid=322526) [2025-12-31 05:52:21] Load weight begin.")
    lines.append(b"\x1b[36m(SchedulerActor pid=12, ip=10.0.0.2)\x1b[0m [rank3]: both")
    lines.append(b"[rank0]:[W512 10:11:12.1 ProcessGroupNCCL.cpp:4718] x")
    lines.append(b"(not an actor) text (pid=3)")
    reading = read(lines)
    assert reading.messages[500:] == [
        "[2025-12-31 05:52:21] Load weight begin.",
        "both",
        "[W512 10:11:12.1 ProcessGroupNCCL.cpp:4718] x",
        "(not an actor) text (pid=3)",
    ]
    assert reading.source.layers == ("ray", "torchrun")
    assert (reading.origin(500).ident, reading.origin(500).pid) == ("SGLangEngine", 322526)
    assert reading.origin(501).ident == "rank3"
    assert reading.origin(502).ident == "rank0"


def test_plain_text_on_demand():
    data = docker_json([b"a", b"b"])
    assert read(data, carrier="plain").messages == [line.decode() for line in data]
    assert read(docker_text([b"(X pid=1) a"]), carrier="docker-text").messages == ["a"]


def test_labels_of_logcli():
    reading = read(
        [
            b'2026-05-20T14:03:11Z {host="gpu01", unit="sglang.service"}            a',
            b'\x1b[34m2026-05-20T14:03:12Z\x1b[0m \x1b[36m{pod="p", container="c"}\x1b[0m b',
            b"2026-05-20T14:03:13Z {} c",
        ]
    )
    assert reading.messages == ["a", "b", "c"]
    assert (reading.origin(0).host, reading.origin(0).unit) == ("gpu01", "sglang.service")
    assert reading.origin(1).container == "p/c"


def test_quotes_and_fences():
    quoted = read([b"> ```", b"> [2026-05-20 14:03:11] a", b"> > b", b">", b">   indented", b"> ```"])
    assert quoted.messages == ["```", "[2026-05-20 14:03:11] a", "b", "", "  indented", "```"]
    indented = read([b"    [2026-05-20 14:03:11] a", b"", b"      File x", b"    b"])
    assert indented.messages == ["[2026-05-20 14:03:11] a", "", "  File x", "b"]


def test_an_indented_paste_between_fences_and_words():
    lines = [
        b"Here is my log:",
        b"",
        b"```text",
        *(b"    sglang-1  | line %d" % n for n in range(9)),
        b"```",
        b"Why?",
    ]
    reading = read(lines)
    assert reading.source.layers == ("quoted", "compose")
    assert reading.messages[3:-2] == [f"line {n}" for n in range(9)]
    assert (reading.messages[0], reading.messages[-1]) == ("Here is my log:", "Why?")


def test_a_log_with_tracebacks_is_not_indented_text():
    lines = [b"Traceback (most recent call last):", *[b"  File x"] * 30]
    assert read(lines).messages[1] == "  File x"


def test_terminal_recordings():
    reading = read(
        [
            b'Script started on 2026-05-20 14:03:11+00:00 [TERM="xterm-256color"]',
            b"\x1b]0;title\x07\x1b[?2004h$ sglang serve\r",
            b"\x1b[32mINFO\x1b[0m:     Started\r\r",
            b"\r 50%|##\r100%|####\r",
        ]
    )
    assert reading.source.layers == ("script",)
    assert reading.messages[1:] == ["$ sglang serve", "INFO:     Started", "\r 50%|##\r100%|####"]


def test_a_clock_of_ts_takes_its_year_from_the_text():
    reading = read(
        [b"May 20 14:03:11 [2026-05-20 14:03:11 TP0] a", b"May  3 14:03:12 b", b"May 20 14:03:12 c"]
    )
    assert reading.messages == ["[2026-05-20 14:03:11 TP0] a", "b", "c"]
    assert reading.column("at")[0] == datetime(2026, 5, 20, 14, 3, 11)


def test_the_outer_names_the_machine_and_the_inner_the_rest():
    outer = Origin(host="h", unit="u", pid=1, boot="b", stream="s")
    inner = Origin(host="other", container="c", pid=2)
    assert within(outer, inner) == Origin("h", "u", "c", None, 2, None, "s", "b", None)
    assert within(Origin(), inner) == inner


def test_more_carriers_than_fit_leave_the_rest_as_text():
    message = b"x"
    for _ in range(12):
        message = docker_json([message])[0]
    reading = read([message])
    assert reading.frame.height == 1
    assert reading.messages[0].startswith('{"log":')


def test_promtails_copy_of_whole_journal_entries():
    lines = [
        json.dumps(
            {
                "labels": {"job": "journal"},
                "line": journal(f"[2026-05-20 14:03:11] {n}", n).decode(),
                "timestamp": "2026-05-20T14:03:11Z",
            }
        ).encode()
        for n in range(5)
    ]
    reading = read(lines)
    assert (reading.source.carrier, reading.source.layers) == ("logs-json", ("journal-json",))
    assert reading.messages[2] == "[2026-05-20 14:03:11] 2"
    assert (reading.origin(0).host, reading.origin(0).unit) == ("gpu01", "app.service")
    assert reading.column("cursor")[2] == "s=1;i=2"


def test_newest_first_text_is_turned_round():
    lines = [b'2026-05-20T14:03:%02dZ {host="h"} line %d' % (n, n) for n in range(30)]
    reading = read(lines[::-1])
    assert reading.messages == [f"line {n}" for n in range(30)]
    assert reading.column("line")[0] == 30


@pytest.mark.parametrize(
    ("chain", "layers"),
    [
        ((kubectl, script), ("script", "docker-text")),
        ((loki_text, script), ("script", "loki")),
        ((quoted, script), ("script", "quoted")),
        ((srun, ts), ("ts", "slurm")),
        ((ts, srun, quoted), ("quoted", "slurm", "ts")),
    ],
    ids=["kubectl recorded", "logcli recorded", "quote recorded", "ts around srun", "srun around ts, quoted"],
)
def test_unusual_orders(chain, layers):
    lines = [b"[2026-05-20 14:03:11 TP0] Load weight begin. avail mem=%d.00 GB" % n for n in range(20)]
    wrapped = lines
    for carrier in chain:
        wrapped = carrier(wrapped)
    reading = read(wrapped)
    assert [text for text in reading.messages if not text.startswith("Script ")] == [
        line.decode() for line in lines
    ]
    assert reading.source.layers == layers


def test_journal_entries_behind_the_labels_of_logcli():
    reading = read(loki_text([journal(f"line {number}", number) for number in range(5)]))
    assert (reading.source.carrier, reading.source.layers) == ("docker-text", ("loki", "journal-json"))
    assert reading.messages == [f"line {number}" for number in range(5)]
    assert reading.column("cursor")[4] == "s=1;i=4"


@pytest.mark.parametrize("around", [quoted, lambda lines: [b"    " + line for line in lines]])
def test_an_export_pasted_with_its_empty_lines(around):
    entry = b"__CURSOR=s=1;i=%d\n__REALTIME_TIMESTAMP=177928579100000%d\n_HOSTNAME=gpu01\nMESSAGE=line %d\n"
    lines = b"\n".join(entry % (n, n, n) for n in range(5)).split(b"\n")
    reading = read(around(lines))
    assert reading.source.layers == ("quoted", "journal-export")
    assert reading.messages == [f"line {n}" for n in range(5)]
    assert reading.source.damaged == {}
