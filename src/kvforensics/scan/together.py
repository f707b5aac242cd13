"""Inputs that hold the same records are read together, so that each record counts once.

Which ones those are is told by their marks alone (marks.py), never by the order in which they were scanned:
so the catalogue is the same however it came about. What such an input gives beside the others stands under a
name of its own. An input that is not there any more keeps what it gave, and counts as read first.
"""

from __future__ import annotations

import json
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kvforensics.carriers.archive import holder
from kvforensics.carriers.history import History, by_knowledge
from kvforensics.carriers.remote import is_remote
from kvforensics.errors import InputError
from kvforensics.records import Origins
from kvforensics.scan import marks, reading, store
from kvforensics.scan.atomic import CatalogueWriteError, write_bytes
from kvforensics.scan.fingerprint import begins_with
from kvforensics.scan.plan import Item, item_of, walk_order
from kvforensics.scan.work import entry_of, read_one

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.engine import Engine
    from kvforensics.scan.manifest import Entry, Span

Group = tuple["Entry", ...]


def settle(catalogue: Catalogue, engine: Engine) -> int:
    """Bring every entry to what its input gives beside all others; return how many are read together."""
    forget_renamed(catalogue)
    entries = reading_order(catalogue.manifest.done())
    groups = overlapping(catalogue, entries)
    grouped = {entry.path for group in groups for entry in group}
    alone = [entry for entry in entries if entry.path not in grouped and entry.piece != entry.key]
    _read_alone(catalogue, engine, alone)
    waiting = [group for group in groups if not _is_settled(catalogue, group)]
    for _, changed, error in engine.run(partial(read_group, str(catalogue.folder)), waiting):
        if error is not None:
            raise error
        for entry in changed or ():
            catalogue.manifest.put(entry)
    return len(grouped)


