"""The flags of SGLang's command line: which setting each sets, and how many words it takes."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.knowledge.history import fields, flag_aliases, span_at
from kvforensics.knowledge.releases import members, release_key, within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.knowledge.releases import Version

READABLE_INTS = frozenset({"context_length", "max_total_tokens", "max_prefill_tokens"})
READABLE_SINCE = "0.5.10"

# Accepted and dropped, or turned into other settings by the engine: flag, releases, words taken.
_WITHOUT_SETTING = (
    ("--efficient-weight-load", "0.3.0", "0.3.2", 0),
    ("--disable-nan-detection", "0.3.6.post3", "0.4.0", 0),
    ("--enable-overlap-schedule", "0.3.6.post3", "0.4.0", 0),
    ("--disable-flashinfer", "0.3.6.post3", "0.4.0", 0),
    ("--disable-flashinfer-sampling", "0.3.6.post3", "0.4.0", 0),
    ("--disable-disk-cache", "0.4.0", "0.4.0", 0),
    ("--enable-flashinfer-mla", "0.4.5.post3", "0.4.6.post5", 0),
    ("--enable-flashmla", "0.4.5.post3", "0.4.6.post5", 0),
    ("--enable-ep-moe", "0.5.3", "0.5.4", 0),
    ("--enable-deepep-moe", "0.5.3", "0.5.4", 0),
    ("--enable-flashinfer-cutlass-moe", "0.5.3", "0.5.4", 0),
    ("--enable-flashinfer-cutedsl-moe", "0.5.3", "0.5.4", 0),
    ("--enable-flashinfer-trtllm-moe", "0.5.3", "0.5.4", 0),
    ("--enable-triton-kernel-moe", "0.5.3", "0.5.4", 0),
    ("--enable-flashinfer-mxfp4-moe", "0.5.3", "0.5.4", 0),
    ("--config", "0.5.3", "0.5.23", 1),
    ("--hybrid-kvcache-ratio", "0.5.8", "0.5.13", 1),
    ("--prefill-round-robin-balance", "0.5.8", "0.5.19", 0),
    ("--enable-piecewise-cuda-graph", "0.5.10", "0.5.13", 0),
    ("--collect-tokens-histogram", "0.5.11", "0.5.19", 0),
    ("--enable-expert-distribution-metrics", "0.5.18", "0.5.19", 0),
)
_QUOTED = re.compile(r"'[^']*'")
_DIGITS = re.compile(r"Literal\[[0-9]")
# Flags without a word of their own that set a value other than True.
_CONSTANTS = {
    "--disable-piecewise-cuda-graph": "disabled",
    "--enable-breakable-cuda-graph": "breakable",
    "--enforce-piecewise-cuda-graph": "tc_piecewise",
}


class Flag(Struct, frozen=True):
    """One option string of the parser."""

    option: str
    setting: str | None  # None: accepted and dropped
    kind: str  # flag | const | int | float | str | json
    many: bool = False  # takes every word up to the next option
    const: bool | str | None = None

    @property
    def takes_value(self) -> bool:
        """Whether words follow it."""
        return self.kind not in ("flag", "const")


@cache
def flags_of(release: str) -> Mapping[str, Flag]:
    """Return the flags of a listed release by option string."""
    found = {"--help": Flag("--help", None, "flag")}
    for option, since, until, words in _WITHOUT_SETTING:
        if within(release, since, until):
            found[option] = Flag(option, None, "str" if words else "flag")
    for name in fields(release):
        if not name.startswith("_"):
            option = f"--{name.replace('_', '-')}"
            found[option] = _flag(option, name, release)
    for option, name in flag_aliases(release).items():
        found[option] = _alias(option, name, release)
    return found


def _alias(option: str, name: str, release: str) -> Flag:
    if option.startswith("--no-"):
        return Flag(option, name, "flag", const=False)
    if option in _CONSTANTS and name.startswith("cuda_graph_backend"):
        return Flag(option, name, "const", const=_CONSTANTS[option])
    return _flag(option, name, release)


def _flag(option: str, name: str, release: str) -> Flag:
    span = span_at(name, release)
    text = _QUOTED.sub("", span.type) if span is not None else "str"
    if text in ("bool", "Optional[bool]"):
        return Flag(option, name, "flag", const=True)
    if "List[dict" in text and "List[str]" not in text:
        return Flag(option, name, "json")
    many = any(word in text for word in ("List[", "set["))
    if "dict[" in text.lower() and not many:
        return Flag(option, name, "json")
    if "int" in text or _DIGITS.search(text):
        return Flag(option, name, "int", many=many)
    return Flag(option, name, "float" if "float" in text else "str", many=many)


def readable_int(text: str) -> int | None:
    """Return the number that `200k`, `200Ki` or `204800` says, or None for text that says none."""
    number = text.strip()
    suffix = next((ending for ending in _SUFFIXES if number.endswith(ending)), "")
    number = number[: len(number) - len(suffix)]
    factor = _SUFFIXES.get(suffix, 1)
    try:
        return int(float(number) * factor) if suffix and "." in number else int(number) * factor
    except (ValueError, OverflowError):
        return None


_SUFFIXES = {
    **{f"{letter}i": 1024**power for power, letter in enumerate("kmgt", 1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGT", 1)},
    **{letter: 1000**power for power, letter in enumerate("kmgt", 1)},
    **{letter: 1000**power for power, letter in enumerate("KMGT", 1)},
}


def canonical(name: str, version: Version = None) -> str | None:
    """Return the setting that a flag or a field name sets in a release, or None where it sets none.

    A flag may be abbreviated as argparse allows it. Without a version, or in a range, all releases
    that it may be have to agree, those that do not know the flag left out.
    """
    text = name if name.startswith("-") else f"--{name.replace('_', '-')}"
    option = text.partition("=")[0]
    found = {flag.setting for release in members(version) if (flag := match(option, release)) is not None}
    return found.pop() if len(found) == 1 else None


def match(option: str, release: str) -> Flag | None:
    """Return the flag that an option string names in a listed release: itself, or what it alone begins."""
    known = flags_of(release)
    if option in known:
        return known[option]
    if not option.startswith("--") or len(option) <= len("--"):
        return None
    ordered = _ordered(release)
    place = bisect_left(ordered, option)
    begun = [one for one in ordered[place : place + 2] if one.startswith(option)]
    return known[begun[0]] if len(begun) == 1 else None


@cache
def _ordered(release: str) -> tuple[str, ...]:
    return tuple(sorted(flags_of(release)))


def takes_suffix(setting: str, release: str) -> bool:
    """Tell whether a release reads 200k as a number for this setting."""
    key, since = release_key(release), release_key(READABLE_SINCE)
    return setting in READABLE_INTS and key is not None and since is not None and key >= since
