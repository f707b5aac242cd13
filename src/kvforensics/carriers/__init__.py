"""Carriers: from the bytes of an input, whatever transported the lines, to record frames.

`expand` turns what the user named into inputs, `open_source` opens one and detects its carrier by content;
iterating gives frames of `records.RECORD_SCHEMA`, block by block, in bounded memory.
"""

from kvforensics.carriers.ahead import side_by_side
from kvforensics.carriers.expand import expand
from kvforensics.carriers.history import History, reading_order
from kvforensics.carriers.opening import OpenSource, open_source

__all__ = ["History", "OpenSource", "expand", "open_source", "reading_order", "side_by_side"]
