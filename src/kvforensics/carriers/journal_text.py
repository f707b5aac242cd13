"""What journalctl and rsyslog did to the text of a message, and how to undo it."""

from __future__ import annotations

import re

import polars as pl

from kvforensics.carriers.journal_stamps import TRADITIONAL

_BLOB = r"^\[[0-9.]+[BKMGTPE] blob data\]$"
_ESCAPED = re.compile(r"#(0[0-3][0-7]|177)")
_SUPPRESSED = r"^Suppressed [0-9]+ messages from "
_LINK = r"\x1b\]8;;[^\x07\x1b]*(?:\x07|\x1b\\)((?s).*?)\x1b\]8;;(?:\x07|\x1b\\)"
_MORE_LINK = r"^\x1b\]8;;[^\x07\x1b]*(?:\x07|\x1b\\)\[🡕\]\x1b\]8;;(?:\x07|\x1b\\) ?"
_WRAPPED = r"^((?:\x1b\[0;[0-9;]*m)+)((?s).*)\x1b\[0m$"


def below(lines: pl.DataFrame, matched: pl.DataFrame, marks: pl.Series) -> pl.DataFrame:
    """Say of each line whether it belongs to the record above it (`is_below`), and its text without indent.

    `lines` has `text`, `matched` the `stamp` and `head` that `Matcher` found, null where `marks` is false.
    """
    stamp, head = matched["stamp"].str.len_bytes(), matched["head"].str.len_bytes()
    width = (stamp.cast(pl.Int64) + head.cast(pl.Int64) + 3).forward_fill()
    places = (~marks & width.is_not_null() & lines["text"].str.starts_with(" ")).arg_true()
    columns = {"text": lines["text"].gather(places), "width": width.gather(places), "place": places}
    candidates = pl.DataFrame(columns)
    indent = pl.col("text").str.slice(0, pl.col("width"))
    is_below = (indent.str.len_bytes() == pl.col("width")) & (indent.str.strip_chars(" ") == "")
    found = candidates.filter(is_below).with_columns(pl.col("text").str.slice(pl.col("width")))
    empty = pl.Series("text", [None], dtype=pl.String).new_from_index(0, lines.height)
    text = empty.scatter(found["place"], found["text"])
    return pl.DataFrame([text.is_not_null().alias("is_below"), text])


def with_below(
    message: pl.Series, damage: pl.Series, marks: pl.Series, below: pl.DataFrame
) -> tuple[pl.Series, pl.Series]:
    """Return messages with the lines below joined to them, and damage likewise."""
    if not below["is_below"].any():
        return message, damage
    rows = pl.DataFrame([marks.cum_sum().alias("record"), _uncoloured(below["text"]).alias("text"), damage])
    rows = rows.filter(below["is_below"])
    groups = rows.group_by("record", maintain_order=True).agg(
        pl.col("text").str.join("\n"), pl.col("damage").drop_nulls().first()
    )
    records = marks.arg_true().gather(groups["record"] - 1)
    first = _uncoloured(message.gather(records))
    joined = pl.select(pl.concat_str([first, groups["text"]], separator="\n")).to_series()
    above = damage.gather(records)
    return (
        message.scatter(records, joined),
        damage.scatter(records, above.zip_with(above.is_not_null(), groups["damage"])),
    )


def program_text(message: pl.Series, stamps: pl.Series) -> pl.Series:
    """Take journalctl's colours off, and rsyslog's escapes (`#033`) where the stamp is of rsyslog's form."""
    message = _uncoloured(message)
    escaped = message.str.contains("#0", literal=True)
    if escaped.any():
        places = (escaped & stamps.str.contains(f"^{TRADITIONAL}$")).arg_true()
        texts = [_ESCAPED.sub(lambda match: chr(int(match[1], 8)), message[place]) for place in places]
        message = message.scatter(places, pl.Series(texts, dtype=pl.String))
    return message


def _uncoloured(text: pl.Series) -> pl.Series:
    """Take off the colours and links that journalctl put around a message for a terminal."""
    if not text.str.contains("\x1b", literal=True).any():
        return text
    linked = text.str.contains("\x1b]8;;", literal=True).fill_null(value=False).arg_true()
    if len(linked):
        bare = text.gather(linked).str.replace_all(_MORE_LINK, "").str.replace_all(_LINK, "$1")
        text = text.scatter(linked, bare)
    places = text.str.contains("\x1b[0m", literal=True).fill_null(value=False).arg_true()
    if not len(places):
        return text
    inner = text.gather(places)
    bare = inner.str.extract(_WRAPPED, 2).str.replace_all("\x1b\\[0;[0-9;]*m", "")
    return text.scatter(places, bare.zip_with(bare.is_not_null(), inner))


def text_damage(message: pl.Series, damage: pl.Series, marks: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Find the messages that journalctl replaced, and journald's word that it dropped some."""
    blobs = message.str.ends_with(" blob data]")
    if blobs.any():
        blobs = blobs & message.str.contains(_BLOB) & marks
        damage = damage.set(blobs, "blob_data")
        message = message.set(blobs, None)
    suppressed = message.str.starts_with("Suppressed ").fill_null(value=False)
    if suppressed.any():
        suppressed = suppressed & message.str.contains(_SUPPRESSED).fill_null(value=False) & marks
        damage = damage.set(suppressed, "rate_limited")
    return message, damage
