"""Output of `kubectl logs --prefix`: `[pod/NAME/CONTAINER] TEXT`, with `--timestamps` a time behind that.

The contract has no name of its own for it: it is `docker-text`, as `kubectl logs --timestamps` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.carriers.frames import record_frame
from kvforensics.carriers.prefixed import compiled, origin_numbers, peel, peeled_messages, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

_PATTERN = r"^\[pod/(?P<pod>[^/\] ]+)/(?P<container>[^\] ]+)\] (?P<message>.*)$"
_LINE = compiled(r"^\[pod/[^/\] ]+/[^\] ]+\] ")


class Kubectl:
    """One record a line, `POD/CONTAINER` as its container."""

    name = "docker-text"

    def score(self, head: Head) -> float:
        """Return the share of lines behind a pod's name."""
        return share(head.lines, _LINE)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; a time behind the prefix is left to the layer below."""
        for block in blocks:
            lines = block.text()
            parts = peel(lines, _PATTERN)
            container = parts["pod"] + "/" + parts["container"]
            yield record_frame(
                context,
                {
                    "line": block.numbers(),
                    "origin": origin_numbers(context.origins, {"container": container}),
                    "message": peeled_messages(parts, lines),
                    "damage": block.damage(),
                },
            )
