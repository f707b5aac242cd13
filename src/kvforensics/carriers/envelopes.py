"""Envelopes that are no carriers of their own but stand around lines in any of them.

Ray's `(Actor pid=1, ip=…) `, torchrun's `[rank0]:`, the labels of `logcli`, the clock of `ts`, quoted or
indented text from an issue, and what `script` records of a terminal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from kvforensics.carriers.frames import record_frame
from kvforensics.carriers.prefixed import ANSI, compiled, origin_numbers, peel, peeled_messages, share
from kvforensics.carriers.shipper_origins import origin_of_labels
from kvforensics.columns import constant
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

RAY = (
    rf"^{ANSI}*\((?P<ident>[^\s(),=]{{1,200}}) pid=(?P<pid>[0-9]{{1,10}})(?:, ip=[0-9A-Fa-f.:]+)?\)"
    rf"(?:{ANSI}* (?P<message>.*)|{ANSI}*)$"
)
TORCHRUN = rf"^{ANSI}*\[(?P<ident>(?:rank|default)[0-9]{{1,6}})\]: ?(?P<message>.*)$"
_LABEL_SET = r"\{(?:[A-Za-z_][A-Za-z0-9_]*=\"(?:[^\"\\]|\\.)*\"(?:, ?)?)*\}"
_LABELS = rf"^{ANSI}*(?P<labels>{_LABEL_SET}){ANSI}*\s+(?P<message>.*)$"
_CLOCK = r"^(?P<wall>[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}) (?P<message>.*)$"
_QUOTE = r"^ {0,3}(?:> ?)+"
_MOST = 0.5
_MOST_INDENT = 200
_FEWEST = 3  # lines that make an indent of all
_SCRIPT = re.compile(rb"^Script started on ")
_CONTROLS = r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][A-Za-z0-9]|\x1b[=>]|\x08"


class Prefix:
    """An envelope that is one pattern: what it names of the origin goes into the origin."""

    def __init__(self, name: str, pattern: str, *begins: str) -> None:
        """`begins` are texts of one or two characters with which its lines begin, where that is known."""
        self.name = name
        self.pattern = pattern
        self._begins = begins
        self._line = compiled(pattern)

    def may_begin(self, beginnings: Iterable[str | None]) -> bool:
        """Whether a line may be in this envelope, by the first two characters of all lines."""
        return any(begin is not None and begin.startswith(self._begins) for begin in beginnings)

    def score(self, head: Head) -> float:
        """Return the share of lines in this envelope."""
        return share(head.lines, self._line)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines, those in no envelope as they are."""
        for block in blocks:
            lines = block.text()
            parts = peel(lines, self.pattern)
            message, columns = self.apart(parts, lines, context)
            yield record_frame(
                context, {"line": block.numbers(), "message": message, "damage": block.damage(), **columns}
            )

    def apart(
        self, parts: pl.DataFrame, lines: pl.Series, context: Context
    ) -> tuple[pl.Series, dict[str, pl.Series]]:
        """Return the messages, and the origins."""
        known = parts["ident"].is_not_null()
        message = peeled_messages(parts, lines).zip_with(~known, parts["message"].fill_null(""))
        fields = {"ident": parts["ident"]}
        if "pid" in parts.columns:
            fields["pid"] = parts["pid"].cast(pl.Int64, strict=False)
        return message, {"origin": origin_numbers(context.origins, fields)}


class Labels(Prefix):
    """`logcli`'s default output behind its time: `{host="gpu01", unit="sglang.service"} TEXT`."""

    def apart(
        self, parts: pl.DataFrame, lines: pl.Series, context: Context
    ) -> tuple[pl.Series, dict[str, pl.Series]]:
        """Return the messages, and the origins that the labels name."""
        numbers: dict[str | None, int] = {None: context.origins.intern(Origin())}
        for labels in parts["labels"].drop_nulls().unique(maintain_order=True):
            numbers[labels] = context.origins.intern(origin_of_labels(labels))
        origin = pl.Series([numbers[labels] for labels in parts["labels"]], dtype=pl.UInt32)
        return peeled_messages(parts, lines), {"origin": origin}


