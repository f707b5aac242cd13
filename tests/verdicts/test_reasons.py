"""The closed lists are the ones that the JSON Schemas print."""

import json
import re
from pathlib import Path

import pytest

from kvforensics.knowledge import pattern_codes
from kvforensics.report.schema import schema
from kvforensics.sizing import REFUSALS, WHY_NOT
from kvforensics.verdicts import reason_codes
from kvforensics.verdicts.reasons import OWN

SOURCE = Path(__file__).parents[2] / "src/kvforensics"


def found(node, name):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == name and isinstance(value, dict) and "enum" in value:
                yield set(value["enum"])
            yield from found(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from found(value, name)


def test_reason_codes():
    assert next(found(json.loads(schema("timeline")), "reason_code")) == set(reason_codes())
    assert pattern_codes() <= set(reason_codes())


def test_why_not():
    assert next(found(json.loads(schema("timeline")), "why_not")) == {*WHY_NOT, None}


def test_refusals():
    assert next(found(json.loads(schema("whatif")), "reason_code")) == set(REFUSALS)


@pytest.mark.parametrize("code", sorted(OWN))
def test_every_own_code_is_used(code):
    text = "".join(p.read_text() for p in (SOURCE / "verdicts").glob("*.py") if p.name != "reasons.py")
    assert re.search(rf'"{code}"', text), code


def test_codes_look_alike():
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", code) and text for code, text in reason_codes().items())
