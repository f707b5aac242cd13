"""Servers beside one another in plain files: told apart by the files, since nothing else names them.

Files without host, unit and process are one history in the order of their times, unless two of them show a
server that starts while the other's is running. Then each file is a service, but for what belongs together:
an excerpt and its log, the pieces of a rotated log, the nodes of one server, a server's second stream, and
files of the same folder, port and model whose times nowhere overlap.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
    from datetime import datetime

    from kvforensics.launches.group import Group
    from kvforensics.launches.items import Item
    from kvforensics.records import Origins, Source

_OVERLAP = timedelta(seconds=30)  # less is a server's last words beside the next one's first
_ROTATED = re.compile(
    r"([.-][0-9]{1,3}|[.-][0-9]{4}-?[0-9]{2}-?[0-9]{2}([-_T.]?[0-9]{2,6})?|\.(gz|xz|bz2|zst|old))+$"
)
_STARTS = frozenset({"server_args", "ready"})


class _File(Struct, frozen=True):
    """What one file shows of its server."""

    source: int
    path: str
    first: datetime | None
    last: datetime | None
    times: tuple[datetime, ...]  # of its events, and where its other lines begin and end
    starts: bool
    fresh: int  # records
    repeated: int  # records that files read before gave already
    whole: int  # the file of which this is an excerpt, else this one
    names: frozenset[Hashable]  # (port, model) of each start
    nodes: frozenset[Hashable]  # where the nodes of a server of several meet


def parted(group: Group, sources: Sequence[Source], origins: Origins) -> list[Group]:
    """Return the services that a group's files hold: the group itself where none is beside another."""
    if len(group.items) == 1 or not _is_nameless(group, origins):
        return [group]
    files = _with_wholes([_file(n, items, sources[n]) for n, items in sorted(group.items.items())])
    starting = [file for file in files if file.starts]
    if not any(_beside([a], [b]) for n, a in enumerate(starting) for b in starting[:n]):
        return [group]
    bundles = _together([[file] for file in files], lambda file: file.whole)
    bundles = _together(bundles, lambda file: _series(file.path))
    bundles = _together(bundles, lambda file: file.nodes or None, beside=True)
    bundles = _together(bundles, lambda file: (_folder(file.path), file.names) if file.names else None)
    bundles = _with_silent(bundles)
    return [replace(group, items={f.source: group.items[f.source] for f in bundle}) for bundle in bundles]


def _is_nameless(group: Group, origins: Origins) -> bool:
    key = group.key
    if key.host is not None or key.unit is not None or key.container is not None:
        return False
    return all(origins[item.origin].pid is None for items in group.items.values() for item in items)


def _file(number: int, items: Sequence[Item], source: Source) -> _File:
    times = [at for item in items for at in (item.at, item.last_at) if at is not None]
    values = [
        item.event.fields.get("values") or {}
        for item in items
        if item.event is not None and item.kind == "server_args"
    ]
    return _File(
        source=number,
        path=source.path,
        first=min(times, default=None),
        last=max(times, default=None),
        times=tuple(times),
        starts=any(item.kind in _STARTS for item in items),
        fresh=source.records - source.repeated,
        repeated=source.repeated,
        whole=number,
        names=frozenset((str(v.get("port")), str(v.get("model_path"))) for v in values),
        nodes=frozenset(str(v["dist_init_addr"]) for v in values if _is_node(v)),
    )


def _is_node(values: dict[str, Any]) -> bool:
    nodes = values.get("nnodes")
    return isinstance(nodes, int) and nodes > 1 and values.get("dist_init_addr") is not None


def _beside(one: Iterable[_File], other: Sequence[_File]) -> bool:
    """Whether a server of one starts or serves while one of the other does, and is no node of it."""
    return any(_overlap(a, b) and not a.nodes & b.nodes and a.whole != b.whole for a in one for b in other)


def _with_wholes(files: Sequence[_File]) -> list[_File]:
    """Tell of each excerpt which file it is of: one read later, of which just these records were known."""
    wholes: dict[int, int] = {}
    for whole in files:
        parts = [file for file in files if file is not whole and _around(whole, file)]
        if whole.repeated and whole.repeated == sum(part.fresh for part in parts):
            wholes |= {part.source: whole.source for part in parts}
    return [replace(file, whole=wholes.get(file.source, file.source)) for file in files]


def _around(a: _File, b: _File) -> bool:
    """Whether what is left of a file lies before and behind another, and nothing of it beside."""
    if a.first is None or a.last is None or b.first is None or b.last is None:
        return False
    return a.first <= b.first and b.last <= a.last and not any(b.first < at < b.last for at in a.times)


def _overlap(a: _File, b: _File) -> bool:
    if a.first is None or a.last is None or b.first is None or b.last is None:
        return False
    return min(a.last, b.last) - max(a.first, b.first) > _OVERLAP


def _together(
    bundles: list[list[_File]], of: Callable[[_File], Hashable | None], *, beside: bool = False
) -> list[list[_File]]:
    """Join the bundles that share what `of` says, unless two of them are beside each other."""
    shared: dict[Hashable, list[list[_File]]] = {}
    for number, bundle in enumerate(bundles):
        known = next((name for name in map(of, bundle) if name is not None), None)
        shared.setdefault(("own", number) if known is None else ("shared", known), []).append(bundle)
    joined: list[list[_File]] = []
    for alike in shared.values():
        apart = any(_beside(a, b) for n, a in enumerate(alike) for b in alike[:n])
        joined += alike if apart and not beside else [[file for bundle in alike for file in bundle]]
    return joined


def _with_silent(bundles: list[list[_File]]) -> list[list[_File]]:
    """Give a file without a start (a second stream, a rank's own) to the only server that it can be of."""
    speaking = [list(bundle) for bundle in bundles if any(file.starts for file in bundle)]
    left: list[list[_File]] = []
    for bundle in bundles:
        if any(file.starts for file in bundle):
            continue
        owner = next(_owners(bundle, speaking), None)
        if owner is None:
            left.append(bundle)
        else:
            owner.extend(bundle)
    return speaking + left


def _owners(bundle: list[_File], speaking: list[list[_File]]) -> Iterator[list[_File]]:
    for near in (_stem, _folder):
        own = {near(file.path) for file in bundle}
        found = [one for one in speaking if own & {near(file.path) for file in one}]
        if len(found) == 1:
            yield found[0]


def _series(path: str) -> str:
    """Return the path without what log rotation and compression put behind it."""
    return _ROTATED.sub("", path)


def _stem(path: str) -> str:
    return str(PurePosixPath(_series(path)).with_suffix(""))


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)
