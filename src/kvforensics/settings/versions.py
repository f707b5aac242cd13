"""Which releases could have printed a launch: told from its settings and the forms of its lines."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kvforensics.knowledge.history import all_names, fields
from kvforensics.knowledge.releases import VersionRange, releases, spanning, within
from kvforensics.knowledge.signs import signs_in
from kvforensics.settings.flags import match

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kvforensics.events import Event
    from kvforensics.knowledge.signs import Sign

_CONFIGS = 64  # whose releases are remembered: most launches have the settings of the one before
_NEAR = 0.06  # a whole config differs from a release's in fewer of its fields; else it is a part of one


def version_range(
    names: Collection[str],
    *,
    truncated: bool = False,
    form: str | None = None,
    events: Iterable[Event] = (),
    lines: Iterable[str] = (),
    flags: Iterable[str] = (),
) -> VersionRange | None:
    """Return the releases that fit, or None where nothing tells.

    `names` are the fields of `server_args=`, `form` its form (repr or dict), `events` the launch's rare
    events, `lines` texts of its Prefill and Decode lines, `flags` the words of its command line. Names and
    flags that no release has (a fork's) do not count. Of a truncated config only what is there counts, not
    what is absent. Where they disagree, fields win over forms, and forms over flags.
    """
    shown = signs_in(events, lines)
    known = releases()
    told: list[str] = []
    for fitting, basis in (
        (_by_fields(frozenset(names) & all_names(), truncated=truncated), "server_args fields"),
        (_by_form(form), "line forms"),
        (_by_signs(shown), "line forms"),
        (_by_flags(flags), "command line flags"),
    ):
        narrowed = tuple(name for name in known if fitting is None or name in fitting)
        if narrowed and len(narrowed) < len(known):
            known = narrowed
            if basis not in told:
                told.append(basis)
    return spanning(known, " and ".join(told)) if told else None


def _by_form(form: str | None) -> tuple[str, ...] | None:
    """Return the releases that print settings as a repr (to 0.5.18) or as a dict (since 0.5.19)."""
    since, until = {"repr": (None, "0.5.18"), "dict": ("0.5.19", None)}.get(form or "", (None, None))
    return tuple(name for name in releases() if within(name, since, until))


@lru_cache(_CONFIGS)
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


def _by_flags(words: Iterable[str]) -> frozenset[str] | None:
    """Return the releases that know every flag that any release knows; None where they tell nothing."""
    fitting = frozenset(releases())
    for option in {word.partition("=")[0] for word in words if word.startswith("--")}:
        knowing = frozenset(name for name in releases() if match(option, name) is not None)
        if knowing:
            fitting &= knowing
    return fitting if 0 < len(fitting) < len(releases()) else None


def _by_signs(shown: Sequence[Sign]) -> tuple[str, ...]:
    """Return the releases that print every form seen; all where the forms contradict one another."""
    fitting = tuple(
        name for name in releases() if all(within(name, sign.since, sign.until) for sign in shown)
    )
    return fitting or releases()