def reading_order(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in the order in which one run over all of their inputs reads them."""
    walked = sorted(entries, key=lambda entry: walk_order(entry.path))
    return [walked[place] for place in by_knowledge([entry.source.get("carrier") for entry in walked])]


def overlapping(catalogue: Catalogue, entries: Sequence[Entry]) -> list[Group]:
    """Return the groups of entries that hold the same records, in the order in which to read them."""
    found: list[Group] = []
    for places in _near(entries):
        near = [entries[place] for place in places]
        name = _name([part for entry in near for part in (entry.path, entry.key or "")])
        file = catalogue.folder / "overlaps" / f"{name}.json"
        try:
            sets: list[list[int]] = json.loads(file.read_bytes())
        except (OSError, ValueError):
            sets = _sharing(catalogue, near)
            write_bytes(json.dumps(sets).encode(), file)
        found += [tuple(near[place] for place in one) for one in sets]
    return found


def forget_renamed(catalogue: Catalogue) -> None:
    """Forget names that are not there any more where another input holds the same.

    It may have grown since, or been compressed.
    """
    entries = list(catalogue.manifest.done())
    gone = [entry for entry in entries if is_gone(entry)]
    names = {entry.path for entry in gone}
    live = [entry for entry in entries if entry.path not in names]
    prints = {entry.print or entry.key for entry in live}
    folders: dict[str, list[Entry]] = {}
    spans: dict[tuple[Span, ...], list[Entry]] = {}
    for entry in live:
        folders.setdefault(_folder(entry), []).append(entry)
        spans.setdefault(entry.spans, []).append(entry)
    for entry in gone:
        content = entry.print or entry.key
        if (
            content in prints
            or any(_holds(each, entry) for each in folders.get(_folder(entry), ()))
            or any(_is_repacked(catalogue, each, entry) for each in spans.get(entry.spans, ()))
        ):
            catalogue.manifest.drop(entry.path)
        else:
            prints.add(content)


def is_gone(entry: Entry) -> bool:
    """Whether an input on this machine's file system is not there any more."""
    if is_remote(entry.path):
        return False
    return not Path(holder(entry.path)).exists()


def read_group(folder: str, group: Group) -> list[Entry]:
    """Read a group of inputs that overlap; return the entries of those that could be read. In a worker."""
    place = Path(folder)
    history = History(Origins())
    changed: list[Entry] = []
    gone = [entry for entry in group if not _is_there(entry)]
    try:
        for entry in gone:
            _remember(history, place, entry)
        for entry in group:
            if entry in gone:
                continue
            name = _piece(group, entry)
            try:
                size = None if entry.print is None else entry.print.size
                taken = reading.read(entry.path, reading.options_of(entry.reading), size, history)
            except CatalogueWriteError:
                raise
            except (InputError, OSError):  # it went away just now
                _remember(history, place, entry)
                continue
            months = store.write(taken.intake, place, name)
            changed.append(replace(entry_of(entry, taken.intake, months), piece=name))
    finally:
        history.close()
    return changed


def _near(entries: Sequence[Entry]) -> list[list[int]]:
    """Group entries that may hold the same records by their times and hosts, or are the same content."""
    sets = marks.Sets(len(entries))
    first: dict[str | None, int] = {}
    for place, entry in enumerate(entries):
        sets.join(place, first.setdefault(entry.key, place))
    for group in marks.touching([entry.spans for entry in entries]):
        for place in group[1:]:
            sets.join(group[0], place)
    return sets.groups()


def _sharing(catalogue: Catalogue, near: Sequence[Entry]) -> list[list[int]]:
    distinct = list(dict.fromkeys(entry.key or "" for entry in near))
    frames: list[pl.DataFrame | None] = [store.read_marks(catalogue.folder, key) for key in distinct]
    sets = marks.Sets(len(near))
    for group in marks.sharing(frames):
        for place in group[1:]:
            one, other = (
                next(number for number, entry in enumerate(near) if entry.key == distinct[each])
                for each in (group[0], place)
            )
            sets.join(one, other)
    first: dict[str | None, int] = {}
    for number, entry in enumerate(near):
        sets.join(number, first.setdefault(entry.key, number))
    return sets.groups()


def _is_settled(catalogue: Catalogue, group: Group) -> bool:
    return all(
        (entry.piece == _piece(group, entry) and catalogue.has(entry)) or not _is_there(entry)
        for entry in group
    )


def _read_alone(catalogue: Catalogue, engine: Engine, entries: Sequence[Entry]) -> None:
    """Read inputs anew whose neighbours have left the catalogue."""
    there = [entry for entry in entries if _is_there(entry)]
    by_reading: dict[str, list[Entry]] = {}
    for entry in there:
        by_reading.setdefault(entry.reading, []).append(entry)
    for told, some in by_reading.items():
        jobs = [(Item(entry.path, entry.size, entry.stamp), None) for entry in some]
        work = partial(read_one, str(catalogue.folder), reading.options_of(told))
        for _, done, error in engine.run(work, jobs):
            if isinstance(error, CatalogueWriteError):
                raise error
            if done is not None and done[0].key is not None:
                catalogue.manifest.put(done[0])


def _piece(group: Group, entry: Entry) -> str:
    """Return the name of what an entry gives in its group: of all contents there, and its place."""
    return _name([part for each in group for part in (each.path, each.key or "")] + ["in", entry.path])


def _name(parts: Iterable[str]) -> str:
    text = json.dumps(list(parts)).encode()
    return blake2b(text, digest_size=16).hexdigest()


def _is_there(entry: Entry) -> bool:
    """Whether an input still is what was read."""
    if is_remote(entry.path):
        return True
    path = holder(entry.path)
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return False
    if Path(path).is_dir():
        return item_of(path).stamp == entry.stamp
    return (status.st_size, f"{status.st_mtime_ns}") == (entry.size, entry.stamp)


def _remember(history: History, place: Path, entry: Entry) -> None:
    frame = store.read_marks(place, entry.key or "")
    if frame is not None:
        history.remember(frame.drop("place"), store.source_of(entry.source, entry.path))


def _is_repacked(catalogue: Catalogue, entry: Entry, older: Entry) -> bool:
    """Whether an input is another one that was compressed, or unpacked, since it was read."""
    if any(entry.source.get(name) != older.source.get(name) for name in ("carrier", "lines", "layers")):
        return False
    one, other = (store.read_marks(catalogue.folder, each.key or "") for each in (entry, older))
    return one is not None and other is not None and one.equals(other)


def _holds(entry: Entry, older: Entry) -> bool:
    try:
        return older.print is not None and begins_with(Path(entry.path), older.print)
    except OSError:
        return False


def _folder(entry: Entry) -> str:
    return entry.path.rpartition("/")[0]
