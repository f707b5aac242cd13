"""Tables: what Lark made of a grammar, kept beside it, so that a process need not make it again.

A table is data: JSON that builds rules, terminals and parsers, and runs nothing. It counts only for the
very text and the very Lark that it was made of; without one that counts, the text is compiled.
`tools/make_tables.py` makes them.
"""

from __future__ import annotations

import re
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import lark
import msgspec
from lark import Lark

from kvforensics.parsing.rows import ParserRow, RuleRow, TerminalRow
from kvforensics.parsing.rules import Rules
from kvforensics.parsing.sources import KIND, PREFIX, SETTINGS, folder, names, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from kvforensics.parsing.compiling import Compilation

WHOLE_OPTIONS = {
    "parser": "lalr",
    "lexer": "contextual",
    "maybe_placeholders": False,
    "propagate_positions": True,
}
_WHOLE = "start"
_VERSION = "2"  # of the form of tables
_IMPORT = re.compile(r"(?m)^%import \.([a-z_]+)")


class Table(msgspec.Struct, frozen=True, dict=True):
    """What is known of a grammar without reading its text: see `rules.Rules`. Parsers are `ParserRow`s."""

    key: str
    options: dict[str, Any]
    parsers: dict[str, msgspec.Raw]
    kinds: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    slots: dict[str, str] = {}
    columns: dict[str, dict[str, str]] = {}
    needles: dict[str, tuple[str, ...]] = {}
    grams: dict[str, str] = {}
    beginnings: dict[str, tuple[tuple[str, str], ...]] = {}
    rows: msgspec.Raw = msgspec.Raw(b"[[],[]]")

    @cached_property
    def rules(self) -> Rules:
        """The rules of all kinds together."""
        rules, terminals = msgspec.json.decode(self.rows, type=tuple[list[RuleRow], list[TerminalRow]])
        return Rules(self.kinds, [row.rule() for row in rules], [row.terminal() for row in terminals])

    def parser(self, kind: str) -> Lark:
        """Return a parser of one kind."""
        return msgspec.json.decode(self.parsers[kind], type=ParserRow).parser(self.options)

    def text(self) -> bytes:
        """Return the table as it is stored: a line for each kind's parser."""
        fields = {name: msgspec.json.encode(getattr(self, name)) for name in self.__struct_fields__}
        parsers = b",\n".join(b'"%s":%s' % (kind.encode(), bytes(row)) for kind, row in self.parsers.items())
        fields["parsers"] = b"{\n%s\n}" % parsers
        return b"{\n%s\n}\n" % b",\n".join(
            b'"%s":%s' % (name.encode(), text) for name, text in fields.items()
        )


def path_of(name: str) -> Path:
    """Return the place of a grammar's table."""
    return folder() / "tables" / f"{name}.json"


def find(name: str, source: str, *roots: str) -> Table | None:
    """Return the table of a grammar's text whose kinds these roots name; None where none counts for it."""
    try:
        table = msgspec.json.decode(path_of(name).read_bytes(), type=Table)
    except (OSError, msgspec.MsgspecError):
        return None
    return table if table.key == _key(name, source, roots) else None


def compiled(name: str, source: str, root: str, *also: str) -> Compilation:
    """Return what Lark makes of a grammar's text."""
    from kvforensics.parsing.compiling import Compilation  # noqa: PLC0415 - what tables are there to avoid

    return Compilation(name, source, root, also)


def made(name: str, source: str, root: str, *also: str) -> Table:
    """Return the table of a grammar's text."""
    by_lark = compiled(name, source, root, *also)
    rows = list(map(RuleRow.of, by_lark.rules.rules)), list(map(TerminalRow.of, by_lark.rules.terminals))
    return Table(
        key=_key(name, source, (root, *also)),
        kinds=by_lark.kinds,
        opens=by_lark.opens,
        slots=by_lark.slots,
        columns=by_lark.columns,
        needles=by_lark.needles,
        grams=by_lark.grams,
        beginnings=by_lark.beginnings,
        rows=_encoded(rows),
        options=by_lark.options,
        parsers={kind: _encoded(ParserRow.of(by_lark.parser(kind))) for kind in by_lark.kinds},
    )


def parser(name: str) -> Lark:
    """Return the parser of a grammar that has no kinds: of its rule `start`."""
    table = find(name, text_of(name), _WHOLE)
    return table.parser(_WHOLE) if table is not None else Lark(text_of(name), **WHOLE_OPTIONS)


def made_whole(name: str) -> Table:
    """Return the table of such a grammar."""
    by_lark = Lark(text_of(name), **WHOLE_OPTIONS)
    return Table(
        key=_key(name, text_of(name), (_WHOLE,)),
        options=WHOLE_OPTIONS,
        parsers={_WHOLE: _encoded(ParserRow.of(by_lark))},
    )


def all_made() -> dict[str, Table]:
    """Return the tables that are kept, made anew, by the names of their grammars."""
    roots = {**dict.fromkeys(names(), (KIND,)), "prefix": PREFIX}
    found = {name: made(name, text_of(name), *of) for name, of in roots.items()}
    return {**found, SETTINGS: made_whole(SETTINGS)}


def _encoded(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _key(name: str, source: str, roots: tuple[str, ...]) -> str:
    """Return what a table counts for: these rules of this text, compiled by this Lark."""
    parts = [_VERSION, lark.__version__, name, *roots, source, *map(text_of, _IMPORT.findall(source))]
    return sha256("\0".join(parts).encode()).hexdigest()
