"""What it takes to read on where a reading of the same input ended, as if it had never stopped."""

from __future__ import annotations

from msgspec import Struct


class Continuing(Struct):
    """Says whether this reading goes on from an earlier one, and whether a later one may go on from it.

    A stage that still held something back at the end, or that had not seen enough to make its choice, says
    so: more bytes might have changed what it gave.
    """

    resumed: bool = False  # the beginning was read before: order and nesting are known to be plain
    held: bool = False  # a stage waited for more

    def wait(self) -> None:
        """Note that the end of the input cut something short."""
        self.held = True
