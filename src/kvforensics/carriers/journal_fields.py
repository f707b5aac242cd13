"""The fields of journal entries that are used (systemd.journal-fields(7)), and how entries are handed over.

A value is text, bytes, a list (a field that occurs several times, or a byte array of JSON), None (lost:
`journalctl -o json` without `-a`) or `ABSENT`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

ABSENT: Any = ""  # of every field but MESSAGE, where emptiness and absence differ
NO_MESSAGE: Any = False

KEY_FIELDS = (
    "_HOSTNAME",
    "_BOOT_ID",
    "_STREAM_ID",
    "_PID",
    "SYSLOG_IDENTIFIER",
    "_CMDLINE",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_INVOCATION_ID",
)
RARE_FIELDS = (
    "UNIT",
    "USER_UNIT",
    "MESSAGE_ID",
    "_LINE_BREAK",
    "CONTAINER_NAME",
    "CONTAINER_ID",
    "CONTAINER_PARTIAL_ID",
    "OBJECT_SYSTEMD_UNIT",
    "OBJECT_SYSTEMD_USER_UNIT",
    "COREDUMP_UNIT",
    "_SYSTEMD_USER_UNIT",
    "SYSLOG_PID",
)
DETAIL_FIELDS = (
    "_COMM",
    "_TRANSPORT",
    "PRIORITY",
    "INVOCATION_ID",
    "USER_INVOCATION_ID",
    "CONTAINER_PARTIAL_LAST",
)
EXTRA_FIELDS = (
    "JOB_ID",
    "JOB_TYPE",
    "JOB_RESULT",
    "EXIT_CODE",
    "EXIT_STATUS",
    "COMMAND",
    "EXECUTABLE",
    "UNIT_RESULT",
    "N_RESTARTS",
    "N_DROPPED",
    "CONFIG_FILE",
    "CONFIG_LINE",
    "CPU_USAGE_NSEC",
    "COREDUMP_SIGNAL",
    "COREDUMP_SIGNAL_NAME",
    "COREDUMP_PID",
)
FIELDS_IN_EXTRA = (
    "MESSAGE_ID",
    *EXTRA_FIELDS,
    "UNIT",
    "USER_UNIT",
    "OBJECT_SYSTEMD_UNIT",
    "INVOCATION_ID",
    "USER_INVOCATION_ID",
)
VALUE_FIELDS = (
    "MESSAGE",
    "__CURSOR",
    "__REALTIME_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "__MONOTONIC_TIMESTAMP",
)
FIELDS = (*VALUE_FIELDS, *KEY_FIELDS, *RARE_FIELDS, *DETAIL_FIELDS, *EXTRA_FIELDS)


class Entries(Protocol):
    """A block of entries in whatever form their carrier read them."""

    def __len__(self) -> int:
        """Return the number of entries."""
        ...

    def column(self, field: str) -> list[Any]:
        """Return the values of one of `VALUE_FIELDS`."""
        ...

    def keys(self) -> list[tuple[Any, ...]]:
        """Return the values of `KEY_FIELDS`, one tuple an entry."""
        ...

    def rare(self) -> list[int]:
        """Return the places of the entries that have one of `RARE_FIELDS`."""
        ...

    def value(self, place: int, field: str) -> Any:
        """Return one value of one entry."""
        ...


class FieldEntries:
    """Entries as mappings from field to value."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, field: str) -> list[Any]:
        """Return the values of one field."""
        default = NO_MESSAGE if field == "MESSAGE" else ABSENT
        return [row.get(field, default) for row in self._rows]

    def keys(self) -> list[tuple[Any, ...]]:
        """Return the values of `KEY_FIELDS`."""
        return [tuple([row.get(field, ABSENT) for field in KEY_FIELDS]) for row in self._rows]

    def rare(self) -> list[int]:
        """Return the places of the entries that have one of `RARE_FIELDS`."""
        rare = frozenset(RARE_FIELDS)
        return [place for place, row in enumerate(self._rows) if not rare.isdisjoint(row)]

    def value(self, place: int, field: str) -> Any:
        """Return one value."""
        return self._rows[place].get(field, ABSENT)


def plain(value: Any) -> str:
    """Return a field's value as one text: the first of several, bytes decoded."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list) and value:
        as_bytes = byte_array(value)
        return plain(value[0]) if as_bytes is None else as_bytes.decode(errors="replace")
    return ""


def byte_array(value: list[Any]) -> bytes | None:
    """Return the bytes that a list of numbers stands for, None for any other list."""
    if value and all(type(item) is int and 0 <= item <= 255 for item in value):  # noqa: PLR2004
        return bytes(value)
    return None
