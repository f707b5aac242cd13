from __future__ import annotations

import io
import re
import unicodedata
from datetime import timedelta

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from kvforensics import selection
from kvforensics.changes import Change
from kvforensics.findings.finding import Finding
from kvforensics.launches import Config
from kvforensics.records import Place
from kvforensics.report.terminal.page import Page
from kvforensics.report.terminal.timeline import draw
from kvforensics.verdicts.verdict import Effect


def drawn(analysis, width=80, *, encoding="utf-8", color=False, quiet=False) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    draw(analysis, Page.on(stream, width=width, color=color), quiet=quiet)
    stream.flush()
    return raw.getvalue().decode(encoding)


def only(analysis, **parts):
    [service] = analysis.services
    return replace(analysis, services=(replace(service, **parts),))


def test_the_story_is_told_in_order(incident):
    text = drawn(incident)
    steps = [
        "k26-node1/sglang-k26.service",
        "┏━ L1 ━━ 2026-05-20 14:03:00",
        "15:10:26  theuser ran /usr/bin/systemctl restart sglang-k26",
        "✘ no_op_for_pool  context_length  32768 → 200000",
        "→ needs mem_fraction_static 0.926; leaves about 2.8 GiB",
        "incident.export:200",
        "random_seed",
        "┏━ L2 ━━ 2026-05-20 15:10:30",
        "▲ context_exceeds_pool",
        "✔ effective  mem_fraction_static  0.85 → 0.93",
        "┏━ L3",
        "understood 388 of 390 records",
    ]
    places = [text.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


def test_a_band_says_what_the_contract_of_the_view_promises(incident):
    text = drawn(incident, 160)
    second = text[text.index("┏━ L2") : text.index("┏━ L3")]
    for said in ("ready after 4m 04s", "up 26m 40s", "restarted 15:41:14", "SGLang 0.5.11", "101,134 tokens",
                 "200,000 > pool", "running 64", "headroom 9.11 GiB", "1 refused as too long", "usage up to 93 %"):  # fmt: skip
        assert said in second, said


def test_an_edit_without_effect_stands_out_without_colour(incident):
    [line] = [line for line in drawn(incident).splitlines() if line.startswith("✘ no_op_for_pool")]
    assert line.endswith("NO EFFECT ON THE POOL")
    [worked] = [line for line in drawn(incident).splitlines() if line.startswith("✔ effective")]
    assert "NO EFFECT" not in worked


def test_pool_and_context_share_a_scale(incident):
    bars = [line for line in drawn(incident).splitlines() if "█" in line]
    cells = [line.count("█") + line.count("▒") for line in bars]
    assert cells[0] == cells[2]  # the pool of L1 and of L2
    assert cells[3] == cells[5]  # the context of L2 and of L3
    assert cells[4] > cells[5] > cells[2] > cells[1]
    assert [line.count("▒") > 0 for line in bars] == [False, False, False, True, False, False]


def test_the_sign_of_a_verdict_stands_once_however_narrow_the_page(incident):
    lines = [line for line in drawn(incident, 44).splitlines() if line.startswith("✘")]
    assert [line[2:16] for line in lines] == ["1 no effect on", "no_op_for_pool"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160, 300])
def test_no_line_is_wider_than_the_page(incident, width):
    assert max(cell_len(line) for line in drawn(incident, width).splitlines()) <= width


@pytest.mark.parametrize("width", [40, 80, 160])
def test_nothing_but_ascii_where_the_encoding_is_ascii(incident, width):
    text = drawn(incident, width, encoding="ascii")
    assert text.isascii()
    assert "X no_op_for_pool" in text
    assert max(map(len, text.splitlines())) <= width


