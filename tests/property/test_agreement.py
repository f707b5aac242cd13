"""The proof of layouts: what they say of a line is what Lark says of it, or they say nothing.

Lines come from the grammar itself and from the samples, and are then damaged, because a line that is
nearly right is where two readers part.
"""

from __future__ import annotations

import os
import random
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

from kvforensics.parsing import Parser, layouts
from kvforensics.parsing.decoding import decode, decode_fitting
from kvforensics.parsing.grammar import Grammar, load
from kvforensics.parsing.kinds import kinds, samples
from kvforensics.parsing.layouts import Layout, Slot, learn
from kvforensics.parsing.prefix import prefixes
from kvforensics.parsing.sources import KIND, text_of
from kvforensics.parsing.tables import compiled
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

# A longer run: KVFORENSICS_EXAMPLES=100000 pytest tests/property
EXAMPLES = int(os.environ.get("KVFORENSICS_EXAMPLES", "60"))
QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
PIECES = [
    "+",
    "-",
    ".",
    "0",
    "00",
    "9" * 20,
    "1e3",
    "nan",
    "inf",
    "٣",
    ", ",
    ": ",
    " ",
    "True",
    "False",
    "\n",
    "\r",
    "\x1b[0m",
]
PIECES += [
    "#token: 5, ",
    "token usage: 0.5, ",
    "%",
    '"',
    "'",
    "é",
    "\u2028",
    "Decode batch",
    "[2026-05-12 10:11:12] ",
]


@cache
def grammar() -> Grammar:
    return load("scheduler")


@cache
def known_layouts() -> tuple[Layout, ...]:
    found = {}
    for text in samples("scheduler"):
        layout = layout_of(text)
        if layout is not None:
            found[layout] = text
    return tuple(found)


def layout_of(text: str) -> Layout | None:
    parsed = grammar().parse(text)
    if parsed is None:
        return None
    tree = grammar().tree(parsed.kind, text)
    assert tree is not None
    return learn(grammar(), parsed.kind, text, tree)


def damaged(text: str, chance: random.Random) -> str:
    """Return the text with up to four characters, numbers or pieces dropped, doubled, swapped or put in."""
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(text) + 1)
        to = min(len(text), at + chance.choice([1, 1, 1, 2, 5, 20]))
        what = chance.randrange(6)
        if what == 0:
            text = text[:at] + text[to:]
        elif what == 1:
            text = text[:to] + text[at:to] + text[to:]
        elif what == 2:
            text = text[:at] + text[at:to][::-1] + text[to:]
        elif what == 3:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif what == 4:
            text = text[:at] + chance.choice(PIECES) + text[to:]
        else:
            digits = [place for place, char in enumerate(text) if char.isdigit()]
            if digits:
                place = chance.choice(digits)
                text = (
                    text[:place]
                    + chance.choice(["7", "+7", "", "٣", "1" * 19, "0.5", "1e5"])
                    + text[place + 1 :]
                )
    return text


def pair_swapped(text: str, chance: random.Random) -> str:
    pairs = text.split(", ")
    first, second = chance.randrange(len(pairs)), chance.randrange(len(pairs))
    pairs[first], pairs[second] = pairs[second], pairs[first]
    return ", ".join(pairs)


def disagreements(texts: Sequence[str], candidates: Sequence[Layout]) -> list[str]:
    """Return where a layout, in Python or in polars, says anything but what Lark says."""
    found = []
    column = pl.Series("text", texts, dtype=pl.String)
    for layout in candidates:
        fits = column.to_frame().select(layout.mask(pl.col("text"))).to_series().to_list()
        hits = [text for text, fit in zip(texts, fits, strict=True) if fit]
        found += straight(layout, column)
        rows = (
            decode(layout, pl.Series("text", hits)).to_dicts()
            if hits and layout.has_columns
            else [{}] * len(hits)
        )
        for text, fit in zip(texts, fits, strict=True):
            if (layout.fields(text) is not None) != fit:
                found.append(f"Python and Rust differ on {text!r}")
        for text, row in zip(hits, rows, strict=True):
            said = grammar().parse(text)
            if said is None or said.kind != layout.kind:
                found.append(f"Lark reads {said} where a layout reads {layout.kind}: {text!r}")
                continue
            if dict(said.fields) != layout.fields(text):
                found.append(f"{said.fields} by Lark, {layout.fields(text)} by a layout: {text!r}")
            if not row and not said.fields:
                continue
            wide = {
                name: None if value in (float("inf"), float("-inf")) else value for name, value in row.items()
            }
            if wide != dict(said.fields):
                found.append(f"{said.fields} by Lark, {row} by polars: {text!r}")
    return found


