"""Which service an item belongs to: by unit, by container, by the stream of a host, or by the files alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kvforensics.launches import units
from kvforensics.launches.group import Group
from kvforensics.launches.items import by_source
from kvforensics.launches.keys import Key, says_sglang
from kvforensics.launches.kinds import HOST_WIDE, WEAK, is_systemd, proves_sglang
from kvforensics.launches.rivals import parted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from kvforensics.events import Event
    from kvforensics.launches.items import Item
    from kvforensics.records import Origin, Origins, Source

_NO_SERVICE = re.compile(r"init\.scope|session-.*\.scope|user@[0-9]+\.service|user\.slice|-\.slice")
_ENGINES = re.compile(r"(.*(docker|containerd|crio|cri-o|podman|k3s|kubelet|rke2)[^/]*\.service)|.*\.scope")
_TASK = re.compile(r"task [0-9]+")  # srun's labels: the tasks of a job are the nodes of one server
NEWEST_KEPT = 5000  # events that are kept though no server is known yet that they concern


def split(
    by_source: Mapping[int, Sequence[Item]], sources: Sequence[Source], origins: Origins
) -> list[Group]:
    """Split items into services; what is no SGLang server's is left out."""
    keyed = [(key_of(item, origins), item) for items in by_source.values() for item in items]
    names = units.of_streams(keyed, sources, origins)
    if names:
        keyed = [(_renamed(key, item, names), item) for key, item in keyed]
    proven = _proven(keyed, origins)
    by_key: dict[Key, Group] = {}
    for key, item in keyed:
        if key in proven:
            by_key.setdefault(key, Group(key)).add(item)
    groups = [part for group in by_key.values() for part in parted(group, sources, origins)]
    for key, item in keyed:
        if key is None:
            for group in _concerned(item, origins, groups):
                (group.add if _means_it(item) else group.host_wide.append)(item)
    place = {id(item): index for index, (_, item) in enumerate(keyed)}
    for group in groups:
        for items in group.items.values():
            items.sort(key=lambda item: place[id(item)])
    return sorted(groups, key=lambda group: tuple(part or "" for part in group.key))


def relevant(
    events: Sequence[Event], sources: Sequence[Source], origins: Origins, stretches: pl.DataFrame
) -> list[Event]:
    """Return the events that concern an SGLang server, and the newest ones, whose server may yet speak."""
    kept: set[int] = {id(event) for event in events[-NEWEST_KEPT:]}
    for group in split(by_source(events, stretches, None), sources, origins):
        for items in (*group.items.values(), group.host_wide):
            kept.update(id(item.event) for item in items if item.event is not None)
    return [event for event in events if id(event) in kept]


def _renamed(key: Key | None, item: Item, names: Mapping[tuple[Key, int | None], Key]) -> Key | None:
    if key is None:
        return None
    return names.get((key, item.group)) or names.get((key, None)) or key


def key_of(item: Item, origins: Origins) -> Key | None:
    """Return what the item says of its service; None for what concerns a whole host."""
    origin = origins[item.origin]
    event = item.event
    if event is not None:
        named = event.fields.get("unit") or event.fields.get("unit_name")
        if named and is_systemd(event.kind):
            unit = str(named)
            return Key(host=origin.host, unit=unit if "." in unit else f"{unit}.service")
        if event.kind in HOST_WIDE or is_systemd(event.kind):
            return None
    if runs_in_container(origin):
        return Key(host=origin.host, container=origin.container)
    if is_service(origin.unit):
        return Key(host=origin.host, unit=origin.unit)
    return Key(host=origin.host, stream="" if _TASK.fullmatch(origin.ident or "") else origin.ident or "")


def runs_in_container(origin: Origin) -> bool:
    """Whether the container names the service: not where a unit of its own runs the container (quadlets)."""
    if origin.container is None:
        return False
    own = is_service(origin.unit) and _ENGINES.fullmatch(origin.unit or "") is None
    return not own


def is_service(unit: str | None) -> bool:
    """Whether a unit can be a server's: not the manager's own scope and not a login session."""
    return unit is not None and not _NO_SERVICE.fullmatch(unit)


def _proven(keyed: Iterable[tuple[Key | None, Item]], origins: Origins) -> set[Key]:
    """Return the keys of which an item is surely SGLang's; `run`s count only where nothing else proves."""
    sure: set[Key] = set()
    likely: set[Key] = set()
    for key, item in keyed:
        if key is None or key in sure:
            continue
        if item.hot is not None:
            if any(item.hot[name] for name in ("prefills", "decodes", "retractions")) or _refused(item):
                sure.add(key)
        elif item.event is not None:
            if proves_sglang(item.event.kind) or (
                item.event.kind in WEAK and _names_sglang(item, origins[item.origin], key)
            ):
                sure.add(key)
        elif item.run is not None and item.run["ours"]:
            likely.add(key)
    return sure | likely


def _refused(item: Item) -> bool:
    hot = item.hot or {}
    return any(value for name, value in hot.items() if name.startswith("refused"))


def _names_sglang(item: Item, origin: Origin, key: Key) -> bool:
    text = item.event.text if item.event is not None else None
    message = str(item.event.fields.get("message", "")) if item.event is not None else ""
    names = (text, message, origin.cmdline, key.unit, key.container, origin.ident)
    return any(part in name.lower() for name in names if name for part in ("sglang", "launch_server"))


def _means_it(item: Item) -> bool:
    """Whether a line of systemd 247 that names no unit, only its description, is about the server."""
    if item.event is None or not is_systemd(item.event.kind) or item.event.kind in HOST_WIDE:
        return False
    return says_sglang(str(item.event.fields.get("description", "")))


def _concerned(item: Item, origins: Origins, groups: list[Group]) -> list[Group]:
    host = origins[item.origin].host
    return [g for g in groups if g.key.host == host and (host is not None or item.source in g.items)]
