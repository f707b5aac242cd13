from __future__ import annotations

import pytest

from kvforensics.analysis import Analysis, Coverage, Service
from kvforensics.changes import Change
from kvforensics.findings.finding import Finding
from kvforensics.gate import met
from kvforensics.records import Origins
from kvforensics.verdicts.verdict import Effect, Effects, Verdict

NOTHING = Effect(None, None, "unknown")


def analysis(*, severity: str | None = None, verdict: str | None = None, code: str = "x") -> Analysis:
    findings = () if severity is None else (Finding("time_gap", severity, "t", "d", None),)
    verdicts = ()
    if verdict is not None:
        change = Change("L1", "L2", "port", 1, 2)
        effects = Effects(NOTHING, NOTHING, NOTHING, NOTHING)
        verdicts = (Verdict(change, verdict, code, "r", None, effects, "none"),)
    service = Service("s", None, None, (), verdicts=verdicts, findings=findings)
    return Analysis((), Coverage(0, 0, 0), (service,), Origins())


@pytest.mark.parametrize(
    ("severity", "level", "stops"),
    [("info", "warning", False), ("warning", "warning", True), ("error", "warning", True), ("info", "error", False),
     ("warning", "error", False), ("error", "error", True), (None, "warning", False), ("error", "no_op", False)],
)  # fmt: skip
def test_findings_by_severity(severity, level, stops):
    assert met(analysis(severity=severity), [level]) is stops


@pytest.mark.parametrize(
    ("verdict", "code", "stops"),
    [
        ("no_op_for_pool", "not_a_pool_input", True),
        ("no_op", "masked_by_pool", True),
        ("no_op", "not_a_memory_setting", False),
        ("effective", "moved_pool", False),
        ("clamped", "clamped_to_profiled", False),
        ("unproven", "pool_not_logged", False),
    ],
)
def test_an_edit_without_effect(verdict, code, stops):
    assert met(analysis(verdict=verdict, code=code), ["no_op"]) is stops
    assert met(analysis(verdict=verdict, code=code), ["warning", "error"]) is False


def test_any_of_the_levels_is_enough_and_none_is_never_met():
    both = analysis(severity="error", verdict="no_op_for_pool")
    assert met(both, ["error", "no_op"])
    assert not met(both, [])