def straight(layout: Layout, texts: pl.Series) -> list[str]:
    """Return where the fast way, which tests and cuts in one go, says anything but the careful one."""
    read, fits = decode_fitting(layout, texts)
    hits = texts.to_list() if fits is None else texts.filter(fits).to_list()
    said = {text: layout.fields(text) for text in texts}
    inside = [text for text in texts if said[text] is not None and None not in said[text].values()]
    if hits != inside:
        return [f"the fast way takes {set(hits) ^ set(inside)}"]
    rows = read.to_dicts() if layout.has_columns or layout.constants else [{}] * len(hits)
    return [
        f"{row} fast, {said[text]} carefully: {text!r}"
        for text, row in zip(hits, rows, strict=True)
        if row != said[text]
    ]


@cache
def lines_of(kind: str) -> st.SearchStrategy[str]:
    by_text = compiled("scheduler", text_of("scheduler"), KIND)  # a parser of a table has no grammar
    return from_lark(by_text.parser(kind), start=kind)


@st.composite
def generated(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(grammar().kinds))
    return draw(lines_of(kind))


@QUICK
@given(st.lists(generated(), min_size=1, max_size=8), st.integers(min_value=0))
def test_layouts_of_generated_lines_agree_with_lark(texts: list[str], seed: int) -> None:
    chance = random.Random(seed)
    learnt = [layout for layout in map(layout_of, texts) if layout is not None]
    lines = [*texts, *(damaged(text, chance) for text in texts for _ in range(3))]
    assert disagreements(lines, [*learnt, *chance.sample(known_layouts(), 10)]) == []


@QUICK
@given(st.integers(min_value=0))
def test_layouts_of_damaged_samples_agree_with_lark(seed: int) -> None:
    chance = random.Random(seed)
    texts = [damaged(text, chance) for text in chance.choices(samples("scheduler"), k=30)]
    texts += [pair_swapped(text, chance) for text in chance.choices(samples("scheduler"), k=10)]
    learnt = [layout for layout in map(layout_of, texts) if layout is not None]
    assert disagreements(texts, [*learnt, *chance.sample(known_layouts(), 20)]) == []


def test_every_sample_is_read_by_its_layout_as_by_lark() -> None:
    texts = samples("scheduler")
    assert len(known_layouts()) > 80
    assert disagreements(texts, known_layouts()) == []
    unread = [text for text in texts if all(layout.fields(text) is None for layout in known_layouts())]
    assert unread == [], "every sample has a layout"


def loosened(layout: Layout) -> Layout:
    """Return the layout as a careless one: a slot takes what `int` would, a sign included."""
    items = tuple(
        Slot(i.column, i.terminal, "(?:[+]?[0-9]+)", i.width, i.characters)
        if isinstance(i, Slot) and i.column == "queue"
        else i
        for i in layout.items
    )
    return Layout(layout.grammar, layout.kind, items, layout.constants)


def test_the_proof_finds_a_careless_slot() -> None:
    chance = random.Random(1)
    decodes = [text for text in samples("scheduler") if text.startswith("Decode batch")]
    texts = [damaged(text, chance) for text in decodes for _ in range(40)]
    careless = [loosened(layout) for layout in known_layouts() if layout.kind == "decode"]
    assert disagreements(texts, careless) != []


