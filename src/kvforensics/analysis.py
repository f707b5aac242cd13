"""The whole, as one frozen object: what every view draws. Views compute nothing.

`analyse` is the one way to get it: it drives the stages in their order, and holds no rule itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from kvforensics.events import Event
    from kvforensics.findings.finding import Finding
    from kvforensics.launches import Launch
    from kvforensics.options import Options
    from kvforensics.records import Origins, Place, Source
    from kvforensics.sizing.budget import Budget
    from kvforensics.verdicts.verdict import Verdict


class Shape(Struct, frozen=True):
    """An unknown line shape in the whole input."""

    shape: str
    count: int
    first: Place


class Damaged(Struct, frozen=True):
    """One kind of damage in the whole input."""

    kind: str
    count: int
    first: Place


class Coverage(Struct, frozen=True):
    """How much of the input was understood: understood + unknown == records."""

    records: int
    understood: int
    unknown: int
    unknown_shapes: tuple[Shape, ...] = ()
    damaged: tuple[Damaged, ...] = ()


class Service(Struct, frozen=True):
    """One server's history. `launches` are in time order; `verdicts` hold the changes."""

    id: str
    host: str | None
    unit: str | None
    launches: tuple[Launch, ...]
    budgets: Mapping[str, Budget] = field(default_factory=dict)  # by launch id
    verdicts: tuple[Verdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    trail: tuple[Event, ...] = ()  # what belongs to no launch: sudo edits, restarts, reloads


class Analysis(Struct, frozen=True):
    """Everything known about the inputs."""

    sources: tuple[Source, ...]
    coverage: Coverage
    services: tuple[Service, ...]
    origins: Origins
    samples: pl.DataFrame | None = None  # scheduler samples, bucketed; schema in samples.py

    @property
    def is_problem(self) -> bool:
        """Whether any finding is a warning or an error."""
        return any(f.severity in ("warning", "error") for s in self.services for f in s.findings)


def analyse(paths: Iterable[str], options: Options | None = None) -> Analysis:
    """Read all inputs and judge what happened.

    `paths` are files, folders (their files, recursively) and `-` for standard input. The same inputs give
    the same analysis, in whatever order they are named and wherever a log was cut in two, except for
    `sources` and the places of evidence. A part of an input that cannot be read is damage in `coverage`.

    Raises NothingReadableError when no input could be read, NoLaunchError when they hold no SGLang launch
    (or none that the options ask for), UsageError for options that cannot be carried out.
    """
    from kvforensics.assembly import assemble  # noqa: PLC0415 - types of this module are read by light code

    return assemble(paths, options)
