"""Which releases could have printed a launch: told from its settings and the forms of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.knowledge.history import all_names, fields
from kvforensics.knowledge.releases import VersionRange, releases, spanning, within
from kvforensics.knowledge.signs import signs_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kvforensics.events import Event
    from kvforensics.knowledge.signs import Sign

_NEAR = 0.06  # a whole config differs from a release's in fewer of its fields; else it is a part of one


def version_range(
    names: Collection[str],
    *,
    truncated: bool = False,
    form: str | None = None,
    events: Iterable[Event] = (),
    lines: Iterable[str] = (),
) -> VersionRange | None:
    """Return the releases that fit, or None where nothing tells.

    `names` are the fields of `server_args=`, `form` its form (repr or dict), `events` the launch's rare
    events, `lines` texts of its Prefill and Decode lines. Names that no release has (a fork's) do not
    count. Of a truncated config only what is there counts, not what is absent. Where fields and lines
    disagree, the fields win.
    """
    shown = signs_in(events, lines)
    by_lines = _by_signs(shown)
    if form is not None:
        until, since = ("0.5.18", None) if form == "repr" else (None, "0.5.19")
        in_form = tuple(name for name in releases() if within(name, since, until))
        by_lines = tuple(name for name in by_lines if name in in_form) or in_form
    by_fields = _by_fields(frozenset(names) & all_names(), truncated=truncated)
    if by_fields is not None:
        both = [name for name in by_fields if name in by_lines]
        if len(both or by_fields) == len(releases()):
            return None
        narrowed = bool(both) and len(both) < len(by_fields)
        basis = "server_args fields and line forms" if narrowed else "server_args fields"
        return spanning(both or by_fields, basis)
    if len(by_lines) == len(releases()) or not (shown or form):
        return None
    return spanning(by_lines, "line forms")


def _by_fields(names: frozenset[str], *, truncated: bool) -> tuple[str, ...] | None:
    """Return the releases that fit the known fields; None where there are none."""
    if not names:
        return None
    if not truncated:
        distances = {name: len(names ^ fields(name)) for name in releases()}
        best = min(distances, key=distances.__getitem__)
        if distances[best] == 0:
            return (best,)
        if distances[best] <= _NEAR * len(fields(best)):
            return _with_neighbour(best, distances)
    missing = {name: len(names - fields(name)) for name in releases()}
    least = min(missing.values())
    return tuple(name for name in releases() if missing[name] == least) if least < len(names) else None


def _with_neighbour(best: str, distances: Mapping[str, int]) -> tuple[str, ...]:
    """Return the nearest release, and the neighbour of which a build between the two has something."""
    order = releases()
    place = order.index(best)
    around = order[max(place - 1, 0) : place] + order[place + 1 : place + 2]
    between = [name for name in around if distances[name] < len(fields(best) ^ fields(name))]
    if not between:
        return (best,)
    return (best, min(between, key=lambda name: distances[name] - len(fields(best) ^ fields(name))))


def _by_signs(shown: Sequence[Sign]) -> tuple[str, ...]:
    """Return the releases that print every form seen; all where the forms contradict one another."""
    fitting = tuple(
        name for name in releases() if all(within(name, sign.since, sign.until) for sign in shown)
    )
    return fitting or releases()