def test_the_proof_finds_layouts_learnt_without_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = Grammar(
        "doubtful",
        'kind: a\na: "x " name ["!" mark] | "x " flag "." \nname: NAME\nmark: NAME\nflag: FLAG\nNAME: /[a-z]+/\nFLAG.2: /on|off/\n',
    )

    def taught(text: str) -> Layout | None:
        tree = doubtful.tree("a", text)
        assert tree is not None
        return learn(doubtful, "a", text, tree)

    assert doubtful.parse("x on") is None, "Lark takes FLAG there and misses the dot"
    assert taught("x foo") is None
    monkeypatch.setattr(layouts, "_tokens_are_certain", lambda *_: True)
    careless = taught("x foo")
    assert careless is not None
    assert careless.fields("x on") == {"name": "on"}


# --- the whole parser: the order of lines and the cuts of blocks change nothing ---


def blocks(messages: Sequence[str], cuts: Sequence[int]) -> list[tuple[object, ...]]:
    kinds.cache_clear()  # nothing learnt: what a run learns is what is tested
    table = Origins()
    table.intern(Origin())
    parser = Parser(0, Source("x"), table, "UTC")
    found: list[tuple[object, ...]] = []
    counted = {}
    edges = [0, *sorted(cuts), len(messages)]
    for start, end in pairwise(edges):
        data = {name: [None] * (end - start) for name in RECORD_SCHEMA}
        data |= {"source": [0] * (end - start), "origin": [0] * (end - start)}
        data |= {"line": list(range(start + 1, end + 1)), "message": list(messages[start:end])}
        block = parser.feed(pl.DataFrame(data, schema=RECORD_SCHEMA))
        assert block.understood + block.unknown == block.records
        found += [(e.line, e.kind, str(sorted(e.fields.items())), e.at, e.ranks) for e in block.rare]
        for kind, frame in block.hot.items():
            found += [(row.pop("line"), kind, *row.values()) for row in frame.to_dicts()]
        for shape in block.shapes.values():
            counted[shape.shape] = counted.get(shape.shape, 0) + shape.count
        assert block.seen is not None or not block.records
        if block.seen is not None:
            found += [(row["line"], "seen", row["at"], row["ours"]) for row in block.seen.to_dicts()]
    return sorted(found, key=repr) + sorted(counted.items())


@QUICK
@given(st.integers(min_value=0), st.data())
def test_the_cuts_of_blocks_change_nothing(seed: int, data: st.DataObject) -> None:
    chance = random.Random(seed)
    messages = log(chance, 25)
    cuts = data.draw(st.lists(st.integers(0, len(messages)), max_size=6))
    assert blocks(messages, cuts) == blocks(messages, [])


@QUICK
@given(st.integers(min_value=0))
def test_the_order_of_lines_changes_no_event(seed: int) -> None:
    chance = random.Random(seed)
    # A line without a prefix may belong to the one before it, so only lines with one may change places.
    messages = [line for line in log(chance, 25) if [at for at, _ in prefixes().find(line, 1)] == [0]]
    order = list(range(len(messages)))
    chance.shuffle(order)
    straight = [one for one in blocks(messages, []) if isinstance(one[0], int)]
    shuffled = [one for one in blocks([messages[place] for place in order], []) if isinstance(one[0], int)]
    assert sorted(repr(one[1:]) for one in straight) == sorted(repr(one[1:]) for one in shuffled)


def log(chance: random.Random, count: int) -> list[str]:
    heads: list[Callable[[], str]] = [
        lambda: f"[2026-05-12 10:11:{chance.randint(10, 59)} TP{chance.randint(0, 7)}] ",
        lambda: (
            f"[2026-05-12 10:11:{chance.randint(10, 59)}.{chance.randint(100, 999)} DP1 TP{chance.randint(0, 7)}] "
        ),
        lambda: f"[10:11:{chance.randint(10, 59)} TP0] ",
        lambda: "2026-05-12 10:11:12,345 INFO 48213 [DP0 TP3 scheduler.py:222] ",
        lambda: "",
    ]
    bodies = samples("scheduler") * 4 + samples("startup") + samples("trouble") + samples("foreign")
    made = []
    for _ in range(count):
        body = chance.choice(bodies)
        if chance.random() < 0.3:
            body = damaged(body, chance)
        made.append(chance.choice(heads)() + body)
    return made
