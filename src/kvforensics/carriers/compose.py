"""Output of `docker compose logs`: `SERVICE-1  | TEXT`, version 1 (`service_1`) and 2, coloured or not.

`docker service logs` names the node as well: `sglang.1.TASK@NODE    | TEXT`. With `-t` a stamp follows the
prefix; that is docker's own form and is read as a layer. Version 1 begins with `Attaching to …`, both say
`NAME exited with code N`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.frames import record_frame
from kvforensics.carriers.prefixed import ANSI, compiled, origin_numbers, peel, peeled_messages, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}"
_HEAD = rf"^{ANSI}*(?P<name>{_NAME})(?:@(?P<host>[A-Za-z0-9.-]{{1,255}}))? +\|"
_PATTERN = rf"{_HEAD}(?:(?:{ANSI} | \x1b\[0?m| )(?P<message>.*)|{ANSI}*)$"
_EXIT = rf"^{ANSI}*(?P<name>{_NAME}) exited with code [0-9]+{ANSI}*$"
_LINE = compiled(rf"{_HEAD}(?:{ANSI}* |{ANSI}*$)")
_OWN = compiled(rf"^{ANSI}*(?:Attaching to |{_NAME} exited with code [0-9])")


class Compose:
    """One record a line, the service's container as its origin."""

    name = "compose"

    def score(self, head: Head) -> float:
        """Return the share of lines behind a name and a bar, compose's own ones beside them."""
        return share(head.lines, _LINE, _OWN) if share(head.lines, _LINE) else 0.0

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; compose's own lines keep their text, an exit belongs to its container."""
        names: dict[str, None] = {}
        for block in blocks:
            lines = block.text()
            parts = peel(lines, _PATTERN)
            known = parts["name"].is_not_null()
            parts = parts.with_columns(pl.when(known).then(pl.col("message").fill_null("")).alias("message"))
            exited = peel(lines, _EXIT)["name"]
            container = _containers(parts["name"], exited, names)
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "origin": origin_numbers(
                        context.origins, {"host": parts["host"], "container": container}
                    ),
                    "message": peeled_messages(parts, lines),
                    "damage": block.damage(),
                },
            )


def _containers(prefixed: pl.Series, exited: pl.Series, names: dict[str, None]) -> pl.Series:
    """Name the container of each line; `names` holds those seen so far, and grows."""
    if exited.null_count() == len(exited):
        _remember(names, prefixed)
        return prefixed
    containers = prefixed.to_list()
    for row, (name, gone) in enumerate(zip(containers, exited, strict=True)):
        if name is not None:
            _remember(names, [name])
        elif gone is not None:
            containers[row] = _short_name(gone, names)
    return pl.Series("name", containers, dtype=pl.String)


def _remember(names: dict[str, None], seen: pl.Series | list[str]) -> None:
    for name in seen.drop_nulls().unique(maintain_order=True) if isinstance(seen, pl.Series) else seen:
        if len(names) < 1000:  # noqa: PLR2004 - a project has a handful
            names[name] = None


def _short_name(gone: str, names: dict[str, None]) -> str:
    """Version 1 names the container with its project when it exits, and without it in the prefix."""
    ends = [name for name in names if gone == name or gone.endswith((f"_{name}", f"-{name}"))]
    return max(ends, key=len, default=gone)
