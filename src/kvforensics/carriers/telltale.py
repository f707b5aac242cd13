"""Whether anything may stand around the lines of a text: what tells most logs from it at a glance.

Every other carrier has to be loaded to be asked. A plain log, which is what most are, need not wait for that:
its lines begin with nothing that any carrier's lines begin with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvforensics.carriers.carrier import HEAD_LINES, HEAD_ROWS

if TYPE_CHECKING:
    from kvforensics.carriers.carrier import Head

_BEGINNINGS = (
    rb"[<>{}\],(]|data: |__|Script started on |[^ -~]",  # JSON, priorities, quotes, actors, fields, no text
    rb"\[(?![0-9]{4}-[0-9]{2}-[0-9]{2} )",  # an array, a pod, a rank, seconds; not SGLang's own date
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}[^ ]|[0-9]{9,11}\.|[0-9]{1,2}[^ -~]",  # times
    rb"[0-9]{1,7}: ",  # a task of Slurm
    rb"[A-Za-z0-9][A-Za-z0-9_.-]*(?:@[A-Za-z0-9.-]*)? +\|",  # compose
    rb"\S{1,40} +(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}) [0-9]{2}:[0-9]{2}:",  # a month, a day of the week
)
_MAY_BE_CARRIED = re.compile(rb"[ \t\r\x1e]*+(?:" + b"|".join(_BEGINNINGS) + b")")
_NOT_INDENTED = re.compile(rb"(?!Attaching to )[^ \t`]")


def may_be_carried(head: Head) -> bool:
    """Tell whether a carrier other than plain text may know any of the lines. May say yes where none does.

    A wrapped settings line is not looked for.
    """
    if b"\x1b" in head.data:
        return True  # colours may stand anywhere
    if len(head.lines) < HEAD_LINES and head.data.count(b"\n") >= HEAD_ROWS:
        return True  # mostly empty lines: the carriers may see more of them than stand in `lines`
    if any(_MAY_BE_CARRIED.match(line) for line in head.lines):
        return True
    return not any(_NOT_INDENTED.match(line) for line in head.lines)  # a quotation may be indented as a whole
