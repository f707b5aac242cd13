"""What must hold whatever a log holds. Each check raises AssertionError, or what the program raised."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from fuzz import corpus
from kvforensics import analyse
from kvforensics.carriers.opening import open_stream
from kvforensics.carriers.registry import CARRIERS
from kvforensics.errors import NoLaunchError
from kvforensics.options import Options
from kvforensics.parsing import Parser
from kvforensics.parsing import server_args as settings
from kvforensics.parsing.grammar import load
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source
from kvforensics.report.timeline_json import timeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CARRIER_NAMES = (None, *sorted({carrier.name for carrier in CARRIERS}))  # None: told by content
NEVER_WRONG = frozenset({"unproven", "confounded"})  # what a verdict may become when lines are missing
SHAPES_LISTED = 500


def carrier(data: bytes, name: str | None, cuts: Sequence[int] = (), block_bytes: int = 8 << 20) -> None:
    """Read bytes as a carrier: nothing fails, all is counted, and where they are cut changes nothing."""
    whole = _records(data, name)
    frame, source, _ = whole
    assert source.records == frame.height
    assert frame.schema == RECORD_SCHEMA
    assert frame.height == 0 or (frame["line"] >= 1).all()
    assert all(damage.count >= 1 and damage.first_line >= 1 for damage in source.damaged.values())
    if cuts or block_bytes < len(data):
        pieces = _records(data, name, cuts, block_bytes)
        assert frame.drop("origin").equals(pieces[0].drop("origin"))
        assert _origins(whole) == _origins(pieces)
        assert source.lines == pieces[1].lines
        assert {k: d.count for k, d in source.damaged.items()} == {
            k: d.count for k, d in pieces[1].damaged.items()
        }


_Read = tuple[pl.DataFrame, Source, Origins]


def _records(data: bytes, name: str | None, cuts: Sequence[int] = (), block_bytes: int = 8 << 20) -> _Read:
    edges = [0, *sorted(cuts), len(data)]
    origins = Origins()
    opened = open_stream(
        (data[begin:end] for begin, end in pairwise(edges)), None, "x", Options(carrier=name), origins, 0
    )
    opened.blocks.block_bytes = block_bytes
    frames = list(opened)
    return pl.concat(frames) if frames else pl.DataFrame(schema=RECORD_SCHEMA), opened.source, origins


def _origins(read: _Read) -> list[Any]:
    return [read[2][number] for number in read[0]["origin"]]


def grammar(name: str, text: str) -> None:
    """Parse one body: a kind of the grammar with its columns and JSON's types, or nothing."""
    rules = load(name)
    said = rules.parse(text)
    if said is None:
        return
    assert said.kind in rules.kinds
    assert set(said.fields) <= set(rules.columns[said.kind]), said
    for value in said.fields.values():
        assert value is None or isinstance(value, str | int | float | bool), value
        assert not isinstance(value, float) or not math.isnan(value)


def settings_line(text: str) -> None:
    """Read a settings line: values that strict JSON can hold, and no secret whose name is still there."""
    said = settings.read(text)
    if said is not None:
        json.dumps(said.values, allow_nan=False)
        assert said.form in ("repr", "dict")


def lines(messages: Sequence[str | None], cuts: Sequence[int] = ()) -> None:
    """Parse records: each is understood or unknown, and where blocks are cut changes nothing."""
    whole = _parsed(messages, ())
    assert whole["records"] == len(messages) == whole["understood"] + whole["unknown"]
    assert sum(whole["shapes"].values()) == whole["unknown"]
    if cuts:
        assert whole == _parsed(messages, cuts)


def _parsed(messages: Sequence[str | None], cuts: Sequence[int]) -> dict[str, Any]:
    origins = Origins()
    count = len(messages)
    data: dict[str, Any] = {name: [None] * count for name in RECORD_SCHEMA}
    data |= {"source": [0] * count, "line": list(range(1, count + 1)), "message": list(messages)}
    data["origin"] = [origins.intern(Origin())] * count
    frame = pl.DataFrame(data, schema=RECORD_SCHEMA)
    parser = Parser(0, Source("x"), origins)
    found: dict[str, Any] = {"records": 0, "understood": 0, "unknown": 0, "shapes": {}, "rare": [], "hot": []}
    for begin, end in pairwise([0, *sorted(cuts), count]):
        block = parser.feed(frame.slice(begin, end - begin))
        for name in ("records", "understood", "unknown"):
            found[name] += getattr(block, name)
        for shape in block.shapes.values():
            found["shapes"][shape.shape] = found["shapes"].get(shape.shape, 0) + shape.count
        found["rare"] += [repr(event) for event in block.rare]
        found["hot"] += [repr((kind, row)) for kind, hot in block.hot.items() for row in hot.to_dicts()]
    found["hot"].sort()
    return found


def whole(paths: Sequence[Path], options: Options | None = None) -> dict[str, Any] | None:
    """Analyse inputs: strict JSON that adds up and holds no secret. None: they hold no launch."""
    try:
        found = analyse([str(path) for path in paths], options)
    except NoLaunchError:
        return None
    said: dict[str, Any] = timeline(found)  # type: ignore[assignment]
    text = json.dumps(said, allow_nan=False)
    assert corpus.SECRET not in text, "a secret came out"
    coverage = said["coverage"]
    assert coverage["understood"] + coverage["unknown"] == coverage["records"]
    if len(coverage["unknown_shapes"]) < SHAPES_LISTED:
        assert sum(shape["count"] for shape in coverage["unknown_shapes"]) == coverage["unknown"]
    return said


def judged(said: Mapping[str, Any] | None) -> dict[str, tuple[str, Any, Any]]:
    """Return verdict, before and after of each change, by its setting."""
    if said is None:
        return {}
    return {
        change["setting"]: (change["verdict"], change["before"], change["after"])
        for service in said["services"]
        for change in service["changes"]
    }


def no_verdict_became_wrong(
    said: Mapping[str, Any] | None, truth: Mapping[str, tuple[str, Any, Any]]
) -> None:
    """Hold the verdicts on a damaged log against those on the whole one."""
    for setting, (verdict, before, after) in judged(said).items():
        assert setting in truth, f"{setting} was not edited: {verdict} from {before!r} to {after!r}"
        right, first, second = truth[setting]
        assert verdict == right or verdict in NEVER_WRONG, f"{setting}: {right} became {verdict}"
        assert (before, after) == (first, second), (
            f"{setting}: {first!r} to {second!r} became {before!r} to {after!r}"
        )


def essence(said: Mapping[str, Any] | None) -> Any:
    """Return an analysis without the places where its facts stand, to compare inputs that were cut."""
    if said is None:
        return None
    return {"services": [_bare(service) for service in said["services"]]}


_PLACES = frozenset({"evidence", "id", "path", "line", "cursor"})


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _bare(one) for name, one in value.items() if name not in _PLACES}
    return [_bare(one) for one in value] if isinstance(value, list) else value


@cache
def truths() -> dict[str, dict[str, tuple[str, Any, Any]]]:
    """Return the verdicts on the undamaged logs of `corpus.known`, by name."""
    with TemporaryDirectory() as folder:
        found = {}
        for log in corpus.known():
            path = Path(folder, log.name)
            path.write_text("\n".join(log.lines) + "\n")
            found[log.name] = judged(whole([path]))
    return found
