"""A scan: read what is new, commit input by input, then read together what overlaps."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from kvforensics import __version__
from kvforensics.carriers.archive import holder
from kvforensics.errors import KvforensicsError
from kvforensics.scan.atomic import CatalogueWriteError
from kvforensics.scan.fingerprint import Fingerprint, begins_with, fingerprint
from kvforensics.scan.manifest import DONE, FAILED, Entry
from kvforensics.scan.plan import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kvforensics.intake import Intake
    from kvforensics.options import Options
    from kvforensics.scan.catalogue import Catalogue
    from kvforensics.scan.engine import Engine
    from kvforensics.scan.reading import Taken

NEW, CONTINUED, KNOWN = "new", "continued", "known"
Job = tuple[Item, Entry | None]  # an input, and what the catalogue has under its name


class Outcome(Struct):
    """What a scan did; counts of inputs."""

    planned: int = 0
    skipped: int = 0  # unchanged since they were read
    renamed: int = 0  # known content under another name
    continued: int = 0  # grown, and read from where they ended
    read: int = 0  # read from the beginning
    failed: int = 0
    bytes: int = 0
    lines: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)  # path and reason

    @property
    def worked(self) -> int:
        """Number of inputs that were looked at, the failed ones too."""
        return self.renamed + self.continued + self.read + self.failed

    @property
    def nothing_read(self) -> bool:
        """Whether there was an input and none could be read."""
        return self.failed > 0 and not (self.skipped or self.renamed or self.continued or self.read)


def scan(
    items: Sequence[Item],
    catalogue: Catalogue,
    engine: Engine,
    options: Options,
    *,
    retry_failed: bool = False,
    progress: Callable[[Outcome, Item], None] | None = None,
) -> Outcome:
    """Read every input that is new or changed into the catalogue. A failing input never stops the rest.

    Raises CatalogueWriteError where the catalogue takes no more.
    """
    outcome = Outcome(planned=len(items))
    told = reading(options)
    jobs = _jobs(items, catalogue, outcome, told, retry_failed=retry_failed, progress=progress)
    work = partial(read_one, str(catalogue.folder), replace(options, progress=None, warn=None))
    for (item, _), done, error in engine.run(work, jobs):
        if isinstance(error, CatalogueWriteError):
            raise error
        entry, how = done if done is not None else (_failure(item, error, told), NEW)
        catalogue.manifest.put(entry)
        _count(outcome, entry, how)
        if progress is not None:
            progress(outcome, item)
    return outcome


def read_one(folder: str, options: Options, job: Job) -> tuple[Entry, str]:
    """Read one input into the catalogue's datasets; return its entry and how it was read. Runs in a worker.

    An input that cannot be read gives a failed entry; an OSError (a share that went away) is raised, to be
    tried again.
    """
    from kvforensics.scan import reading as readings  # noqa: PLC0415 - workers import what they need
    from kvforensics.scan import store  # noqa: PLC0415

    item, known = job
    told, place = reading(options), Path(folder)
    if item.error is not None:
        return _failed(item, item.error, told), NEW
    try:
        print_ = fingerprint(Path(item.path)) if Path(item.path).is_file() else None
        key = _key(item, print_, told)
        told_apart = print_ is not None or item.stamp is not None
        if told_apart and store.is_whole(place, key) and (place / "marks" / f"{key}.parquet").exists():
            return _known(place, item, key, print_, told), KNOWN
        taken = None
        if print_ and known and known.print and known.key and _has_grown(item, print_, known, told, place):
            taken = readings.go_on(item.path, options, print_.size, place, known.key, known.spans)
        how = NEW if taken is None else CONTINUED
        if taken is None:
            taken = readings.read(item.path, options, print_.size if print_ else None)
        if "unreadable" in taken.intake.sources[0].damaged and not taken.intake.records:
            return _failed(item, "could not be read", told), how
        return _stored(place, item, key, print_, told, taken), how
    except CatalogueWriteError:
        raise
    except KvforensicsError as error:
        return _failed(item, error.message, told), NEW


def reading(options: Options) -> str:
    """Return what besides its bytes decides what reading an input gives: releases and options."""
    from kvforensics.scan.reading import options_text  # noqa: PLC0415

    return f"{__version__}:{pl.__version__}:{options_text(options)}"


def entry_of(entry: Entry, intake: Intake, months: Iterable[str]) -> Entry:
    """Return an entry with what an intake of its input says."""
    from kvforensics.report.plain import plain  # noqa: PLC0415

    return replace(
        entry,
        source=plain(intake.sources[0]),
        counts={name: getattr(intake, name) for name in ("records", "understood", "unknown")},
        months=tuple(months),
        hosts=_hosts(intake),
    )


def _jobs(
    items: Sequence[Item],
    catalogue: Catalogue,
    outcome: Outcome,
    told: str,
    *,
    retry_failed: bool,
    progress: Callable[[Outcome, Item], None] | None,
) -> Iterator[Job]:
    for item in items:
        entry = catalogue.manifest.entries.get(item.path)
        if entry is not None and _is_unchanged(item, entry, told):
            if entry.status == DONE and catalogue.has(entry):
                outcome.skipped += 1
                if progress is not None:
                    progress(outcome, item)
                continue
            if entry.status == FAILED and not retry_failed:
                outcome.failed += 1
                outcome.failures.append((entry.path, entry.error or "failed"))
                continue
        yield item, entry


def _is_unchanged(item: Item, entry: Entry, told: str) -> bool:
    same = entry.stamp is not None and (entry.size, entry.stamp) == (item.size, item.stamp)
    return same and entry.reading == told


def _has_grown(item: Item, print_: Fingerprint, known: Entry, told: str, place: Path) -> bool:
    from kvforensics.scan import store  # noqa: PLC0415

    return (
        known.print is not None
        and known.key is not None
        and known.reading == told
        and known.print.size < print_.size
        and store.is_whole(place, known.key)
        and begins_with(Path(item.path), known.print)
    )


def _stored(place: Path, item: Item, key: str, print_: Fingerprint | None, told: str, taken: Taken) -> Entry:
    from kvforensics.scan import store  # noqa: PLC0415

    store.write_marks(taken.marks, place, key)
    extra = (
        {"go_on": taken.resume, "spans": taken.spans} if taken.resume is not None else {"spans": taken.spans}
    )
    months = store.write(taken.intake, place, key, extra)
    entry = _entry(item, key, print_, told)
    return replace(entry_of(entry, taken.intake, months), spans=taken.spans)


def _known(place: Path, item: Item, key: str, print_: Fingerprint | None, told: str) -> Entry:
    """Return the entry of content that is there already, under the name that it has now."""
    from kvforensics.scan import store  # noqa: PLC0415

    intake, rest = store.read(place, key, item.path), store.rest_of(place, key)
    spans = tuple(tuple(span) for span in rest["extra"]["spans"])
    return replace(entry_of(_entry(item, key, print_, told), intake, rest["months"]), spans=spans)


def _key(item: Item, print_: Fingerprint | None, told: str) -> str:
    """Return the name of what reading an input gives: its content, how it is read, what its path tells."""
    from kvforensics.carriers.log_paths import container_of  # noqa: PLC0415

    how = f"{told}:{container_of(item.path) or ''}"
    if print_ is not None:
        return print_.key(how)
    archive = holder(item.path)
    if archive != item.path:
        return fingerprint(Path(archive)).key(f"{how}:{item.path[len(archive) + 1 :]}")
    # its bytes are not at hand: an object, a folder of journal files
    return Fingerprint(item.size, item.path, item.stamp or "").key(how)


def _entry(item: Item, key: str, print_: Fingerprint | None, told: str) -> Entry:
    return Entry(
        item.path, DONE, key=key, piece=key, size=item.size, stamp=item.stamp, print=print_, reading=told
    )


def _failed(item: Item, reason: str, told: str) -> Entry:
    return Entry(item.path, FAILED, size=item.size, stamp=item.stamp, error=reason, reading=told)


def _failure(item: Item, error: Exception | None, told: str) -> Entry:
    reason = str(error) or type(error).__name__
    return _failed(item, reason.splitlines()[0], told)


def _hosts(intake: Intake) -> tuple[str | None, ...]:
    """Return the hosts that wrote anything which may be a server's; None where nobody says who it was."""
    buckets, records, _ = intake.samples.parts()
    told = {event.origin for event in intake.events}
    told.update(buckets["origin"].unique(), records.filter(pl.col("ours") > 0)["origin"].unique())
    return tuple(sorted({intake.origins[number].host for number in told}, key=lambda host: host or ""))


def _count(outcome: Outcome, entry: Entry, how: str) -> None:
    if entry.status == FAILED:
        outcome.failed += 1
        outcome.failures.append((entry.path, entry.error or "failed"))
        return
    source: dict[str, Any] = entry.source
    match how:
        case "known":
            outcome.renamed += 1
        case "continued":
            outcome.continued += 1
        case _:
            outcome.read += 1
    outcome.bytes += source.get("bytes", 0)
    outcome.lines += source.get("lines", 0)
