"""A command line read as argparse reads it: what was asked, what won, what lost."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.knowledge.releases import members
from kvforensics.settings.flags import match, readable_int, takes_suffix
from kvforensics.settings.values import same
from kvforensics.settings.words import server_words, split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.knowledge.releases import Version
    from kvforensics.settings.flags import Flag

CONFIG_FILE = "config"  # the key under which `asked()` says that a --config file was named and not read
_MOST_WORDS = 20_000  # more than any system passes on
_NEGATIVE = re.compile(r"-[0-9]+|-[0-9]*\.[0-9]+", re.ASCII)
_UNEXPANDED = re.compile(r"\$(?:\{[A-Za-z_]|[A-Za-z_]|\()|\{\{|%[a-zA-Z]\b")


class Requested(Struct, frozen=True):
    """What a command line asks for, by setting."""

    values: Mapping[str, Any] = field(default_factory=dict)  # what applies: the last one given
    lost: Mapping[str, Any] = field(default_factory=dict)  # the value before it, where that differs
    duplicates: tuple[str, ...] = ()  # settings given more than once, whether they differ or not
    unknown: Mapping[str, Any] = field(default_factory=dict)  # flags that the release does not have
    suffixed: tuple[str, ...] = ()  # settings given with a unit suffix such as 200k
    unresolved: tuple[str, ...] = ()  # settings whose value holds a variable that nobody expanded
    config_file: str | None = None  # --config FILE
    config_read: bool = False  # whether that file's values are in here
    positional: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether a setting that is absent here was certainly not given."""
        return not self.unresolved and (self.config_file is None or self.config_read)

    def asked(self) -> dict[str, Any]:
        """Return one value a setting: the one that lost where there is one, else the one that applies.

        This is what `Config.requested` holds. A `config` key says that a file was named and not read.
        """
        asked = {**self.unknown, **self.values, **self.lost}
        if not self.complete:
            asked[CONFIG_FILE] = self.config_file
        return asked


def parse_command_line(
    command: str | Sequence[str],
    version: Version = None,
    config: Mapping[str, Any] | None = None,
    *,
    expanded: bool = True,
) -> Requested:
    """Read a command line (words, or text as a shell splits it) as a release's parser would.

    Words before the server's own are skipped. `config` holds the values of the file named by --config,
    which lose to the command line. `expanded` says that the words are a process's own; without it, a word
    with a variable in it is a value that nobody knows (`unresolved`). Where the release is a range, a flag
    is what every release in it that knows the flag takes it for, else unknown. Never raises: what the
    parser would refuse is in `unknown`.
    """
    words = split(command) if isinstance(command, str) else [str(word) for word in command]
    reader = _Reader(_releases_to_ask(version), expanded=expanded)
    reader.read(server_words(words[:_MOST_WORDS]))
    return reader.result(config)


def _releases_to_ask(version: Version) -> tuple[str, ...]:
    """Return the releases to ask, newest first; a known release alone."""
    return members(version)[::-1]


