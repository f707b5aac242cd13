"""Parsing: from record frames to events, through the grammars in `grammars/`.

`Parser(source_index, source, origins, tz).feed(frame)` gives event blocks. A line's shape is written in the
grammars and nowhere else; Lark reads one line of each make, polars the others.
"""

from kvforensics.parsing.parser import Parser

__all__ = ["Parser"]
