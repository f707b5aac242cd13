"""A change: one setting whose effective value differs between two launches in a row of one service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.applied import DIVIDED, Applied, applied, share
from kvforensics.knowledge.knobs import is_drawn, is_filled
from kvforensics.settings import UNKNOWN, default, name_in, normalise, same
from kvforensics.settings.command_line import CONFIG_FILE
from kvforensics.settings.names import inverse_in, rename

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.launches import Launch
    from kvforensics.records import Place

_PARTS = frozenset({"partial"})  # sources that name some settings and say nothing of the rest
_COMMANDS = frozenset({"cmdline", "unit_file"})  # sources in which an absent setting was not given
_BOUND_BY_POOL = frozenset({"max_total_tokens", "max_running_requests"})  # a cut to what memory allows
_NOTHING = (None, False, "", 0)


class Change(Struct, frozen=True):
    """One setting that differs, before any judgement. Launch ids name launches of one service."""

    from_launch: str
    to_launch: str
    setting: str  # as the newer launch names it
    before: Any
    after: Any
    requested: Any = None  # what was asked for, where that differs from `after`
    derived: bool = False  # the engine computed it from another setting
    evidence: tuple[Place, ...] = ()


def diff(older: Launch, newer: Launch) -> list[Change]:
    """Return the settings that changed from one launch to the next, in the order of the newer's settings.

    Renames, defaults that moved with the release, shares of data-parallel ranks that stay, cuts seen at the
    launch before and everything that a missing, partial or truncated config does not show are no changes.
    """
    if "none" in (_source(older), _source(newer)) or older.engine != newer.engine:
        return []
    pair = _Pair(older, newer)
    found = (pair.change(name) for name in pair.names)
    return [change for change in found if change is not None]


def shows(launch: Launch) -> str:
    """Return what a launch shows of its settings: `all`, `some` (a cut line counts as all), or `none`."""
    source = _source(launch)
    return source if source == "none" else "some" if source in _PARTS else "all"


class _Pair:
    """Two launches in a row, the older one's settings under the newer one's names."""

    def __init__(self, older: Launch, newer: Launch) -> None:
        self.older, self.newer = older, newer
        after = applied(newer)
        self.after = _renamed(after, after.values)  # one way to write what a release may print in two
        self.before = _renamed(applied(older), self.after.values)
        self.names = tuple(
            name
            for name in dict.fromkeys((*self.after.values, *self.before.values))
            if not name.startswith("_")
        )
        self.given_before = _given(older, self.after.values)
        self.given_after = _given(newer, self.after.values)

    def change(self, name: str) -> Change | None:
        before, after = self._values(name)
        if before is UNKNOWN or after is UNKNOWN:
            return None
        asked = self.after.asked.get(name)
        same_cut = (
            asked is not None and name in self.before.asked and same(name, asked, self.before.asked[name])
        )
        if same_cut and (name in _BOUND_BY_POOL or self._equal(name, before, after)):
            return None
        is_cut = asked is not None and name not in self.after.divided
        if self._equal(name, before, after):
            if not is_cut:
                return None
        elif self._is_the_release_s(name, before, after) or self._is_drawn(name):
            return None
        return Change(
            from_launch=self.older.id,
            to_launch=self.newer.id,
            setting=name,
            before=before,
            after=after,
            requested=asked,
            derived=asked is None and self._is_derived(name),
            evidence=tuple(
                place for place in (self.newer.config.place, self.older.config.place) if place is not None
            ),
        )

    def _values(self, name: str) -> tuple[Any, Any]:
        """Return both values; UNKNOWN where a config does not show one, so that nothing can be compared."""
        before = self.before.values.get(name, UNKNOWN)
        after = self.after.values.get(name, UNKNOWN)
        if before is UNKNOWN:
            before = self._absent(name, self.older, self.newer, after)
        elif after is UNKNOWN:
            after = self._absent(name, self.newer, self.older, before)
        return before, after

    def _absent(self, name: str, lacking: Launch, having: Launch, value: Any) -> Any:
        """Return what a setting was at the launch whose config does not name it."""
        if lacking.config.truncated or _source(lacking) in _PARTS or _source(having) in _PARTS:
            return UNKNOWN
        given = self.given_after if having is self.newer else self.given_before
        is_given = having.config.source in _COMMANDS or (given is not None and name in given)
        if is_filled(name) and not is_given:
            return UNKNOWN
        if lacking.config.source in _COMMANDS:
            known = _default(name, lacking)
            return None if known is UNKNOWN and is_given else known
        if having.config.source in _COMMANDS:
            return UNKNOWN
        return self._absent_in_release(name, having, value)

    def _absent_in_release(self, name: str, having: Launch, value: Any) -> Any:
        """Return None for a setting that only the other release has, UNKNOWN where it is at its default."""
        known = _default(name, having)
        if known is UNKNOWN:
            is_default = any(value is one for one in _NOTHING) or value in ([], {}, (), "", "auto")
        else:
            is_default = same(name, value, known)
        return UNKNOWN if is_default else None

    def _equal(self, name: str, before: Any, after: Any) -> bool:
        if same(name, before, after):
            return True
        if name not in DIVIDED or before is None or after is None:
            return False
        return same(name, share(self.before, name), share(self.after, name))

    def _is_the_release_s(self, name: str, before: Any, after: Any) -> bool:
        """Tell whether the difference is a default that moved with the release."""
        if (self.older.version.oldest, self.older.version.newest) == (
            self.newer.version.oldest,
            self.newer.version.newest,
        ):
            return False
        old_default, new_default = _default(name, self.older), _default(name, self.newer)
        was_default = old_default is not UNKNOWN and same(name, before, old_default)
        is_default = new_default is not UNKNOWN and same(name, after, new_default)
        if was_default and is_default:
            return True
        is_given = name in (self.given_before or ()) or name in (self.given_after or ())
        return is_filled(name) and not is_given and (was_default or is_default) and None in (before, after)

    def _not_given(self, name: str) -> bool:
        """Tell whether the command lines prove that nobody gave a setting, at neither launch."""
        return (
            self.given_before is not None
            and self.given_after is not None
            and name not in self.given_before
            and name not in self.given_after
        )

    def _is_drawn(self, name: str) -> bool:
        """Tell whether each start draws it, as it does addresses and ports; the seed is shown even so."""
        return name != "random_seed" and is_drawn(name) and self._not_given(name)

    def _is_derived(self, name: str) -> bool:
        return not is_drawn(name) and self._not_given(name) and self.newer.config.source not in _COMMANDS


def _source(launch: Launch) -> str:
    """Return where a launch's settings come from; an error that names one is a part of them."""
    if launch.config.source == "none" and any(event.kind == "context_rejected" for event in launch.events):
        return "partial"
    return launch.config.source


def _given(launch: Launch, names: Mapping[str, Any]) -> frozenset[str] | None:
    """Return the settings that the command line gave; None where it is unknown or a file may give more."""
    requested = launch.config.requested
    if launch.config.source in _COMMANDS and not requested:
        requested = launch.config.values
    if not requested or CONFIG_FILE in requested:
        return None
    given = normalise(requested, names=names)
    return frozenset(given) | frozenset(requested)


def _renamed(found: Applied, names: Mapping[str, Any]) -> Applied:
    return Applied(
        values=normalise(found.values, names=names),
        asked=rename(found.asked, names),
        divided={name_in(name, names) for name in found.divided},
        groups=found.groups,
    )


def _default(name: str, launch: Launch) -> Any:
    """Return a setting's default at a launch, under whatever name it has there; UNKNOWN where not known."""
    names = launch.config.values
    opposite = inverse_in(name, names)
    if opposite is not None:
        known = default(opposite, launch.version)
        return not known if isinstance(known, bool) else UNKNOWN
    return default(name if name in names else name_in(name, names), launch.version)
