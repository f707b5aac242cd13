"""Redaction for sharing: hosts, paths, addresses, users and models get consistent other names.

Secrets are gone before this stage. What is replaced here is what the reader may know and a third party
may not. The same name gets the same replacement in the whole analysis, evidence and log text included.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.errors import UsageError
from kvforensics.records import Origins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import polars as pl

    from kvforensics.analysis import Analysis, Service

KINDS = ("hosts", "paths", "ips", "users", "models")
WITHHELD = "(withheld)"
_MODEL_SETTINGS = (
    "model_path",
    "served_model_name",
    "tokenizer_path",
    "speculative_draft_model_path",
    "speculative_draft_model_revision",
    "revision",
    "reasoning_parser",  # named after the family of the model
    "tool_call_parser",
    "chat_template",
)
_NO_MODELS = frozenset({"main", "auto", "default", "<redacted>", ""})
_NO_PERSONS = frozenset({"root"})
_NOWHERE = frozenset({"localhost", "0.0.0.0", "127.0.0.1", "::", "::1"})  # noqa: S104 - names that say nothing
_ADDRESS_SETTING = re.compile(r"(?:^|_)(?:host|hostname|addr|address|url|ip|endpoint)s?(?:_|$)")
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/\s]*@)?([A-Za-z][\w.-]*\w)(?::[0-9]+)?(?:/|$)")
_URL_HOST = re.compile(r"\b[a-z][a-z0-9+.-]*://(?:[^@/\s]*@)?([A-Za-z][\w.-]*\w)")
_MODEL_FLAG = re.compile(
    r"--(?:model|model-path|served-model-name|tokenizer|tokenizer-path|speculative-draft-model-path)"
    r"(?:=|\s+)['\"]?([^\s'\"]+)"
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
_T = TypeVar("_T")


def share(analysis: Analysis, kinds: Iterable[str]) -> Analysis:
    """Return the analysis with every name of the given kinds replaced. Raises UsageError for another kind.

    Lines that no grammar knows may hold any name, so their shapes are withheld; their counts and places stay.
    """
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
    shapes = tuple(replace(each, shape=WITHHELD) for each in analysis.coverage.unknown_shapes)
    return replace(
        analysis,
        sources=_rewrite(analysis.sources, change),
        coverage=_rewrite(replace(analysis.coverage, unknown_shapes=shapes), change),
        services=_rewrite(analysis.services, change),
        origins=origins,
        samples=_renamed(analysis, change),
    )


def _renamed(analysis: Analysis, change: Callable[[str], str]) -> pl.DataFrame | None:
    """Return the samples under the services' new names."""
    if analysis.samples is None or "service" not in analysis.samples.columns:
        return analysis.samples
    names = {service.id: change(service.id) for service in analysis.services}
    return analysis.samples.with_columns(service=analysis.samples["service"].replace(names))


class _Renamer:
    """The replacements, in the order in which names are met: the same input gives the same names.

    Names are told apart without regard to case, as hosts are.
    """

    def __init__(self, analysis: Analysis, wanted: set[str]) -> None:
        self._wanted = wanted
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        texts = list(_texts(analysis))
        if "paths" in wanted:
            self._take("path", (source.path for source in analysis.sources if source.path != "-"))
        if "models" in wanted:
            self._take("model", _models(analysis.services, texts), letters=True)
        if "users" in wanted:
            self._take("user", _users(analysis, texts))
        if "hosts" in wanted:
            self._take("host", _hosts(analysis, texts))
        longest_first = sorted(self._names, key=lambda name: (-len(name), name))
        self._known = re.compile("|".join(map(_whole, longest_first)) or r"(?!)", re.IGNORECASE)

    def text(self, text: str) -> str:
        """Return the text with every known name, address and path replaced."""
        text = self._known.sub(lambda match: self._names[match.group().casefold()], text)
        if "ips" in self._wanted:
            text = _IP.sub(lambda match: self._address(match.group()), text)
        if "paths" in self._wanted:
            text = _PATH.sub(lambda match: self._alias("path", match.group()), text)
        return text

    def _take(self, word: str, names: Iterable[str], *, letters: bool = False) -> None:
        for name in names:
            if name.strip():
                self._alias(word, name, letters=letters)

    def _address(self, address: str) -> str:
        return address if address in _NOWHERE else self._alias("ip", address)

    def _alias(self, word: str, name: str, *, letters: bool = False) -> str:
        key = name.casefold()
        known = self._names.get(key)
        if known is None:
            count = self._counts[word] = self._counts.get(word, 0) + 1
            known = self._names[key] = f"{word}-{_letters(count) if letters else count}"
        return known


