"""Redaction for sharing: hosts, paths, addresses, users and models get consistent other names.

Secrets are gone before this stage. What is replaced here is what the reader may know and a third party
may not. The same name gets the same replacement in the whole analysis, evidence and log text included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from kvforensics.errors import UsageError
from kvforensics.records import Origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kvforensics.analysis import Analysis, Service

KINDS = ("hosts", "paths", "ips", "users", "models")
_MODEL_SETTINGS = (
    "model_path",
    "served_model_name",
    "tokenizer_path",
    "speculative_draft_model_path",
    "speculative_draft_model_revision",
    "revision",
)
_IP = re.compile(
    r"(?<![\w.:])(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|(?:[0-9A-Fa-f]{1,4}:){3,7}[0-9A-Fa-f]{1,4}|"
    r"(?:[0-9A-Fa-f]{1,4}:){1,6}:(?:[0-9A-Fa-f]{1,4}:){0,5}[0-9A-Fa-f]{0,4})(?![\w.])"
)
_PATH = re.compile(r"(?<![\w/<])~?/(?:[\w.@%+,=-]+/)*[\w.@%+,=-]*[\w@%+,=-]")
_HOME = re.compile(r"/(?:home|Users)/([\w.-]+)")
_USER = re.compile(
    r"(?:\bUSER=|\buser |\bfor user )([A-Za-z_][\w.-]*)|^\s*([A-Za-z_][\w.-]*) : (?:TTY=|PWD=)"
)
_SHORTEST = 3  # shorter names would match everywhere
_T = TypeVar("_T")


def share(analysis: Analysis, kinds: Iterable[str]) -> Analysis:
    """Return the analysis with every name of the given kinds replaced. Raises UsageError for another kind."""
    wanted = set(kinds)
    if unknown := wanted - set(KINDS):
        raise UsageError(
            f"nothing to redact is called {', '.join(sorted(unknown))}", hint=f"known: {', '.join(KINDS)}"
        )
    if not wanted:
        return analysis
    change = _Renamer(analysis, wanted).text
    origins = Origins()
    for number in range(len(analysis.origins)):
        origins.intern(_rewrite(analysis.origins[number], change))
    return replace(
        analysis,
        sources=_rewrite(analysis.sources, change),
        coverage=_rewrite(analysis.coverage, change),
        services=_rewrite(analysis.services, change),
        origins=origins,
    )


class _Renamer:
    """The replacements, in the order in which names are met: the same input gives the same names."""

    def __init__(self, analysis: Analysis, wanted: set[str]) -> None:
        self._wanted = wanted
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        if "models" in wanted:
            self._take("model", _models(analysis.services), letters=True)
        if "users" in wanted:
            self._take("user", _users(analysis))
        if "hosts" in wanted:
            self._take("host", _hosts(analysis))
        longest_first = sorted(self._names, key=lambda name: (-len(name), name))
        self._known = re.compile(
            "|".join(rf"(?<![\w]){re.escape(name)}(?![\w])" for name in longest_first) or r"(?!)"
        )

    def text(self, text: str) -> str:
        """Return the text with every known name, address and path replaced."""
        text = self._known.sub(lambda match: self._names[match.group()], text)
        if "ips" in self._wanted:
            text = _IP.sub(lambda match: self._alias("ip", match.group()), text)
        if "paths" in self._wanted:
            text = _PATH.sub(lambda match: self._alias("path", match.group()), text)
        return text

    def _take(self, word: str, names: Iterable[str], *, letters: bool = False) -> None:
        for name in names:
            if len(name) >= _SHORTEST:
                self._alias(word, name, letters=letters)

    def _alias(self, word: str, name: str, *, letters: bool = False) -> str:
        known = self._names.get(name)
        if known is None:
            count = self._counts[word] = self._counts.get(word, 0) + 1
            known = self._names[name] = f"{word}-{_letters(count) if letters else count}"
        return known


def _hosts(analysis: Analysis) -> Iterator[str]:
    for service in analysis.services:
        yield from filter(None, [service.host])
    for number in range(len(analysis.origins)):
        yield from filter(None, [analysis.origins[number].host])


def _models(services: Iterable[Service]) -> Iterator[str]:
    for service in services:
        for launch in service.launches:
            for setting in _MODEL_SETTINGS:
                value = launch.config.values.get(setting)
                if isinstance(value, str) and value not in ("main", "auto", "<redacted>"):
                    yield value
                    yield value.rstrip("/").rsplit("/", 1)[-1]
            for event in launch.events:
                if isinstance(kind := event.fields.get("model_type"), str):
                    yield kind


def _users(analysis: Analysis) -> Iterator[str]:
    for service in analysis.services:
        for event in [*service.trail, *(e for launch in service.launches for e in launch.events)]:
            if isinstance(user := event.fields.get("user"), str):
                yield user
            for match in [*_HOME.finditer(event.text or ""), *_USER.finditer(event.text or "")]:
                name = next(filter(None, match.groups()))
                if name != "root":
                    yield name


def _rewrite(value: _T, change: Callable[[str], str]) -> _T:
    """Return a value of any nesting with `change` done to each string in it, dictionary keys included."""
    return _walk(value, change)  # type: ignore[no-any-return]


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _walk(getattr(value, f.name), change) for f in fields(value)})
    if isinstance(value, Mapping):
        return {_walk(key, change): _walk(each, change) for key, each in value.items()}
    if isinstance(value, tuple):
        members = [_walk(each, change) for each in value]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    if isinstance(value, list):
        return [_walk(each, change) for each in value]
    if isinstance(value, AbstractSet):
        return {_walk(each, change) for each in value}
    return value


def _letters(count: int) -> str:
    name = ""
    while count:
        count, rest = divmod(count - 1, 26)
        name = chr(ord("a") + rest) + name
    return name
