"""A page of a terminal: its width, its colours, and the signs that its encoding can say."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from kvforensics.report.inert import encodable, inert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

NARROWEST, WIDEST_PROSE = 40, 110
_ASCII = str.maketrans(
    {
        "┏": "+", "┗": "+", "━": "=", "┃": "|", "╌": ":", "┊": ":", "─": "-",
        "█": "#", "▒": "o", "▏": "|", "→": "->", "·": "-", "…": "...", "×": "x",
        "✘": "X", "✔": "+", "▲": "!", "✖": "!!", "●": "*", "▼": "v", "≈": "~", "◆": "*", "⇥": ">|", "↺": "<-",
    }
)  # fmt: skip


class Page:
    """Where a view writes. Every string passes `text`, which keeps it free of markup and sayable."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = max(NARROWEST, console.width)
        self.ascii = not (console.encoding or "ascii").lower().replace("_", "-").startswith("utf")

    @classmethod
    def on(cls, stream: IO[str], *, width: int | None = None, color: bool | None = None) -> Page:
        """Return a page on a stream; `color` None leaves it to the stream and NO_COLOR, False is plain."""
        if color is None and os.environ.get("NO_COLOR"):
            color = False
        return cls(
            Console(
                file=stream,
                width=width,
                force_terminal=color,
                markup=False,
                emoji=False,
                highlight=False,
                legacy_windows=False,
            )
        )

    def text(self, *parts: str | tuple[str, str] | Text) -> Text:
        """Return a text of plain parts, (part, style) pairs, and texts made before."""
        made = Text()
        for part in parts:
            if isinstance(part, Text):
                made.append_text(part)
                continue
            words, style = (part, "") if isinstance(part, str) else part
            made.append(self.sayable(words), style or None)
        return made

    def sayable(self, words: str) -> str:
        """Return `words` inert, and with the signs that the encoding lacks replaced."""
        words = inert(words)
        if not self.ascii:
            return words
        return encodable(words.translate(_ASCII), self.console.encoding or "ascii")

    def write(self, line: RenderableType = "") -> None:
        """Write one renderable; a Text that is too long is cut into lines by rich."""
        self.console.print(line, soft_wrap=False, overflow="fold")

    def prose(
        self, text: Text, *, rail: Text, indent: int = 0, hang: int = 0, below: Text | None = None
    ) -> None:
        """Write `text` wrapped to a readable width behind rail and indent.

        Lines after the first are hung, and stand behind the rail `below` where that is another.
        """
        room = max(20, min(self.width, WIDEST_PROSE) - rail.cell_len - indent - hang)
        if text.cell_len <= room + hang:
            self.write(Text.assemble(rail, " " * indent, text))
            return
        for number, line in enumerate(text.wrap(self.console, room, overflow="fold")):
            line.rstrip()
            edge, space = (rail, indent) if number == 0 else (below or rail, indent + hang)
            self.write(Text.assemble(edge, " " * space, line))

    def items(self, items: Iterable[Text], *, rail: Text, indent: int = 0, gap: int = 3) -> None:
        """Write items beside each other, going to a new line where one has no room."""
        room = max(20, self.width - rail.cell_len - indent)
        row = Text()
        for item in items:
            if row.cell_len and row.cell_len + gap + item.cell_len > room:
                self.write(Text.assemble(rail, " " * indent, row))
                row = Text()
            row = Text.assemble(row, " " * gap if row.cell_len else "", item)
        if row.cell_len:
            self.write(Text.assemble(rail, " " * indent, row))
