from typing import Any, TypeAlias

_Column: TypeAlias = tuple[Any, Any]  # capsules of Arrow's C interface: schema, array
_Form: TypeAlias = tuple[bytes, bytes, bytes, bool, tuple[bytes, ...], bytes]
_Layout: TypeAlias = tuple[bytes, tuple[bytes, ...], bytes]
_Part: TypeAlias = tuple[int, _Column, _Column, tuple[_Column, ...]]

PROGRAM: int

def are_printable(stream: object, /) -> bool: ...
def beginnings(stream: object, /) -> bytes | None: ...
def lines(data: bytes, /) -> _Column | None: ...
def scan(
    stream: object, forms: tuple[_Form, ...], layouts: tuple[_Layout, ...], /
) -> tuple[list[_Part], _Column, _Column, _Column] | None: ...