def test_colours_only_where_they_are_wanted(incident, monkeypatch):
    assert "\x1b[" not in drawn(incident)
    coloured = drawn(incident, color=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == drawn(incident)
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    draw(incident, Page.on(stream, width=80))
    assert "\x1b" not in stream.getvalue()


HOSTILE = (
    "[red]x[/red] \x1b[31m \x1b]8;;http://evil\x07 \x1b]52;c;Zm9v\x07 \u202e \x9b \r\n\0 :smile: \\[bold]"
)


def test_text_from_logs_never_steers_the_terminal(incident):
    [service] = incident.services
    place = Place(HOSTILE, 1)
    first, *others = service.launches
    verdict = service.verdicts[0]
    hostile = only(
        incident,
        id=HOSTILE,
        launches=(
            replace(
                first,
                config=Config({"model_path": HOSTILE}, source=HOSTILE),
                engine=HOSTILE,
                version=replace(first.version, oldest=HOSTILE),
                evidence={"config": place},
            ),
            *others,
        ),
        verdicts=(
            replace(
                verdict,
                change=Change("L1", "L2", HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, evidence=(place,)),
                reason=HOSTILE,
                advice=HOSTILE,
            ),
        ),
        findings=(Finding("time_gap", "warning", HOSTILE, HOSTILE, HOSTILE, "L1", None, (place,)),),
        trail=tuple(replace(e, fields={"user": HOSTILE, "command": HOSTILE}) for e in service.trail),
    )
    sources = tuple(replace(s, path=HOSTILE) for s in incident.sources)
    coverage = replace(
        incident.coverage,
        unknown_shapes=tuple(
            replace(s, shape=HOSTILE, first=place) for s in incident.coverage.unknown_shapes
        ),
        damaged=tuple(replace(d, first=place) for d in incident.coverage.damaged),
    )
    text = drawn(replace(hostile, sources=sources, coverage=coverage), 200)
    assert "[red]x[/red]" in text
    assert ":smile:" in text
    steering = {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs"} and c != "\n"}
    assert not steering


def test_effects_say_what_they_were_measured_against(incident):
    [service] = incident.services
    verdict = service.verdicts[2]
    effects = replace(
        verdict.effects,
        pool_tokens=Effect(101134, 205748, "moved", "L1"),
        free_gib=Effect(9.87, None, "unknown"),
        max_running_requests=Effect(64, 63, "within_noise"),
    )
    text = drawn(only(incident, verdicts=(replace(verdict, effects=effects),)), 160)
    assert "pool 101,134 → 205,748 since L1" in text
    assert "headroom 9.87 GiB → ? unknown" in text
    assert "running 64 → 63 (noise)" in text


def test_a_wish_that_was_not_granted_is_shown(incident):
    verdict = incident.services[0].verdicts[2]
    cut = replace(verdict, verdict="clamped", change=replace(verdict.change, requested=0.99, derived=True))
    text = drawn(only(incident, verdicts=(cut,)), 120)
    assert "⇥ clamped  mem_fraction_static  0.85 → 0.93  (asked for 0.99)" in text
    assert "follows from another setting" in text


def test_the_head_of_a_rotated_log_claims_no_start(incident):
    [service] = incident.services
    first, *others = service.launches
    cut = replace(
        first, complete_start=False, ready_at=None, config=Config(), pool_tokens=None, context_len=None,
        max_running_requests=None, free_gib=None, longest_prompt_tokens=None,
        version=replace(first.version, oldest=None, newest=None),
    )  # fmt: skip
    text = drawn(only(incident, launches=(cut, *others)))
    band = text[text.index("┏━ L1") : text.index("┗")]
    for said in ("the log begins after its start", "version unknown", "settings not in the log", "running ?"):
        assert said in band
    assert "never said to be ready" not in band


def test_boots_in_a_row_are_one_and_an_edit_of_another_day_has_its_date(incident):
    [sudo] = incident.services[0].trail
    boot = replace(sudo, kind="machine_boot", fields={}, text="Linux version 6.8", line=180)
    day_before = replace(sudo, at=sudo.at - timedelta(days=1), line=170)
    first, *others = incident.services[0].launches
    early = replace(first, started_at=sudo.at - timedelta(days=2))
    trail = (day_before, boot, replace(boot, line=181), sudo)
    text = drawn(only(incident, launches=(early, *others), trail=trail))
    assert text.count("the machine booted") == 1
    assert "Linux" not in text
    assert "┊ 2026-05-19 15:10:26  theuser ran" in text
    assert "┊ 15:10:26  theuser ran" in text


def test_advice_is_given_once_and_a_note_made_before_is_named(incident):
    [service] = incident.services
    advice = service.verdicts[0].advice
    note = service.findings[1]
    findings = (
        replace(service.findings[0], fix=advice),
        note,
        replace(note, launch="L3"),
        replace(note, launch="L2", severity="warning"),
    )
    text = drawn(only(incident, findings=findings), 120)
    assert text.count(advice) == 1
    assert "draft_pool_unbudgeted  as at L1" in text[text.index("┏━ L3") :]
    assert "as at" not in text[text.index("┏━ L2") : text.index("┏━ L3")]


def test_findings_of_no_launch_stand_below_the_bands(incident):
    lone = Finding("secret_in_log", "warning", "A secret stands in the log", "", None)
    text = drawn(only(incident, findings=(lone,)))
    assert text.index("secret_in_log") > text.index("┏━ L3")


def test_quiet_launches_share_a_line_where_only_the_important_is_wanted(incident):
    [service] = incident.services
    last = service.launches[-1]
    more = [
        replace(last, id=f"L{n}", started_at=last.started_at + timedelta(days=n), ready_at=None)
        for n in range(4, 9)
    ]
    died = replace(more[-1], id="L9", end="oom")
    long = only(incident, launches=(*service.launches, *more, died))
    text = drawn(selection.important(long), quiet=True)
    assert "L4 … L8  5 launches from 2026-05-24 15:41:14: nothing changed" in text
    assert "┏━ L9" in text
    assert "random_seed" not in text
    assert "draft_pool_unbudgeted" not in text
    assert drawn(long).count("┏━") == 9


def test_a_service_without_launches_and_an_empty_analysis_are_drawn(incident):
    assert "0 launches" in drawn(only(incident, launches=(), verdicts=(), findings=(), trail=()))
    assert "understood" in drawn(replace(incident, services=()))
