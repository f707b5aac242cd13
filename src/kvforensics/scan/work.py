"""A scan: plan, read what is new, commit input by input, then reduce."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvforensics import __version__
from kvforensics.errors import KvforensicsError
from kvforensics.scan.fingerprint import Fingerprint, fingerprint
from kvforensics.scan.manifest import DONE, FAILED, Entry
from kvforensics.scan.plan import MEMBER, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvforensics.options import Options
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.engine import Engine


@dataclass(slots=True)
class Outcome:
    """What a scan did; counts of inputs."""

    planned: int = 0
    skipped: int = 0  # unchanged since they were read
    renamed: int = 0  # known content under another name
    read: int = 0
    failed: int = 0
    bytes: int = 0
    lines: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)  # path and reason


def scan(
    items: Sequence[Item],
    catalogue: Catalogue,
    engine: Engine,
    options: Options,
    *,
    retry_failed: bool = False,
    progress: Callable[[Outcome, Item], None] | None = None,
) -> Outcome:
    """Read every input that is new or changed into the catalogue. A failing input never stops the rest."""
    outcome = Outcome(planned=len(items))
    fresh = [item for item in items if not _is_known(item, catalogue, outcome, retry_failed=retry_failed)]
    known = {} if not fresh else {key: entry.rest for key, entry in catalogue.manifest.by_key().items()}
    job = partial(read_one, str(catalogue.folder), replace(options, progress=None), frozenset(known))
    for item, entry, error in engine.run(job, fresh):
        committed = entry if entry is not None else _failure(item, error)
        if committed.status == DONE and not committed.rest and committed.key in known:
            committed = replace(committed, rest=known[committed.key])
            outcome.renamed += 1
        catalogue.manifest.put(committed)
        _count(outcome, committed)
        if progress is not None:
            progress(outcome, item)
    return outcome


def read_one(folder: str, options: Options, known: frozenset[str], item: Item) -> Entry:
    """Read one input into the catalogue's datasets and return its manifest entry; runs in a worker.

    Content that is there already is not read again: its entry has no `rest`. An input that cannot be read
    gives a failed entry; an OSError (a share that went away) is raised, to be tried again.
    """
    from kvforensics import intake  # noqa: PLC0415 - workers import what they need
    from kvforensics.scan import store  # noqa: PLC0415

    try:
        print_ = _fingerprint(item)
        key = print_.key(reading(options, item)) if print_ else _key_of_stamp(item, options)
        if key in known:
            return _entry(item, key, print_)
        taken = intake.read([item.path], options)
        damage = taken.sources[0].damaged
        if "unreadable" in damage and not taken.records:
            return replace(_entry(item, None, print_), status=FAILED, error="could not be read")
        return replace(_entry(item, key, print_), rest=store.write(taken, Path(folder), key))
    except KvforensicsError as error:
        return replace(_entry(item, None, None), status=FAILED, error=error.message)


def reading(options: Options, item: Item) -> str:
    """Return what besides its bytes decides what reading an input gives."""
    member = item.path.partition(MEMBER)[2]
    return f"{__version__}:{options.tz}:{options.carrier or ''}:{member}"


def _is_known(item: Item, catalogue: Catalogue, outcome: Outcome, *, retry_failed: bool) -> bool:
    entry = catalogue.manifest.entries.get(item.path)
    if entry is None or entry.stamp is None or (entry.size, entry.stamp) != (item.size, item.stamp):
        return False
    if entry.status == FAILED:
        if retry_failed:
            return False
        outcome.failed += 1
        outcome.failures.append((entry.path, entry.error or "failed"))
        return True
    if entry.key is None or not catalogue.has(entry.key):
        return False
    outcome.skipped += 1
    return True


def _fingerprint(item: Item) -> Fingerprint | None:
    path = Path(item.path)
    return fingerprint(path) if path.is_file() else None


def _key_of_stamp(item: Item, options: Options) -> str:
    """Return the key of an input whose bytes are not at hand (an object, an archive's member)."""
    archive, bang, _ = item.path.rpartition(MEMBER)
    if bang and os.path.isfile(archive):  # noqa: PTH113 - the path stays as it was typed
        return fingerprint(Path(archive)).key(reading(options, item))
    return Fingerprint(item.size, item.path, item.stamp or "").key(reading(options, item))


def _entry(item: Item, key: str | None, print_: Fingerprint | None) -> Entry:
    return Entry(item.path, DONE, key=key, size=item.size, stamp=item.stamp, print=print_)


def _failure(item: Item, error: Exception | None) -> Entry:
    reason = str(error) or type(error).__name__
    return Entry(item.path, FAILED, size=item.size, stamp=item.stamp, error=reason.splitlines()[0])


def _count(outcome: Outcome, entry: Entry) -> None:
    if entry.status == FAILED:
        outcome.failed += 1
        outcome.failures.append((entry.path, entry.error or "failed"))
        return
    source: dict[str, Any] = entry.rest.get("source", {})
    outcome.read += 1
    outcome.bytes += source.get("bytes", 0)
    outcome.lines += source.get("lines", 0)
