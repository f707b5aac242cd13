"""Damage, seeded: to bytes, to the text of a line, and to the lines of a log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

PIECES = (
    b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"\xe2\x96", b"\x1b[31m", b"\x1b]8;;http://x\x07", b"\xe2\x80\xae",
    b"{", b"}", b"[", b"]", b'"', b"\\", b"'", b"(", b")", b": ", b", ", b"=", b" | ", b"> ", b"#033", b"\xef\xbb\xbf",
    b"9" * 25, b"-1", b"1e999", b"nan", b"\xd9\xa3", b"server_args=ServerArgs(", b"MESSAGE\n\x05\0\0\0\0\0\0\0a\n\nbc\n",
    b"MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff", b"__CURSOR=s=a\n", b"__REALTIME_TIMESTAMP=1796062994326621\n",
    b'{"log":"', b'{"MESSAGE":[1,2,300]}\n', b"2026-05-20T14:03:11.123456789Z ", b"stderr P ", b"sglang-1  | ", b" 3: ",
    b"<30>1 ", b"(A pid=1) ", b"[rank0]: ", b"[2026-05-20 14:03:11 TP0] ", b"99:99:99", b"9999-99-99T99:99:99Z ",
)  # fmt: skip


def of_bytes(data: bytes, chance: random.Random, most: int = 8) -> bytes:
    """Return bytes with up to `most` of them changed, dropped, doubled, moved, put in, or cut off."""
    made = bytearray(data)
    for _ in range(chance.randint(0, most)):
        at = chance.randrange(len(made) + 1)
        length = chance.choice((1, 1, 2, 7, 60, 500))
        other = chance.randrange(len(made) + 1)
        match chance.randrange(8):
            case 0 if made:
                made[at % len(made)] = chance.randrange(256)
            case 1:
                del made[at : at + length]
            case 2:
                made[at:at] = chance.choice(PIECES)
            case 3:
                made[at:at] = made[other : other + length]
            case 4:
                piece = made[at : at + length]
                del made[at : at + length]
                made[other:other] = piece
            case 5:
                made[at : at + 1] = chance.randbytes(chance.randint(0, 4))
            case 6:
                del made[at:]
            case _:
                end = made.find(b"\n", at)
                del made[end : end + (end >= 0)]
    return bytes(made)


def of_text(text: str, chance: random.Random, most: int = 4) -> str:
    """Return a line that was damaged as bytes are."""
    return of_bytes(text.encode("utf-8", "surrogatepass"), chance, most).decode("utf-8", "replace")


_HOUR = re.compile(r"^[^\[]*|\[20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:")


def _hours(line: str) -> set[str]:
    """Return how a line begins, and the hours of all records in it: two may be glued."""
    return set(_HOUR.findall(line))


class Damaged(NamedTuple):
    """A log that was damaged, and whether every line still stands in its order."""

    lines: list[str]
    in_order: bool


def of_lines(lines: Sequence[str], chance: random.Random) -> Damaged:
    """Return a log with some of its lines dropped, doubled, swapped, cut, or glued to another.

    Swaps stay within one hour of the log's own time: beyond that it is the clock that went back, and order counts.
    """
    made, in_order = list(lines), True
    for _ in range(chance.randint(1, 6)):
        if not made:
            break
        at = chance.randrange(len(made))
        match chance.randrange(6):
            case 0:
                del made[at]
            case 1:
                made.insert(at, made[at])
            case 2 if at + 1 < len(made) and _hours(made[at]) == _hours(made[at + 1]):
                made[at], made[at + 1] = made[at + 1], made[at]
                in_order = False
            case 3:
                made[at] = made[at][: chance.randrange(len(made[at]) + 1)]
            case 4 if at + 1 < len(made):
                made[at : at + 2] = [made[at] + made[at + 1]]
            case _:
                del made[at : at + chance.randint(1, 4)]
    return Damaged(made, in_order)
