"""What a journal's own fields say of systemd's records, whatever the language of their text."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from kvforensics.parsing.sources import folder

if TYPE_CHECKING:
    from collections.abc import Mapping

# systemd.journal-fields(7): fields of the records about a unit
_ALWAYS = {
    "unit": ("UNIT", "USER_UNIT"),
    "job_type": ("JOB_TYPE",),
    "job_id": ("JOB_ID",),
    "job_result": ("JOB_RESULT",),
    "invocation": ("INVOCATION_ID", "USER_INVOCATION_ID"),
}


def journal_fields(extra: str) -> tuple[str | None, dict[str, Any]]:
    """Return the kind that a record's MESSAGE_ID names, if any, and the columns that its fields fill."""
    try:
        fields = json.loads(extra)
    except ValueError:
        return None, {}
    if not isinstance(fields, dict):
        return None, {}
    entry = _message_ids().get(str(fields.get("MESSAGE_ID", "")), {})
    named = {column: (name,) for column, name in entry.get("fields", {}).items()}
    found: dict[str, Any] = {}
    for column, names in {**_ALWAYS, **named}.items():
        value = next((fields[name] for name in names if fields.get(name) is not None), None)
        if value is not None:
            found[column] = _number(str(value))
    return entry.get("kind"), found


@cache
def _message_ids() -> Mapping[str, dict[str, Any]]:
    import tomllib  # noqa: PLC0415 - most logs hold no record of systemd's own

    path = folder() / "message_ids.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text  # noqa: PLR2004
