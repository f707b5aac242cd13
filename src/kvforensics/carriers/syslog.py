"""Syslog files: rsyslog's ISO format and RFC 5424, and RFC 3164 behind its priority.

rsyslog writes control characters as `#` and three octal digits, so one line may hold a message of many.
It cuts messages at 8 KiB without a mark; what is lost there cannot be told here.
The traditional file without priority has the bytes of `journalctl -o short` and is read as that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.frames import record_frame
from kvforensics.carriers.prefixed import STAMP, compiled, origin_numbers, peel, share, utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_TAG = r"(?P<ident>[^ \[\]{}\":]{1,64})(?:\[(?P<pid>[0-9]{1,10})\])?:"
_HOST = r"(?P<host>[A-Za-z0-9][A-Za-z0-9._:-]{0,254})"
_PRIORITY = r"<[0-9]{1,3}>"
_ISO = rf"^(?:{_PRIORITY})?(?P<time>{STAMP}) {_HOST} {_TAG}(?: ?(?P<message>.*))?$"
_BSD = (
    rf"^{_PRIORITY}(?P<wall>[A-Z][a-z]{{2}} [ 0-9][0-9] [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}) {_HOST} {_TAG}"
    r"(?: ?(?P<message>.*))?$"
)
_DATA = r"(?:-|(?:\[(?:[^\]\"\\]|\\.|\"(?:[^\"\\]|\\.)*\")*\])+)"
_NEW = (
    rf"^{_PRIORITY}1 (?P<time>{STAMP}|-) (?P<host>[^ ]{{1,255}}) (?P<ident>[^ ]{{1,48}})"
    rf" (?P<pid>[^ ]{{1,128}}) [^ ]{{1,32}} {_DATA}(?: (?P<message>.*))?$"
)
_CERTAIN = [
    compiled(rf"^{STAMP} [^ ]+ (?:[^ \[\]{{}}\":]+\[[0-9]+\]|sudo|su|kernel|rsyslogd|audit):"),
    compiled(_NEW),
    compiled(_BSD),
]
_SINGLE = compiled(_NEW.replace("(?: (?P<message>.*))?$", " "))
_DOUBLED = compiled(
    _NEW.replace("(?: (?P<message>.*))?$", "  ")
)  # the message begins with a space in rsyslog
_FORMS = {"new": _NEW, "iso": _ISO, "bsd": _BSD}
_LINES = [compiled(pattern) for pattern in _FORMS.values()]
_BARE = compiled(_ISO.replace(f"(?:{_PRIORITY})?", "", 1))
_JOURNAL = compiled(r"^(?:-- (?:Boot|Journal begins|Logs begin|No entries|cursor:|Reboot)| {20,})")
_FRACTION = compiled(r"^[0-9-]{10}T[0-9:]{8}\.")
_FIELDS = ("time", "wall", "host", "ident", "pid", "message")
_ESCAPE = r"#(?:0[0-3][0-7]|177)"
_ESCAPED = re.compile(_ESCAPE)


class Syslog:
    """One record a line, with host, tag and pid."""

    name = "syslog"

    def score(self, head: Head) -> float:
        """Return the share of syslog lines; those without pid, which any text may look like, count half.

        ISO lines without a fraction, and those among lines that only journalctl prints, are its `short-iso`
        of systemd 257 and later, which has the same form.
        """
        iso = [line for line in head.lines if _BARE.match(line)]
        if iso and (not share(iso, _FRACTION) or share(head.lines, _JOURNAL)):
            return 0.0
        return (share(head.lines, *_LINES) + share(head.lines, *_CERTAIN)) / 2

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; one of another form keeps its text and has neither time nor host."""
        doubled = share(blocks.head.lines, _DOUBLED) > 0.5 * share(blocks.head.lines, _SINGLE)
        for block in blocks:
            lines = block.text()
            parts, new = _parts(lines)
            message = parts["message"]
            if doubled:
                message = message.str.strip_prefix(" ").zip_with(new, message)
            message = message.str.strip_prefix("\ufeff").zip_with(new, message)
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "at": utc(parts["time"]),
                    "_wall": ("2000 " + parts["wall"]).str.strptime(
                        pl.Datetime("us"), "%Y %b %e %H:%M:%S", strict=False
                    ),
                    "origin": _origins(parts, context),
                    "message": _unescaped(message),
                    "damage": block.damage(),
                },
            )


def _parts(lines: pl.Series) -> tuple[pl.DataFrame, pl.Series]:
    """Take the lines apart by the first form that each has, and tell which are RFC 5424."""
    forms = {name: peel(lines, pattern) for name, pattern in _FORMS.items()}
    hits = {name: forms[name]["ident"].is_not_null() for name in forms}
    columns: dict[str, pl.Series] = {}
    for field in _FIELDS:
        having = [forms[name][field] for name in forms if field in forms[name].columns]
        columns[field] = pl.select(pl.coalesce(having).alias(field)).to_series()
    message = columns["message"].fill_null("")
    columns["message"] = message.zip_with(hits["new"] | hits["iso"] | hits["bsd"], lines)
    return pl.DataFrame(columns), hits["new"]


def _origins(parts: pl.DataFrame, context: Context) -> pl.Series:
    nil = {name: parts[name].replace("-", None) for name in ("host", "ident")}
    pid = parts["pid"].cast(pl.Int64, strict=False)
    return origin_numbers(context.origins, {**nil, "pid": pid})


def _unescaped(messages: pl.Series) -> pl.Series:
    hits = messages.str.contains(_ESCAPE)
    if not hits.any():
        return messages
    texts = messages.to_list()
    for row in hits.arg_true():
        texts[row] = _ESCAPED.sub(lambda code: chr(int(code.group()[1:], 8)), texts[row])
    return pl.Series("message", texts, dtype=pl.String)
