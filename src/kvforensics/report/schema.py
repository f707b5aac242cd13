"""The JSON Schemas of what the commands write. They ship as files; the smaller ones share definitions."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from kvforensics.errors import UsageError

_FILES = {"timeline": "timeline-v1.json", "whatif": "whatif-v1.json", "events": "events-v1.json"}
_STRING, _NULL = {"type": "string"}, {"type": "null"}
_SHARED: dict[str, dict[str, Any]] = {
    "launches": {
        "services": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _STRING,
                    "host": {"anyOf": [_STRING, _NULL]},
                    "unit": {"anyOf": [_STRING, _NULL]},
                    "launches": {"type": "array", "items": {"$ref": "#/$defs/launch"}},
                },
                "required": ["host", "id", "launches", "unit"],
            },
        },
    },
    "diff": {
        "service": _STRING,
        "from": {"$ref": "#/$defs/launch"},
        "to": {"$ref": "#/$defs/launch"},
        "settings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"setting": _STRING, "before": {}, "after": {}},
                "required": ["after", "before", "setting"],
            },
        },
        "changes": {"type": "array", "items": {"$ref": "#/$defs/change"}},
    },
    "coverage": {
        "sources": {"type": "array", "items": {"$ref": "#/$defs/source"}},
        "coverage": {"$ref": "#/$defs/coverage"},
    },
}
NAMES = (*_FILES, *_SHARED)


def schema(name: str) -> str:
    """Return the JSON Schema (2020-12) of a document by its name, such as `timeline`."""
    if name in _FILES:
        return files("kvforensics.report").joinpath("schemas", _FILES[name]).read_text("utf-8")
    if name not in _SHARED:
        raise UsageError(f"there is no schema {name!r}", hint=f"there are {', '.join(NAMES)}")
    whole = json.loads(schema("timeline"))
    properties = {"schema": {"const": f"kvforensics.{name}/1"}, **_SHARED[name]}
    made = {
        "$schema": whole["$schema"],
        "$id": f"urn:kvforensics:{name}:1",
        "title": f"kvforensics.{name}/1",
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "$defs": whole["$defs"],
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"
