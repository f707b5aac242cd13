"""Counts first: every real sample of journald, as journalctl of systemd 252 printed it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

NODE1 = {"k26-node1"}
NODES = {"k26-node1", "k26-node2"}
INCIDENT = (datetime(2026, 5, 20, 14, 2, 10), datetime(2026, 5, 20, 17, 8, 3))
UNIT = (datetime(2026, 5, 20, 14, 3), datetime(2026, 5, 20, 17, 8, 3))
TWO = (datetime(2026, 5, 20, 13, 55), datetime(2026, 5, 20, 17, 8, 3))
EDGE = (datetime(2025, 12, 31, 23, 58), datetime(2026, 1, 1, 0, 0, 30))
DST = (datetime(2026, 10, 25, 0, 0), datetime(2026, 10, 25, 2, 0, 1))
DST_AS_UTC = (datetime(2026, 10, 25, 2, 0), datetime(2026, 10, 25, 3, 0, 1))
SHORT = "journal-short"
JSON = "journal-json"
BLOBS = {"blob_data": 8}
EDGE_TEXT = {"blob_data": 2, "rate_limited": 1}
EDGE_JSON = {"message_binary": 1, "message_null": 1, "rate_limited": 1}

# file, carrier, lines, records, hosts, first and last second, damage
COUNTS = [
    ("incident/cat.txt", "plain", 431, 431, set(), None, {}),
    ("incident/export.export", "journal-export", 10005, 431, NODE1, INCIDENT, {}),
    ("incident/json-all.json", JSON, 431, 431, NODE1, INCIDENT, {}),
    ("incident/json.json", JSON, 431, 431, NODE1, INCIDENT, {"message_null": 4}),
    ("incident/json-seq.json", JSON, 6, 6, NODE1, (datetime(2026, 5, 20, 17, 7, 58), INCIDENT[1]), {}),
    ("incident/u.json-all.json", JSON, 395, 395, NODE1, UNIT, {}),
    ("incident/u.json.json", JSON, 395, 395, NODE1, UNIT, {"message_null": 4}),
    ("incident/verbose.txt", "journal-verbose", 8667, 431, NODE1, INCIDENT, {"blob_data": 46}),
    ("incident/short.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/short-precise.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/short-iso.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/short-iso-precise.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/short-full.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/short-unix.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/short-monotonic.txt", SHORT, 432, 431, NODE1, None, BLOBS),
    ("incident/with-unit.txt", SHORT, 432, 431, NODE1, INCIDENT, BLOBS),
    ("incident/u.short.txt", SHORT, 396, 395, NODE1, UNIT, BLOBS),
    ("incident/u.short-iso.txt", SHORT, 396, 395, NODE1, UNIT, BLOBS),
    ("incident/u.short-iso-precise.txt", SHORT, 396, 395, NODE1, UNIT, BLOBS),
    ("two-hosts/short.txt", SHORT, 538, 520, NODES, TWO, {"blob_data": 10}),
    ("two-hosts/short-iso.txt", SHORT, 538, 520, NODES, TWO, {"blob_data": 10}),
    ("dst/short.txt", SHORT, 8, 8, NODE1, DST_AS_UTC, {}),
    ("dst/short-full.txt", SHORT, 8, 8, NODE1, DST, {}),
    ("dst/tz-Europe-Berlin.short.txt", SHORT, 8, 8, NODE1, DST_AS_UTC, {}),
    ("dst/tz-Europe-Berlin.short-iso.txt", SHORT, 8, 8, NODE1, DST, {}),
    ("edge/export.export", "journal-export", 716, 33, NODE1, EDGE, {"message_binary": 1, "rate_limited": 1}),
    ("edge/json-all.json", JSON, 34, 33, NODE1, EDGE, {"message_binary": 1, "rate_limited": 1}),
    ("edge/json.json", JSON, 34, 33, NODE1, EDGE, EDGE_JSON),
    ("edge/json-seq.json", JSON, 34, 33, NODE1, EDGE, EDGE_JSON),
    ("edge/json-sse.json", JSON, 68, 33, NODE1, EDGE, EDGE_JSON),
    ("edge/json-pretty.json", JSON, 788, 33, NODE1, EDGE, EDGE_JSON),
    ("edge/short.txt", SHORT, 37, 33, NODE1, EDGE, EDGE_TEXT),
    ("edge/short-iso.txt", SHORT, 37, 33, NODE1, EDGE, EDGE_TEXT),
    ("edge/short-unix.txt", SHORT, 37, 33, NODE1, EDGE, EDGE_TEXT),
    ("edge/short-reverse.txt", SHORT, 37, 33, NODE1, EDGE, EDGE_TEXT),
    ("edge/short-color.txt", SHORT, 37, 33, NODE1, EDGE, EDGE_TEXT),
    ("edge/short-catalog.txt", SHORT, 114, 33, NODE1, EDGE, EDGE_TEXT),
    ("edge/short-no-hostname.txt", SHORT, 37, 33, set(), EDGE, EDGE_TEXT),
    ("edge/short-all.txt", SHORT, 37, 33, NODE1, EDGE, {"invalid_utf8": 1, "rate_limited": 1}),
    ("edge/locale-ja_JP.UTF-8.short.txt", SHORT, 24, 24, NODE1, None, {"rate_limited": 1}),
]


@pytest.mark.parametrize(
    ("name", "carrier", "lines", "records", "hosts", "times", "damage"),
    COUNTS,
    ids=[row[0] for row in COUNTS],
)
def test_counts(read, samples, name, carrier, lines, records, hosts, times, damage):
    path = samples / "journald-252" / name
    found = read(path)
    source = found.source
    assert source.carrier == carrier
    assert source.layers == ()
    assert (source.lines, source.records) == (lines, records)
    assert found.frame.height == records
    assert source.bytes == path.stat().st_size
    assert found.values("host") == hosts
    assert {kind: count for kind, (count, _) in found.damage().items()} == damage
    if times is None:
        assert (source.first_at, source.last_at, source.time_basis) == (None, None, "none")
    else:
        assert source.time_basis == "carrier"
        assert source.first_at.replace(microsecond=0) == times[0]
        assert source.last_at.replace(microsecond=0) == times[1]


def test_every_sample_is_counted(samples):
    files = {
        str(path.relative_to(samples / "journald-252")) for path in (samples / "journald-252").rglob("*.*")
    }
    assert files == {row[0] for row in COUNTS}


@pytest.mark.parametrize("name", ["json-all.json", "export.export", "verbose.txt"])
def test_origins_of_the_incident(read, samples, name):
    found = read(samples / "journald-252/incident" / name)
    assert found.values("unit") >= {"sglang-k26.service", "session-4.scope", "nginx.service", "init.scope"}
    of_service = [row for row in found.rows() if row["origin"].unit == "sglang-k26.service"]
    assert len(of_service) == 395
    own = [row for row in of_service if row["origin"].pid == 1]
    assert len(own) == 16  # of 20: the ends of two boots and two reloads are about no unit
    assert len({row["origin"].invocation for row in of_service} - {None}) == 4
    starts = [row for row in own if row["message"].startswith("Started ")]
    lines = {row["origin"].invocation for row in of_service if row["origin"].pid != 1}
    assert {row["origin"].invocation for row in starts} == lines
    assert len(found.values("stream")) == 4
    assert any("--context-length 200000" in text for text in found.values("cmdline"))


def test_with_unit_names_units(read, samples):
    found = read(samples / "journald-252/incident/with-unit.txt")
    assert "sglang-k26.service" in found.values("unit")
    assert "init.scope" not in found.values("unit")
    systemd = [row["origin"] for row in found.rows() if row["origin"].ident == "systemd"]
    assert len(systemd) == 20
    assert {(origin.pid, origin.unit) for origin in systemd} == {(1, None)}


def _same(first, second, names):
    return [
        (row, name, one[name], two[name])
        for row, (one, two) in enumerate(zip(first.rows(), second.rows(), strict=True))
        for name in names
        if one[name] != two[name]
    ]


def test_json_and_export_say_the_same(read, samples):
    folder = samples / "journald-252/incident"
    names = ("at", "mono", "message", "cursor", "extra", "damage", "origin")
    assert _same(read(folder / "export.export"), read(folder / "json-all.json"), names) == []


def test_json_without_a_loses_only_the_config_lines(read, samples):
    folder = samples / "journald-252/incident"
    whole, cut = read(folder / "json-all.json"), read(folder / "json.json")
    differing = _same(whole, cut, ("at", "mono", "message", "cursor", "extra", "origin"))
    assert [(name, second) for _, name, _, second in differing] == [("message", None)] * 4
    assert all("server_args=ServerArgs(" in first for _, _, first, _ in differing)
    assert all("--context-length" in cut.of(row).cmdline for row, *_ in differing)


def test_verbose_says_the_same_where_it_prints(read, samples):
    folder = samples / "journald-252/incident"
    export, verbose = read(folder / "export.export"), read(folder / "verbose.txt")
    assert _same(export, verbose, ("at", "mono", "cursor", "extra", "origin")) == []
    printed = [row for row in _same(export, verbose, ("message",)) if row[3] is not None]
    assert printed == []


@pytest.mark.parametrize("name", ["short-iso-precise.txt", "short-precise.txt", "short-unix.txt"])
def test_short_says_the_same_message_by_message(read, samples, name):
    folder = samples / "journald-252/incident"
    export, short = read(folder / "export.export"), read(folder / name)
    assert _same(export, short, ("at",)) == []
    for one, two in zip(export.rows(), short.rows(), strict=True):
        assert (one["origin"].host, one["origin"].ident) == (two["origin"].host, two["origin"].ident)
        assert one["origin"].pid == two["origin"].pid
        if two["message"] is None:
            assert two["damage"] == "blob_data"
            assert "\r" in one["message"]
        else:  # journalctl strips the colours of uvicorn
            assert one["message"].replace("\x1b[32m", "").replace("\x1b[0m", "") == two["message"]


def test_reverse_gives_the_same_records_in_forward_order(read, samples):
    folder = samples / "journald-252/edge"
    forward, reverse = read(folder / "short.txt"), read(folder / "short-reverse.txt")
    assert _same(forward, reverse, ("at", "message", "damage", "origin")) == []
    assert reverse.lines() == sorted(reverse.lines(), reverse=True)


@pytest.mark.parametrize("name", ["short-catalog.txt", "short-color.txt", "short-no-hostname.txt"])
def test_switches_change_nothing_in_the_messages(read, samples, name):
    folder = samples / "journald-252/edge"
    assert _same(read(folder / "short.txt"), read(folder / name), ("at", "message", "damage")) == []


@pytest.mark.parametrize("name", ["json-seq.json", "json-sse.json", "json-pretty.json"])
def test_json_forms_say_the_same(read, samples, name):
    folder = samples / "journald-252/edge"
    names = ("at", "mono", "message", "cursor", "extra", "damage", "origin")
    assert _same(read(folder / "json.json"), read(folder / name), names) == []


def test_message_of_several_lines(read, samples):
    folder = samples / "journald-252/edge"
    short, export = read(folder / "short.txt"), read(folder / "export.export")
    assert short.messages()[6] == export.messages()[6]
    assert short.messages()[6].split("\n")[3:] == [
        "",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 94.97 GiB of which 1.12 GiB is free.",
    ]
    assert short.lines()[6:8] == [7, 12]


def test_lines_that_look_like_journalctls_own_are_messages(read, samples):
    messages = read(samples / "journald-252/edge/short.txt").messages()
    assert "-- Boot 00000000000000000000000000000000 --" in messages
    assert "-- No entries --" in messages
    assert "Jan 01 00:00:11 k26-node9 python3[7]: a line that looks like a prefix itself" in messages


def test_new_year_and_a_clock_step_back_over_it(read, samples):
    times = read(samples / "journald-252/edge/short.txt").frame["at"].to_list()
    assert times[4:6] == [datetime(2025, 12, 31, 23, 59, 58), datetime(2026, 1, 1, 0, 0, 1)]
    assert times[-3:] == [
        datetime(2026, 1, 1, 0, 0, 30),
        datetime(2025, 12, 31, 23, 59),
        datetime(2025, 12, 31, 23, 59, 10),
    ]


@pytest.mark.parametrize("name", ["short.txt", "tz-Europe-Berlin.short.txt"])
def test_the_hour_that_comes_twice(read, samples, name):
    short = read(samples / "journald-252/dst" / name, tz="Europe/Berlin")
    exact = read(samples / "journald-252/dst/tz-Europe-Berlin.short-iso.txt")
    assert short.frame["at"].to_list() == exact.frame["at"].to_list()
    assert short.messages() == exact.messages()


def test_boots_of_two_hosts_alternate(read, samples):
    found = read(samples / "journald-252/two-hosts/short.txt")
    before_first_mark = {row["origin"].boot for row in found.rows() if row["line"] < 82}
    assert before_first_mark == {None}
    marked = Counter((row["origin"].host, row["origin"].boot) for row in found.rows() if row["line"] > 82)
    assert marked == {
        ("k26-node1", "5d64a2df706450d78d1a02dd2cb6736a"): 350,
        ("k26-node1", "89c39d3804d05b0eadaee83cc8bbf86c"): 81,
        ("k26-node2", "f3cdbd314b895dd79701aac40af44946"): 8,
    }


def test_rsyslogs_traditional_file_is_journal_short(read, samples):
    found = read(samples / "carriers/rsyslog.traditional.log")
    assert found.source.carrier == "journal-short"
    assert found.values("host") == {"vm"}
    assert any("\x1b[32mINFO\x1b[0m" in message for message in found.messages())
    assert any(message.startswith("\r") for message in found.messages())
    assert found.values("ident") == {"python3", "sudo", "systemd"}
    assert "multi\nline message" in found.messages()
    assert "tab\there" in found.messages()
