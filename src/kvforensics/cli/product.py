"""Where the product of a command goes: standard output, or a file that is whole or not there at all."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, RawIOBase, StringIO, TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

from kvforensics.cli.options import Document
from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from kvforensics.report.terminal.page import Page

READER_WENT_AWAY = 141  # 128 + SIGPIPE, what a shell says of a program that such a write ended


def document_format(chosen: Document | None, output: str | None) -> Document:
    """Return the format: the one chosen, else what the file's ending says, else text."""
    if chosen is not None:
        return chosen
    return Document.JSON if output is not None and output.lower().endswith(".json") else Document.TEXT


def write_text(text: str, output: str | None) -> None:
    """Write a finished text."""
    with product(output) as stream:
        stream.write(text.encode())


def write_page(
    draw: Callable[["Page"], None], output: str | None, *, width: int | None, no_color: bool
) -> None:
    """Write what `draw` draws on a page as wide and as colourful as its place allows."""
    from kvforensics.report.terminal.page import Page

    if output in {None, "-"}:
        with _reader_may_leave():
            stream = _standard_output()
            draw(Page.on(stream, width=width, color=False if no_color else None))
            stream.flush()
        return
    made = StringIO()
    draw(Page.on(made, width=width or 100, color=False))
    write_text(made.getvalue(), output)


@contextmanager
def product(output: str | None) -> Iterator[IO[bytes]]:
    """Open the product for bytes; a file appears under its name only when it is complete."""
    if output is None or output == "-":
        with _reader_may_leave():
            out = _standard_output()
            yield out.buffer
            out.flush()
        return
    target = Path(output)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    place = (
        target if target.exists() and not target.is_file() else beside
    )  # a pipe or a device is written as it is
    try:
        with place.open("wb") as stream:
            yield stream
        if place is beside:
            beside.replace(target)
    except OSError as error:
        raise UsageError(
            f"cannot write: {error.strerror or error}", where=output, hint="name another file with -o"
        ) from error
    finally:
        if place is beside:
            with suppress(OSError):
                beside.unlink(missing_ok=True)


def _standard_output() -> TextIO:
    """Return standard output, buffered even under PYTHONUNBUFFERED: a raw pipe may take part of a write."""
    stream = sys.stdout
    if isinstance(getattr(stream, "buffer", None), RawIOBase):
        stream = TextIOWrapper(BufferedWriter(stream.buffer), encoding=stream.encoding)
        sys.stdout = stream
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # what is still buffered has to go somewhere at exit
        raise SystemExit(READER_WENT_AWAY) from None