class Clock(Prefix):
    """What `ts` puts in front: `May 20 14:03:11 TEXT`."""

    def apart(
        self, parts: pl.DataFrame, lines: pl.Series, context: Context
    ) -> tuple[pl.Series, dict[str, pl.Series]]:
        """Return the messages, and the times without year."""
        wall = ("2000 " + parts["wall"]).str.strptime(pl.Datetime("us"), "%Y %b %e %H:%M:%S", strict=False)
        none = {"ident": constant("ident", None, pl.String(), len(lines))}
        origin = origin_numbers(context.origins, none)
        return peeled_messages(parts, lines), {"_wall": wall, "origin": origin}


class Quoted:
    """Text pasted into an issue: every line behind `> ` or indented alike."""

    name = "quoted"
    _quote: ClassVar[re.Pattern[bytes]] = compiled(_QUOTE)
    _fence: ClassVar[re.Pattern[bytes]] = compiled(r"^ {0,3}(?:> ?)*```")
    _aside: ClassVar[re.Pattern[bytes]] = compiled(r"^ {0,3}(?:> ?)*```|^Attaching to ")

    def score(self, head: Head) -> float:
        """Return the share of quoted lines, or 1 when all lines are indented."""
        lines = self._quotable(head)
        quoted = share(lines, self._quote)
        return quoted if quoted > _MOST else float(_indent(lines) > 0)

    def _quotable(self, head: Head) -> list[bytes]:
        """Return the lines, of a fenced text those within, without what a tool says itself."""
        lines = list(head.lines)
        begin = next((place for place, line in enumerate(lines) if self._fence.match(line)), None)
        if begin is not None and len(lines) - begin > _FEWEST:
            lines = lines[begin + 1 :]
            end = next((place for place, line in enumerate(lines) if self._fence.match(line)), None)
            lines = lines[:end] if end else lines
        return [line for line in lines if not self._aside.match(line)]

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines without quote marks, or without the indent of the head."""
        origin = context.origins.intern(Origin())
        indent = _indent(self._quotable(blocks.head))
        for block in blocks:
            lines = block.text()
            quoted = lines.str.contains(_QUOTE)
            message = lines.str.replace(_QUOTE, "")
            if indent:
                message = message.zip_with(quoted, lines.str.replace(rf"^[ \t]{{0,{indent}}}", ""))
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "message": message,
                    "origin": constant("origin", origin, pl.UInt32(), len(lines)),
                    "damage": block.damage(),
                },
            )


class Terminal:
    """What `script` recorded: control sequences go, the text and the carriage returns of bars stay."""

    name = "script"

    def score(self, head: Head) -> float:
        """Return 1 for a file that begins as `script` begins one."""
        return float(bool(head.lines) and _SCRIPT.match(head.lines[0]) is not None)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines without control sequences."""
        origin = context.origins.intern(Origin())
        for block in blocks:
            lines = block.text()
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "message": lines.str.replace_all(_CONTROLS, "").str.strip_chars_end("\r"),
                    "origin": constant("origin", origin, pl.UInt32(), len(lines)),
                    "damage": block.damage(),
                },
            )


def _indent(lines: list[bytes]) -> int:
    """Return by how much all lines are indented."""
    indents = [len(line) - len(line.lstrip(b" \t")) for line in lines]
    return min(*indents, _MOST_INDENT) if len(indents) >= _FEWEST else 0


RAY_PREFIX = Prefix("ray", RAY, "(", "\x1b")
TORCHRUN_PREFIX = Prefix("torchrun", TORCHRUN, "[r", "[d", "\x1b")
ENVELOPES = (Terminal(), Quoted(), RAY_PREFIX, TORCHRUN_PREFIX, Labels("loki", _LABELS), Clock("ts", _CLOCK))
