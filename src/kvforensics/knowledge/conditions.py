"""Conditions of a pattern, and the three-valued answer whether they hold for a launch.

A condition is a table of patterns.toml. What the log does not say is None, and None stays None
through every conclusion: a pattern applies only when everything it needs was seen.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FACTS = MappingProxyType(
    {
        "context_above_pool_before": "the older launch's context length was above its pool",
        "context_crossed_8192": "one context length is at most 8192 and the other above",
        "chunked_attention_model": "the model has chunked attention (Llama-4 style)",
        "kv_dtype_unchanged": "both launches print the same cache type, or the same bytes per token",
        "dsv4_unified_kv_fp8": "the engine printed that the unified cache stays in fp8",
        "eagle_slots_in_pool": "speculative slots are added to the pool (0.4.3 to 0.5.6)",
        "graph_bs_above_running": "the graph batch size is above the running requests in both launches",
        "fraction_unchanged": "mem_fraction_static is equal in both launches",
        "summary_chunk_off": "the summary line prints chunked_prefill_size -1, the settings do not",
        "prefill_above_chunk": "max_prefill_tokens is at least the chunk in both launches",
        "draft_unbudgeted": "the draft's pool is outside the budget",
        "failed_start": "the newer launch never became ready",
        "edited_not_reloaded": "the trail shows an edit, a restart and no daemon-reload between them",
        "given_twice": "the flag stands twice on the command line",
        "config_file_lost": "the file given by --config held another value",
        "suffix_given": "the value was given with a unit suffix",
        "version_changed": "the launches ran different releases",
        "free_memory_explains": "the memory free before loading explains the pool's move",
        "pool_collapsed_memory_idle": "the pool fell while much memory stayed free and no setting changed",
        "derived": "the change is derived",
        "renamed": "only the name changed",
    }
)


class Facts(Struct, frozen=True):
    """What is known of a launch pair when a pattern is asked; None and absence mean unknown."""

    values: Mapping[str, Any] = field(default_factory=dict)  # effective settings of the newer launch
    complete: bool = False  # a setting absent from `values` is at its default
    given: frozenset[str] | None = None  # settings on the command line; None where none is known
    events: frozenset[str] = frozenset()  # kinds that the newer launch printed
    start_seen: bool = False  # the newer launch's start is whole, so an absent line was not printed
    pools: frozenset[str] | None = None  # roles of its pools
    binding: str | None = None  # the sizing's binding limit
    computed: Mapping[str, bool | None] = field(default_factory=dict)  # FACTS


class Condition(Struct, frozen=True):
    """One table of `when`: what is looked at, how it is compared, with what."""

    subject: str  # setting | given | event | pool | binding | fact
    name: str
    test: str  # is | is_not | in | above | below | set
    operand: Any

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Condition:
        """Read one inline table; ValueError where it is none of the documented forms."""
        subjects = [key for key in table if key in _SUBJECTS]
        tests = [key for key in table if key in _TESTS]
        if len(subjects) != 1 or len(tests) > 1 or len(table) != len(subjects) + len(tests):
            raise ValueError(f"not a condition: {dict(table)}")
        subject = subjects[0]
        name = table[subject]
        if subject == "fact" and name not in FACTS:
            raise ValueError(f"no such fact: {name}")
        if subject == "setting" and not tests:
            raise ValueError(f"a setting needs a test: {dict(table)}")
        test = tests[0] if tests else "is"
        return cls(subject, name, test, table[test] if tests else True)

    def holds(self, facts: Facts, changed: str) -> bool | None:
        """Tell whether it holds; `changed` is the setting that "self" stands for. None where unknown."""
        seen = _SUBJECTS[self.subject](self.name if self.name != "self" else changed, facts)
        if seen is _UNSEEN:
            return None
        if self.test == "set":
            return (seen is not None) is self.operand
        return _compare(self.test, seen, self.operand)


_UNSEEN = object()
_TESTS = frozenset({"is", "is_not", "in", "above", "below", "set"})


def _compare(test: str, seen: Any, operand: Any) -> bool | None:
    if test == "is":
        return bool(seen == operand and isinstance(seen, bool) is isinstance(operand, bool))
    if test == "is_not":
        return bool(seen != operand)
    if test == "in":
        return bool(seen in operand)
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return None
    return bool(seen > operand if test == "above" else seen < operand)


def _setting(name: str, facts: Facts) -> Any:
    return facts.values.get(name, _UNSEEN)


def _given(name: str, facts: Facts) -> Any:
    return _UNSEEN if facts.given is None else name in facts.given


def _event(kind: str, facts: Facts) -> Any:
    if kind in facts.events:
        return True
    return False if facts.start_seen else _UNSEEN


def _pool(role: str, facts: Facts) -> Any:
    return _UNSEEN if facts.pools is None else role in facts.pools


def _binding(what: str, facts: Facts) -> Any:
    return _UNSEEN if facts.binding in (None, "unknown") else facts.binding == what


def _fact(name: str, facts: Facts) -> Any:
    known = facts.computed.get(name)
    return _UNSEEN if known is None else known


_SUBJECTS = {
    "setting": _setting,
    "given": _given,
    "event": _event,
    "pool": _pool,
    "binding": _binding,
    "fact": _fact,
}


def all_hold(conditions: Iterable[Condition], facts: Facts, changed: str) -> bool | None:
    """Tell whether all hold: False as soon as one fails, None where one is unknown, else True."""
    answer: bool | None = True
    for condition in conditions:
        held = condition.holds(facts, changed)
        if held is False:
            return False
        if held is None:
            answer = None
    return answer
