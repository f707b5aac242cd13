"""Three sentences: the history, the edits for nothing, the limit and what is next."""

from copy import deepcopy

import pytest

from kvforensics.report.story import edit, tell, without_effect


@pytest.fixture
def service(document):
    return deepcopy(document["services"][0])


def test_the_incident_in_three_sentences(service):
    history, edits, now = tell(service)
    assert (
        history
        == "k26-node1/sglang-k26.service was started 3 times between 2026-05-20 14:03 and 2026-05-20 15:49 UTC."
    )
    assert edits == "1 edit did nothing for the KV pool: context_length: 32768 → 200000 (L1→L2)."
    assert now.startswith(
        "In L3 the context length of 200,000 is the limit, so prompts end at 199,993 tokens"
    )
    assert now.endswith("Nothing in the logs asks for another step.")


def before_the_repair(service):
    service["launches"].pop()
    service["changes"] = [each for each in service["changes"] if each["to"] == "L2"]
    service["findings"] = [each for each in service["findings"] if each["launch"] != "L3"]
    return service


def test_while_the_pool_is_the_limit_it_says_what_to_do(service):
    now = tell(before_the_repair(service))[2]
    assert now.startswith(
        "In L2 the pool is the limit: it holds 101,134 tokens, fewer than the context length of 200,000"
    )
    assert "Next: A pool of 200,000 tokens needs mem_fraction_static 0.926" in now


def test_advice_of_the_edit_where_no_finding_has_a_fix(service):
    service = before_the_repair(service)
    service["findings"] = []
    assert "Next: A pool of 200,000 tokens needs mem_fraction_static 0.926" in tell(service)[2]


def test_a_last_start_that_failed_is_said_first(service):
    failed = deepcopy(service["launches"][-1]) | {"id": "L4", "end": "failed_start", "pool_tokens": None}
    service["launches"].append(failed)
    finding = {
        "id": "failed_start",
        "severity": "error",
        "launch": "L4",
        "at": None,
        "title": "t",
        "detail": "d",
        "fix": "Do this.",
    }
    service["findings"].append(finding | {"evidence": []})
    history, _, now = tell(service)
    assert "1 start failed" in history
    assert now.startswith("The last start, L4, failed. In L3 ")
    assert now.endswith("Next: Do this.")


def test_an_error_comes_before_a_warning(service):
    service = before_the_repair(service)
    error = deepcopy(service["findings"][0]) | {
        "severity": "error",
        "launch": "L2",
        "fix": "Stop the bleeding.",
    }
    service["findings"].insert(0, error)
    assert "Next: Stop the bleeding." in tell(service)[2]


def test_no_pool_no_capacity(service):
    for launch in service["launches"]:
        launch["pool_tokens"] = None
    assert "nothing can be said about capacity" in tell(service)[2]


def test_no_edit_and_no_edit_for_nothing(service):
    service["changes"] = [each for each in service["changes"] if each["verdict"] != "no_op_for_pool"]
    assert tell(service)[1] == "No edit was without effect; the verdicts of 1 edit: 1 effective."
    service["changes"] = []
    assert tell(service)[1].startswith("No setting that concerns memory")


def test_derived_values_and_settings_apart_are_no_edits(service):
    for change in service["changes"]:
        change["derived"] = True
    assert without_effect(service) == []


def test_launches_without_times(service):
    for launch in service["launches"]:
        launch.update(started_at=None, ready_at=None, ended_at=None, last_at=None)
    assert tell(service)[0] == "k26-node1/sglang-k26.service was started 3 times."


def test_a_value_that_was_not_set():
    assert edit({"setting": "x", "before": None, "after": False}) == "x: not set → False"
