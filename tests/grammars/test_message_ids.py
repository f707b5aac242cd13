"""MESSAGE_IDs name kinds that exist, with columns that a text of that kind has or that only a field can tell."""

import re
import tomllib

from kvforensics.parsing.grammar import load
from kvforensics.parsing.sources import folder

IDS = tomllib.loads((folder() / "message_ids.toml").read_text("utf-8"))
ONLY_IN_FIELDS = {"command", "cpu_ns", "executable", "result", "signal"}


def test_ids_are_128_bits_in_hex():
    assert all(re.fullmatch("[0-9a-f]{32}", identity) for identity in IDS)


def test_kinds_are_those_of_the_grammar():
    assert {entry["kind"] for entry in IDS.values()} <= set(load("systemd").kinds)


def test_fields_are_columns():
    columns = load("systemd").columns
    for entry in IDS.values():
        unknown = set(entry.get("fields", {})) - set(columns[entry["kind"]])
        assert unknown <= ONLY_IN_FIELDS, entry


def test_what_systemd_says_of_a_unit_is_named():
    named = {entry["kind"] for entry in IDS.values()}
    assert named >= {
        "unit_starting",
        "unit_started",
        "unit_start_failed",
        "unit_stopping",
        "unit_stopped",
        "unit_deactivated",
        "unit_main_exited",
        "unit_failed",
        "unit_restart_scheduled",
        "unit_oom_killed",
        "suppressed",
    }