class _Reader:
    """Walks over the words once."""

    def __init__(self, releases: Sequence[str], *, expanded: bool) -> None:
        self._releases = releases
        self._expanded = expanded
        self._given: dict[str, list[Any]] = {}
        self._unknown: dict[str, Any] = {}
        self._suffixed: dict[str, None] = {}
        self._unresolved: dict[str, None] = {}
        self._positional: list[str] = []
        self._config: str | None = None

    def read(self, words: Sequence[str]) -> None:
        place = 0
        while place < len(words):
            word = words[place]
            place += 1
            if word == "--":
                self._positional.extend(words[place:])
                return
            if not _is_option(word):
                self._positional.append(word)
                continue
            option, equals, attached = word.partition("=")
            known = self._match(option)
            if known is None:
                following, place = ([attached], place) if equals else _following(words, place, many=True)
                self._unknown[_field(option)] = _guess(following)
                continue
            if equals:
                following = [attached]
            elif known.takes_value:
                following, place = _following(words, place, many=known.many)
            else:
                following = []
            self._take(known, following)

    def _match(self, option: str) -> Flag | None:
        """Return the flag, where the releases that know it agree on the setting; the newest one's."""
        found = [flag for release in self._releases if (flag := match(option, release)) is not None]
        return found[0] if len({flag.setting for flag in found}) == 1 else None

    def _take(self, flag: Flag, words: list[str]) -> None:
        if flag.setting is None:
            if flag.option == "--config" and words:
                self._config = words[0]
            return
        value = _value(flag, words, suffix=any(takes_suffix(flag.setting, one) for one in self._releases))
        if not self._expanded and flag.kind != "json" and any(_UNEXPANDED.search(word) for word in words):
            self._unresolved[flag.setting] = None
            self._given.pop(flag.setting, None)
            return
        if flag.kind == "int" and not flag.many and words and not _plain_int(words[0]):
            self._suffixed[flag.setting] = None
        self._unresolved.pop(flag.setting, None)
        self._given.setdefault(flag.setting, []).append(value)

    def result(self, config: Mapping[str, Any] | None) -> Requested:
        values = {name: given[-1] for name, given in self._given.items()}
        lost = {
            name: next(value for value in reversed(given) if not same(name, value, given[-1]))
            for name, given in self._given.items()
            if any(not same(name, value, given[-1]) for value in given)
        }
        unknown = dict(self._unknown)
        for key, value in (config or {}).items():
            flag = self._match(f"--{str(key).replace('_', '-')}")
            if flag is None or flag.setting is None:
                unknown.setdefault(_field(str(key)), value)
            elif flag.setting not in values:
                values[flag.setting] = value
            elif not same(flag.setting, value, values[flag.setting]):
                lost.setdefault(flag.setting, value)
        return Requested(
            values=MappingProxyType(values),
            lost=MappingProxyType(lost),
            duplicates=tuple(name for name, given in self._given.items() if len(given) > 1),
            unknown=MappingProxyType(unknown),
            suffixed=tuple(self._suffixed),
            unresolved=tuple(self._unresolved),
            config_file=self._config,
            config_read=config is not None,
            positional=tuple(self._positional),
        )


def _is_option(word: str) -> bool:
    """Tell whether argparse takes a word for an option: negative numbers and text with blanks are values."""
    if len(word) < len("-x") or not word.startswith("-") or _NEGATIVE.fullmatch(word):
        return False
    return " " not in word.partition("=")[0]


def _following(words: Sequence[str], place: int, *, many: bool) -> tuple[list[str], int]:
    """Return the value words after an option, and where to go on: one, or with `many` all up to an option."""
    stop = place
    while stop < len(words) and not _is_option(words[stop]) and words[stop] != "--":
        stop += 1
        if not many:
            break
    return list(words[place:stop]), stop


def _field(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _plain_int(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _guess(words: Sequence[str]) -> Any:
    """Return the value of a flag that no release has: a switch, a number where it is one, else text."""
    if not words:
        return True
    values = [_number(word) for word in words]
    return values[0] if len(values) == 1 else values


def _number(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(word.lower(), word)


def _value(flag: Flag, words: Sequence[str], *, suffix: bool) -> Any:
    if not flag.takes_value:
        return flag.const
    if flag.many:
        if len(words) == 1 and words[0].startswith("["):
            return _json(words[0])
        return [_one(flag.kind, word, suffix=False) for word in words]
    return _one(flag.kind, words[0], suffix=suffix) if words else None


def _one(kind: str, word: str, *, suffix: bool) -> Any:
    """Return a word as its kind; the text itself where it is none, as it stood."""
    if kind == "json":
        return _json(word)
    if kind == "int":
        if suffix and (number := readable_int(word)) is not None:
            return number
        return int(word) if _plain_int(word) else word
    if kind == "float":
        try:
            return float(word)
        except ValueError:
            return word
    return word


def _json(word: str) -> Any:
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        return word
