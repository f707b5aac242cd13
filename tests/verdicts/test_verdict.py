"""What counts as an edit, and as one without effect: said once, for every view."""

import pytest

from kvforensics.changes import Change
from kvforensics.verdicts.verdict import Effect, Effects, Verdict

UNKNOWN = Effect(None, None, "unknown")


@pytest.mark.parametrize(
    ("word", "code", "derived", "edit", "idle"),
    [
        ("no_op", "masked_by_pool", False, True, True),
        ("no_op_for_pool", "not_a_pool_input", False, True, True),
        ("effective", "moved_pool", False, True, False),
        ("unproven", "pool_not_logged", False, True, False),
        ("no_op", "not_a_memory_setting", False, False, False),
        ("no_op_for_pool", "not_a_pool_input", True, False, False),  # the engine's own value
        ("no_op_for_pool", "derived_from_another_setting", False, False, False),  # judged as such later
    ],
)
def test_an_edit_and_one_without_effect(word, code, derived, edit, idle):
    change = Change("L1", "L2", "x", 1, 2, derived=derived)
    verdict = Verdict(change, word, code, "", None, Effects(*[UNKNOWN] * 4), "none")
    assert (verdict.is_edit, verdict.is_idle) == (edit, idle)
    assert verdict.is_about_memory is (code != "not_a_memory_setting")
