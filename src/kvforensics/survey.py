"""What the inputs hold, whether or not any of it is SGLang's: the basis of `coverage` and `events`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kvforensics.analysis import Analysis
from kvforensics.assembly import coverage
from kvforensics.carriers import expand, open_source
from kvforensics.errors import InputError, NothingReadableError
from kvforensics.intake import read
from kvforensics.options import Options
from kvforensics.parsing import Parser
from kvforensics.records import Origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kvforensics.events import EventBlock
    from kvforensics.records import Source


class Batch(NamedTuple):
    """The events of some lines of one source; `sources` grows from batch to batch."""

    block: EventBlock
    sources: list[Source]
    origins: Origins


def open_logs(paths: Iterable[str], options: Options | None = None) -> Iterator[Batch]:
    """Yield the events of all inputs, block by block, in the order of their lines and in bounded memory.

    An input that cannot be read is told to `options.warn` and left out. Raises NothingReadableError when
    none could be read.
    """
    wanted = options or Options()

    def unreadable(error: InputError) -> None:
        if wanted.warn is not None:
            wanted.warn(str(error))

    yield from batches(paths, wanted, unreadable)


def survey(paths: Iterable[str], options: Options) -> Analysis:
    """Return an analysis without services: what was read, and how much of it was understood.

    Raises NothingReadableError when no input could be read.
    """
    intake = read(paths, options)
    return Analysis(tuple(intake.sources), coverage(intake), (), intake.origins)


def batches(
    paths: Iterable[str], options: Options, unreadable: Callable[[InputError], None]
) -> Iterator[Batch]:
    """Yield the events of all inputs in the order of their lines, in bounded memory.

    An input that cannot be read is told to `unreadable`. Raises NothingReadableError when none could be.
    """
    origins = Origins()
    sources: list[Source] = []
    failures: list[InputError] = []
    inputs = list(expand(paths))
    for path in inputs:
        try:
            opened = open_source(path, options, origins, len(sources))
            sources.append(opened.source)
            parser = Parser(len(sources) - 1, opened.source, origins, options.tz)
            for records in opened:
                yield Batch(parser.feed(records), sources, origins)
            yield Batch(parser.close(), sources, origins)
        except InputError as error:
            failures.append(error)
            unreadable(error)
    if len(failures) == len(inputs):
        if not failures:
            raise NothingReadableError(
                "no input was found", hint="name a file, a folder, or - for standard input"
            )
        raise NothingReadableError("no input could be read", hint="the reasons stand above")
