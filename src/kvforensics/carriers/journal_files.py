"""systemd's own journal files, and the journal of the running machine, through the installed journalctl.

The file format is systemd's private matter and changes; journalctl's export format is stable. What is read is
therefore `journalctl -o export` of the file, the folder, or the machine.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from datetime import datetime, timedelta
from typing import IO, TYPE_CHECKING, TypeAlias

from kvforensics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Span: TypeAlias = "tuple[datetime | None, datetime | None]"  # naive UTC
CHUNK_BYTES = 1 << 20
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC, as all times here
LIVE = "journal://"  # in front of a unit: the journal of this machine
MAGIC = b"LPKSHHRH"
_SUFFIXES = (".journal", ".journal~")
_GLOB = re.compile(r"([*?\[\]\\])")
_COMMAND = ("journalctl", "--output=export", "--no-pager", "--quiet", "--all")
_UNIT_SUFFIX = re.compile(r"\.(?:service|scope|slice|socket|target|timer|mount|path)$")


def is_journal(path: str) -> bool:
    """Tell whether journalctl must read an input: `journal://UNIT`, a journal file, a folder of them."""
    if path.startswith(LIVE):
        return True
    if os.path.isdir(path):  # noqa: PTH112 - as it was typed
        return is_journal_folder(path, os.listdir(path))  # noqa: PTH208
    return os.path.isfile(path) and is_journal_file(path)  # noqa: PTH113


def is_journal_file(path: str) -> bool:
    """Tell whether a file begins as a journal file does."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def is_journal_folder(folder: str, names: Sequence[str]) -> bool:
    """Tell whether a folder with these files holds a journal, which is then read as one."""
    return any(
        name.endswith(_SUFFIXES) and is_journal_file(os.path.join(folder, name))  # noqa: PTH118
        for name in names
    )


def is_part_of_folder(path: str) -> bool:
    """Tell whether journalctl takes a file in when it reads the file's folder."""
    return path.endswith(_SUFFIXES) and is_journal_file(path)


def journal_chunks(path: str, shown: str | None = None, asked: Span = (None, None)) -> Iterator[bytes]:
    """Yield the export of a journal file, of a folder of them, or of `journal://UNIT` on this machine.

    `shown` is the name of a file that is a copy; of what is before or after `asked` nobody wants to know, so
    that journalctl need not write it. Raises InputError when journalctl is not installed, and
    OSError when it fails.
    """
    return _run([*_COMMAND, *_during(asked), *_arguments(path)], shown or path)


def _during(asked: Span) -> list[str]:
    """Return journalctl's options for a span of time, in whole seconds around it."""
    since, until = asked
    words = [] if since is None else [f"--since=@{_seconds(since)}"]
    return words if until is None else [*words, f"--until=@{_seconds(until) + 1}"]


def _seconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(seconds=1)


def _arguments(path: str) -> list[str]:
    if path.startswith(LIVE):
        return unit_matches(path.removeprefix(LIVE))
    if os.path.isdir(path):  # noqa: PTH112
        return [f"--directory={path}"]
    return ["--file=" + _GLOB.sub(r"\\\1", path)]


def unit_matches(unit: str) -> list[str]:
    """Return journalctl's matches for a unit, and for what `-u` hides: sudo, systemd, the kernel."""
    name = unit if _UNIT_SUFFIX.search(unit) else f"{unit}.service"
    fields = (
        "_SYSTEMD_UNIT",
        "UNIT",
        "OBJECT_SYSTEMD_UNIT",
        "COREDUMP_UNIT",
        "_SYSTEMD_USER_UNIT",
        "USER_UNIT",
    )
    matches = [f"{field}={name}" for field in fields]
    matches += ["_COMM=sudo", "_PID=1", "_TRANSPORT=kernel"]
    return [word for match in matches for word in ("+", match)][1:]


def _run(command: list[str], path: str) -> Iterator[bytes]:
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the reading ends
    try:
        process = subprocess.Popen(  # noqa: S603 - a list, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**os.environ, "LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""},
        )
    except OSError as error:
        complaints.close()
        raise InputError(
            f"cannot run journalctl: {error.strerror or error}",
            where=path,
            hint="journal files are read by systemd's journalctl; install it, "
            "or hand in the output of `journalctl -a -o export` made where it is",
        ) from error
    return _output(process, complaints)


def _output(process: subprocess.Popen[bytes], complaints: IO[bytes]) -> Iterator[bytes]:
    assert process.stdout is not None
    try:
        while chunk := process.stdout.read(CHUNK_BYTES):
            yield chunk
        status = process.wait()
        if status:
            complaints.seek(0)
            said = complaints.read(1000).decode(errors="replace").strip().split("\n")[0]
            raise OSError(said or f"journalctl ended with status {status}")
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
        complaints.close()
