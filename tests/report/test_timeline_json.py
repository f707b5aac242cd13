from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
from msgspec.structs import replace

from kvforensics.cli.options import Carrier
from kvforensics.findings.finding import Finding
from kvforensics.report.plain import dumps
from kvforensics.report.timeline_json import timeline
from kvforensics.verdicts.reasons import reason_codes
from kvforensics.verdicts.verdict import Effect


@pytest.fixture(scope="module")
def schema():
    text = files("kvforensics.report").joinpath("schemas/timeline-v1.json").read_text("utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text))


def test_the_document_fits_its_schema(incident, schema):
    schema.validate(timeline(incident))


def test_the_incident_is_said_in_the_contract_words(incident):
    document = timeline(incident)
    assert document["schema"] == "kvforensics.timeline/1"
    assert document["is_problem"] is True
    [service] = document["services"]
    assert (service["id"], service["host"]) == ("k26-node1/sglang-k26.service", "k26-node1")
    first, second, third = service["launches"]
    assert first["started_at"] == "2026-05-20T14:03:00.000000Z"
    assert first["ended_at"] == "2026-05-20T15:10:30.100000Z"
    assert third["ended_at"] is None
    assert first["version"] == {"from": "0.5.11", "to": "0.5.11", "basis": "server_args fields"}
    assert first["config"]["context_length"] == 32768
    assert first["memory"] == {"before_load_gib": 94.0, "after_load_gib": 21.37, "after_pool_gib": 11.37}
    assert first["bytes_per_token"] == 77184
    assert first["sizing"]["why_not"] == "draft_priced_as_target"
    assert first["evidence"]["pool_tokens"] == {"path": "incident.export", "line": 160, "cursor": "s=1;i=2"}
    assert first["evidence"]["config"] == {"path": "incident.export", "line": 100, "cursor": None}
    assert second["requests"] == {
        "rejected_too_long": 1,
        "refused_by_pool": 0,
        "refused_by_context": 0,
        "retractions": 2,
        "peak_token_usage": 0.93,
        "peak_running": 12,
        "peak_queue": 4,
    }
    assert second["downtime_s"] == 243.9
    assert second["sizing"]["binding"] == "unknown"
    change = service["changes"][0]
    assert (change["from"], change["to"], change["setting"]) == ("L1", "L2", "context_length")
    assert (change["before"], change["after"], change["requested"]) == (32768, 200000, None)
    assert (change["verdict"], change["reason_code"]) == ("no_op_for_pool", "not_a_pool_input")
    assert change["effects"]["longest_prompt_tokens"] == {
        "before": 32761,
        "after": 101127,
        "outcome": "moved",
    }
    assert change["attribution"] == "sole"
    assert change["evidence"] == [{"path": "incident.export", "line": 200, "cursor": None}]
    assert service["findings"][0]["at"] == "2026-05-20T15:14:30.000000Z"
    assert service["trail"][0]["fields"]["user"] == "theuser"
    assert document["coverage"]["damaged"] == [
        {"kind": "message_null", "count": 1, "first": {"path": "incident.export", "line": 3}}
    ]


def test_a_baseline_stands_only_where_an_effect_has_one(incident):
    [service] = incident.services
    verdict = service.verdicts[0]
    effects = replace(verdict.effects, free_gib=Effect(9.87, 9.11, "moved", "L1"))
    judged = replace(service, verdicts=(replace(verdict, effects=effects),))
    [change] = timeline(replace(incident, services=(judged,)))["services"][0]["changes"]
    assert change["effects"]["free_gib"]["baseline"] == "L1"
    assert "baseline" not in change["effects"]["pool_tokens"]


@pytest.mark.parametrize(("severity", "problem"), [("info", False), ("warning", True), ("error", True)])
def test_a_problem_is_a_warning_or_an_error(incident, severity, problem):
    [service] = incident.services
    one = replace(service, findings=(Finding("time_gap", severity, "t", "d", None),))
    assert timeline(replace(incident, services=(one,)))["is_problem"] is problem


def test_the_same_analysis_gives_the_same_sorted_bytes(incident):
    out = dumps(timeline(incident))
    assert out == dumps(json.loads(out))
    assert list(json.loads(out)) == sorted(timeline(incident))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("services", 0, "launches", 0, "end"), "finished"),
        (("services", 0, "launches", 0, "started_at"), "2026-05-20 14:03:00"),
        (("services", 0, "changes", 0, "verdict"), "harmless"),
        (("services", 0, "changes", 0, "attribution"), None),
        (("services", 0, "findings", 0, "severity"), "fatal"),
        (("coverage", "damaged", 0, "kind"), "odd"),
        (("sources", 0, "carrier"), "journald"),
        (("services", 0, "launches", 0, "pool_tokens"), "101134"),
    ],
)
def test_the_schema_refuses_other_words(incident, schema, path, value):
    document = json.loads(dumps(timeline(incident)))
    spot = document
    for step in path[:-1]:
        spot = spot[step]
    spot[path[-1]] = value
    assert not schema.is_valid(document)


def test_the_schema_lists_every_reason_code(schema):
    assert schema.schema["$defs"]["reason_code"]["enum"] == sorted(reason_codes())


def test_the_schema_lists_the_carriers_that_an_option_takes(schema):
    assert schema.schema["$defs"]["carrier"]["enum"] == [carrier.value for carrier in Carrier]
