"""Containers named by where their logs stand: the runtimes' files themselves do not say whose they are.

Kubelet: `…/pods/NAMESPACE_POD_UID/CONTAINER/0.log` and `…/containers/POD_NAMESPACE_CONTAINER-ID.log`; docker:
`…/containers/ID/ID-json.log`, rotated with a suffix. The same within an archive of such folders.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.nesting import within
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.carrier import Context

_NAME = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?"
_POD_FILE = re.compile(
    rf"(?:^|[/!])pods/{_NAME}_(?P<pod>{_NAME})_[0-9a-f-]{{32,36}}/(?P<container>{_NAME})/[0-9]+\.log(?:[.-][^/]*)?$"
)
_LINK = re.compile(
    rf"(?:^|[/!])containers/(?P<pod>{_NAME})_{_NAME}_(?P<container>{_NAME})-[0-9a-f]{{64}}\.log$"
)
_DOCKER_FILE = re.compile(r"(?:^|[/!])(?P<id>[0-9a-f]{64})/(?P=id)-json\.log(?:\.[0-9]+)?(?:\.gz)?$")
_SHORT_ID = 12


def container_of(path: str) -> str | None:
    """Return the container that a path names, as `POD/CONTAINER` or docker's short id."""
    for form in (_POD_FILE, _LINK):
        found = form.search(path)
        if found is not None:
            return f"{found['pod']}/{found['container']}"
    found = _DOCKER_FILE.search(path)
    return found["id"][:_SHORT_ID] if found is not None else None


def with_container(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    """Yield the frames, with the container of the path for records that name neither unit nor container."""
    container = container_of(context.source.path)
    if container is None or context.source.carrier not in ("cri", "docker-json"):
        yield from frames
        return
    known: dict[int, int] = {}
    for frame in frames:
        for number in frame["origin"].unique():
            if number not in known:
                known[number] = _named(number, container, context)
        yield frame.with_columns(pl.col("origin").replace_strict(known, return_dtype=pl.UInt32))


def _named(number: int, container: str, context: Context) -> int:
    origin = context.origins[number]
    if origin.unit is not None or origin.container is not None:
        return number
    return context.origins.intern(within(origin, Origin(container=container)))
