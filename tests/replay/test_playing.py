"""The player: moments in order of time, piped at once, on a terminal at the chosen speed under a live header."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests import hostile

from kvforensics.analysis import analyse
from kvforensics.cli import main
from kvforensics.replay import player
from kvforensics.replay.moments import moments
from kvforensics.report.terminal.page import Page

ROOT = Path(__file__).parents[2]
INCIDENT = str(ROOT / "sample_logs/incident/incident.export")


@pytest.fixture(scope="module")
def incident():
    return analyse([INCIDENT])


@pytest.fixture
def kv(monkeypatch, capfd):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["kvforensics", *map(str, words)])
        capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


class Terminal(StringIO):
    def isatty(self):
        return True


def played(analysis, speed, **between):
    """Play on a terminal whose clock is counted; returns the text and how long it would have taken."""
    stream, waited = Terminal(), []
    page = Page.on(stream, width=140, color=True)
    player.play(analysis, page, speed, **between, sleep=waited.append)
    return stream.getvalue(), sum(waited)


def test_moments_are_in_order_of_time_each_with_its_place(incident):
    found = moments(incident)
    assert [moment.at for moment in found] == sorted(moment.at for moment in found)
    assert {moment.kind for moment in found} >= {
        "start",
        "ready",
        "end",
        "change",
        "finding",
        "trail",
        "refusal",
    }
    for moment in found:
        assert moment.place is not None or moment.kind == "end"


def test_refusals_are_told_when_they_were(incident):
    refusals = [moment for moment in moments(incident) if moment.kind == "refusal"]
    assert [(f"{moment.at:%H:%M:%S}", moment.place.line) for moment in refusals] == [
        ("15:02:11", 3845),
        ("15:18:40", 7272),
    ]
    assert "longer than the pool" in refusals[1].text


def test_retractions_are_moments():
    found = [moment for moment in moments(hostile.analysis()) if moment.kind == "retraction"]
    assert [moment.text for moment in found] == ["2 requests retracted: the pool was full"]


def test_between_two_times(incident):
    start, end = datetime(2026, 5, 20, 15, 0), datetime(2026, 5, 20, 15, 10, 30)
    found = moments(incident, start, end)
    assert found
    assert all(start <= moment.at <= end for moment in found)
    assert moments(incident, end, start) == []


def test_piped_it_prints_everything_without_waiting(kv):
    code, out, _ = kv("replay", INCIDENT, "--speed", "0.001")
    assert code == 0
    times = re.findall(r"^\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d) ", out, re.MULTILINE)
    assert times == sorted(times)
    assert len(times) > 15
    assert "of quiet skipped" in out
    assert "\x1b" not in out


def test_from_and_to(kv):
    code, out, _ = kv("replay", INCIDENT, "--from", "2026-05-20 15:00", "--to", "2026-05-20 15:10:29")
    assert code == 0
    assert "15:02:11" in out
    assert "L2 starts" not in out
    assert "Nothing happened" in kv("replay", INCIDENT, "--from", "2030-01-01")[1]


def test_the_state_at_one_moment(kv):
    code, out, _ = kv("replay", INCIDENT, "--at", "2026-05-20 15:20:30")
    assert code == 0
    told = dict(re.findall(r"^  (\S.*?) {2,}(\S.*)$", out, re.MULTILINE))
    assert (told["launch"], told["phase"], told["pool"]) == ("L2", "ready", "101,134")
    assert (told["context length"], told["token usage"], told["running, queued"]) == (
        "200,000",
        "65%",
        "5, 1",
    )
    assert told["changed at its start"].startswith("context_length 32768 → 200000")


def test_the_state_for_machines(kv):
    _, out, _ = kv("replay", INCIDENT, "--at", "2026-05-20 15:20:30", "--format", "json")
    document = json.loads(out)
    assert document["schema"] == "kvforensics.replay/1"
    (state,) = document["states"]
    assert state["at"] == "2026-05-20T15:20:30.000000Z"
    assert (state["pool_tokens"], state["running"], state["changed"]["context_length"]) == (
        101134,
        5,
        [32768, 200000],
    )


def test_the_moments_for_machines(kv):
    _, out, _ = kv("replay", INCIDENT, "--format", "json", "--to", "2026-05-20 14:10")
    told = json.loads(out)["moments"]
    assert [moment["kind"] for moment in told] == ["start", "ready", "finding"]
    assert told[0]["place"]["line"] == 30


def test_a_zone_for_the_words_of_time(kv):
    _, utc, _ = kv("replay", INCIDENT, "--at", "2026-05-20 15:20:30", "--format", "json")
    _, berlin, _ = kv(
        "replay", INCIDENT, "--at", "2026-05-20 17:20:30", "--tz", "Europe/Berlin", "--format", "json"
    )
    assert utc == berlin


@pytest.mark.parametrize("words", [["--at", "gibberish"], ["--speed", "0"], ["--speed", "fast"]])
def test_what_cannot_be_understood(kv, words):
    assert kv("replay", INCIDENT, *words)[0] == 2


def test_the_speed_is_the_time_it_takes(incident):
    between = {"start": datetime(2026, 5, 20, 15, 10, 20), "end": datetime(2026, 5, 20, 15, 10, 31)}
    _, at_once = played(incident, 1e9, **between)
    _, real = played(incident, 5.0, **between)
    assert at_once == 0
    assert real == pytest.approx(8 / 5, abs=0.5)


def test_quiet_stretches_are_skipped_and_said(incident):
    text, waited = played(incident, 60.0)
    assert "55 min 7 s of quiet skipped" in text
    assert waited < 60


def test_the_header_has_the_state_of_the_moment(incident):
    text, _ = played(incident, 600.0)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    for word in ("launch", "phase", "pool", "context", "free GiB", "usage", "running", "queued", "changed"):
        assert word in plain
    assert re.search(r"L2 +starting", plain)
    assert re.search(r"L2 +ready +101,134 +200,000 +9\.61", plain)
    assert "context_length 32768 → 200000" in plain


def test_on_a_pseudo_terminal_it_ends_and_leaves_the_cursor():
    leader, follower = pty.openpty()
    words = [sys.executable, "-m", "kvforensics", "replay", INCIDENT, "--speed", "1e7", "--width", "120"]
    started = subprocess.Popen(
        words, stdout=follower, stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm"}
    )
    os.close(follower)
    said = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    assert started.wait(60) == 0, started.stderr.read()
    os.close(leader)
    assert b"\x1b[?25h" in said  # the cursor is shown again
    assert b"L3 is ready" in said


def test_hostile_text_never_steers_the_terminal():
    analysis = hostile.analysis()
    text, _ = played(analysis, 1e9)
    assert "\x1b]8" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert (
        "[red]bold[/red]" in re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
        or "[red]" in text
    )


def test_a_launch_without_times_has_no_moments():
    analysis = hostile.analysis()
    service = analysis.services[0]
    bare = tuple(replace(each, started_at=None, ready_at=None, ended_at=None) for each in service.launches)
    found = moments(replace(analysis, services=(replace(service, launches=bare, findings=(), trail=()),)))
    assert {moment.kind for moment in found} <= {"retraction"}
