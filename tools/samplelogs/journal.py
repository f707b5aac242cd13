"""Journal records, and the three ways of `journalctl -o export`, `-o json` and `-o short` to write them.

The bytes are those of journalctl 252 but for its cursors, which the real one draws at random
(`tests/test_sample_logs.py` compares them where systemd-journal-remote is installed).
"""

from __future__ import annotations

import json
import re
import struct
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

_STRIPPED = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # the colours that a text mode leaves out
_JSON_LIMIT = 4096  # `-o json` without `-a` writes null for a field of this many bytes, its name included


def hex_id(text: str) -> str:
    """Return a steady 128-bit id made from a name."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, text).hex


def moment(text: str) -> datetime:
    """Return the UTC time that an ISO text says."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass
class Record:
    """One record: its time, its fields in order, its message as bytes."""

    at: datetime
    fields: dict[str, str]
    message: bytes
    cursor: str = ""


@dataclass
class Journal:
    """The records of one boot of one host; `sealed` puts them in order and gives them cursors."""

    host: str
    boot_at: datetime
    records: list[Record] = field(default_factory=list)

    def add(self, at: datetime, message: str | bytes, fields: dict[str, str]) -> None:
        """Add a record; `fields` come after those that journald itself sets."""
        trusted = {
            "_BOOT_ID": hex_id(f"boot of {self.host}"),
            "_MACHINE_ID": hex_id(f"machine {self.host}"),
            "_HOSTNAME": self.host,
        }
        data = message.encode() if isinstance(message, str) else message
        self.records.append(Record(at, trusted | fields, data))

    def systemd(self, at: datetime, unit: str | None, message: str, **extra: str) -> None:
        """Add a record of systemd itself, about a unit or about nothing in particular."""
        about = {} if unit is None else {"UNIT": unit}
        self.add(
            at,
            message,
            {
                "PRIORITY": "6",
                "_TRANSPORT": "journal",
                "SYSLOG_FACILITY": "3",
                "SYSLOG_IDENTIFIER": "systemd",
                "_PID": "1",
                "_UID": "0",
                "_GID": "0",
                "_COMM": "systemd",
                "_EXE": "/usr/lib/systemd/systemd",
                "_CMDLINE": "/sbin/init",
                "_SYSTEMD_UNIT": "init.scope",
                "_SYSTEMD_CGROUP": "/init.scope",
                "_SYSTEMD_SLICE": "-.slice",
                **about,
                **extra,
            },
        )

    def sudo(self, at: datetime, pid: int, user: str, command: str) -> None:
        """Add what sudo logs of a command: the command itself and the session around it."""
        said = f" {user} : TTY=pts/0 ; PWD=/home/{user} ; USER=root ; COMMAND={command}"
        opened = f"pam_unix(sudo:session): session opened for user root(uid=0) by {user}(uid=1000)"
        closed = "pam_unix(sudo:session): session closed for user root"
        for after, message, priority in ((0, said, "5"), (10, opened, "6"), (90, closed, "6")):
            self.add(
                at + timedelta(milliseconds=after),
                message,
                {
                    "PRIORITY": priority,
                    "_TRANSPORT": "syslog",
                    "SYSLOG_FACILITY": "10",
                    "SYSLOG_IDENTIFIER": "sudo",
                    "_PID": str(pid),
                    "_UID": "1000",
                    "_GID": "1000",
                    "_COMM": "sudo",
                    "_EXE": "/usr/bin/sudo",
                    "_CMDLINE": "sudo " + command.removeprefix("/usr/bin/"),
                    "_AUDIT_SESSION": "4",
                    "_AUDIT_LOGINUID": "1000",
                    "_SYSTEMD_UNIT": "session-4.scope",
                    "_SYSTEMD_SLICE": "user-1000.slice",
                    "_SYSTEMD_OWNER_UID": "1000",
                },
            )

    def sealed(self) -> list[Record]:
        """Return the records in order of time, each with its cursor."""
        ordered = sorted(self.records, key=lambda record: record.at)
        for number, record in enumerate(ordered, 1):
            record.cursor = (
                f"s={hex_id(f'journal of {self.host}')};i={number:x};b={record.fields['_BOOT_ID']};"
                f"m={self.monotonic(record):x};t={_micros(record.at):x};x={hex_id(f'{self.host} {number}')[:16]}"
            )
        return ordered

    def monotonic(self, record: Record) -> int:
        """Microseconds from the machine's boot to a record."""
        return (record.at - self.boot_at) // timedelta(microseconds=1)

    def export(self) -> bytes:
        """Return the records as `journalctl -o export` writes them."""
        return b"".join(self._entry(record) for record in self.sealed())

    def _entry(self, record: Record) -> bytes:
        stamps = (
            f"__CURSOR={record.cursor}\n__REALTIME_TIMESTAMP={_micros(record.at)}\n"
            f"__MONOTONIC_TIMESTAMP={self.monotonic(record)}\n"
        )
        fields = b"".join(_field(name, value.encode()) for name, value in record.fields.items())
        return stamps.encode() + fields + _field("MESSAGE", record.message) + b"\n"

    def json_lines(self, *, whole: bool) -> bytes:
        """Return the records as `journalctl -o json` writes them, with `-a` where `whole`."""
        lines = []
        for record in self.sealed():
            message = record.message
            said: object = message.decode() if _printable(message) else list(message)
            if not whole and len(message) + len("MESSAGE=") >= _JSON_LIMIT:
                said = None
            entry = {
                "__CURSOR": record.cursor,
                "__REALTIME_TIMESTAMP": str(_micros(record.at)),
                "__MONOTONIC_TIMESTAMP": str(self.monotonic(record)),
                **record.fields,
                "MESSAGE": said,
            }
            lines.append(json.dumps(entry, ensure_ascii=False, separators=(",", ":")))
        return ("\n".join(lines) + "\n").encode()

    def short(self) -> bytes:
        """Return the records as `journalctl -o short` prints them in UTC."""
        lines = []
        for record in self.sealed():
            ident, pid = record.fields["SYSLOG_IDENTIFIER"], record.fields["_PID"]
            text = _STRIPPED.sub("", record.message.decode(errors="surrogateescape")).rstrip()
            if not _printable(text.encode(errors="surrogateescape")):
                text = f"[{len(record.message)}B blob data]"
            lines.append(f"{record.at:%b %d %H:%M:%S} {self.host} {ident}[{pid}]: {text}")
        return ("\n".join(lines) + "\n").encode()


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _printable(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return not any((ord(c) < 0x20 and c != "\t") or 0x7F <= ord(c) <= 0x9F for c in text)  # noqa: PLR2004


def _field(name: str, value: bytes) -> bytes:
    if _printable(value):
        return name.encode() + b"=" + value + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(value)) + value + b"\n"