def _whole(name: str) -> str:
    """Return a pattern for a name as a word; a single letter is a name only where nothing else stands."""
    if len(name) == 1:
        return rf"(?<!\S){re.escape(name)}(?=/|$)"
    return rf"(?<![\w]){re.escape(name)}(?![\w])"


def _texts(analysis: Analysis) -> Iterator[str]:
    """Give the lines that the analysis kept, and the command lines of its processes."""
    for service in analysis.services:
        for event in [*service.trail, *(e for launch in service.launches for e in launch.events)]:
            yield event.text or ""
            yield from (value for value in event.fields.values() if isinstance(value, str))
    for number in range(len(analysis.origins)):
        yield analysis.origins[number].cmdline or ""


def _settings(services: Iterable[Service]) -> Iterator[tuple[str, str]]:
    for service in services:
        for launch in service.launches:
            for values in (launch.config.values, launch.config.requested, launch.config.handed or {}):
                for name, value in values.items():
                    yield from ((name, each) for each in _strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _strings(each)


def _hosts(analysis: Analysis, texts: Iterable[str]) -> Iterator[str]:
    for service in analysis.services:
        yield from filter(None, [service.host])
    for number in range(len(analysis.origins)):
        yield from filter(None, [analysis.origins[number].host])
    for name, value in _settings(analysis.services):
        found = _ADDRESS.match(value) if _ADDRESS_SETTING.search(name) else None
        if found is not None and found[1] not in _NOWHERE:
            yield found[1]
    for text in texts:
        yield from (host for host in _URL_HOST.findall(text) if host not in _NOWHERE)


def _models(services: tuple[Service, ...], texts: Iterable[str]) -> Iterator[str]:
    for name, value in _settings(services):
        if name in _MODEL_SETTINGS:
            yield from _model(value)
    for text in texts:
        for value in _MODEL_FLAG.findall(text):
            yield from _model(value)
    for service in services:
        for launch in service.launches:
            for event in launch.events:
                if isinstance(kind := event.fields.get("model_type"), str):
                    yield kind


def _model(value: str) -> Iterator[str]:
    last = value.rstrip("/").rsplit("/", 1)[-1]
    yield from (name for name in dict.fromkeys((value, last)) if name not in _NO_MODELS)


def _users(analysis: Analysis, texts: Iterable[str]) -> Iterator[str]:
    for service in analysis.services:
        for event in [*service.trail, *(e for launch in service.launches for e in launch.events)]:
            for field in ("user", "as_user"):
                if isinstance(user := event.fields.get(field), str) and user not in _NO_PERSONS:
                    yield user
    for text in texts:
        for match in [*_HOME.finditer(text), *_USER.finditer(text)]:
            name = next(filter(None, match.groups()))
            if name not in _NO_PERSONS:
                yield name


def _rewrite(value: _T, change: Callable[[str], str]) -> _T:
    """Return a value of any nesting with `change` done to each string in it, dictionary keys included."""
    return _walk(value, change)  # type: ignore[no-any-return]


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Struct):
        return replace(
            value, **{name: _walk(getattr(value, name), change) for name in value.__struct_fields__}
        )
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
