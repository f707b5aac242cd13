"""A launch pair as the rules see it: both launches, what changed, what moved, what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.knowledge import Facts, knob, within
from kvforensics.settings import normalise
from kvforensics.settings.command_line import CONFIG_FILE
from kvforensics.sizing.closure import AITER_CONTEXT
from kvforensics.sizing.facts import EAGLE_LIKE, algorithm, facts, first_event, last_event, number
from kvforensics.verdicts.moves import fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kvforensics.changes import Change
    from kvforensics.knowledge import Pattern
    from kvforensics.launches import Launch
    from kvforensics.sizing import Budget
    from kvforensics.verdicts.effects import Noise
    from kvforensics.verdicts.verdict import Effects

_SAME_BYTES = 0.01  # pools' lines of one dtype agree within this


class Situation(Struct, frozen=True):
    """One pair. `older` is the launch that the pool is measured against, `before` the one right before."""

    before: Launch
    older: Launch
    newer: Launch
    changes: tuple[Change, ...]  # what differs between `older` and `newer`
    steps: tuple[Change, ...]  # what differs between `before` and `newer`
    effects: Effects
    budgets: Mapping[str, Budget]
    noise: Noise
    known: Facts = field(default_factory=Facts)  # for the patterns

    @property
    def pool(self) -> str:
        """Outcome of the pool."""
        return self.effects.pool_tokens.outcome

    @property
    def binding(self) -> tuple[str, str]:
        """What limited the pool before and after."""
        return self._binding(self.older), self._binding(self.newer)

    @property
    def version_changed(self) -> bool:
        """Whether the launches certainly ran different releases."""
        old, new = self.older.version, self.newer.version
        if old.oldest is None or new.oldest is None:
            return False
        return within(old, new.oldest, new.newest) is False

    @property
    def complete(self) -> bool:
        """Whether both launches show all their settings, so that none can hide another change."""
        return not any(
            one.config.truncated or one.config.source in ("partial", "none")
            for one in (self.older, self.newer)
        )

    def changed(self, setting: str) -> Change | None:
        """Return this pair's change of a setting."""
        return next((c for c in self.changes if c.setting == setting), None)

    def _binding(self, launch: Launch) -> str:
        budget = self.budgets.get(launch.id)
        return budget.binding if budget is not None else "unknown"


def rivals(change: Change, changes: Iterable[Change]) -> Iterator[Change]:
    """Yield the other changes that somebody made: no derived ones, none of the same feature's one edit."""
    own = knob(change.setting)
    for other in changes:
        known = knob(other.setting)
        together = own is not None and known is not None and own.feature is not None
        if other.setting == change.setting or other.derived:
            continue
        if together and known is not None and own is not None and known.feature == own.feature:
            continue
        yield other


def holds(pattern: Pattern, change: Change, way: int | None, pair: Situation) -> bool:
    """Whether a pattern is proven for a change: by its conditions, or by a line that it names.

    A pattern that has lines and no conditions needs one of the lines; conditions that are unknown and no
    line prove nothing.
    """
    if not fits(pattern.move, change, way):
        return False
    proof = any(kind in pair.known.events for kind in pattern.events)
    applies = pattern.applies(change.setting, pair.newer.version, pair.known)
    if applies is False:
        return False
    if pattern.events and not pattern.when:
        return proof
    return applies is True or proof


def pattern_facts(older: Launch, newer: Launch, budgets: Mapping[str, Budget]) -> Facts:
    """Return what the patterns may ask about a pair; what the log does not say stays unknown."""
    budget = budgets.get(newer.id)
    values = newer.config.values
    return Facts(
        values=values,
        complete=newer.config.source == "server_args" and not newer.config.truncated,
        given=_given(newer),
        events=frozenset(e.kind for e in newer.events),
        start_seen=newer.complete_start and newer.ready_at is not None,
        pools=frozenset(p.role for p in newer.pools) or None,
        binding=budget.binding if budget is not None else None,
        computed=_computed(older, newer, budgets),
    )


def _given(launch: Launch) -> frozenset[str] | None:
    """Return the settings on the command line; None where none is known, or a file may hold more."""
    requested = launch.config.requested
    if not requested or CONFIG_FILE in requested:
        return None
    return frozenset(normalise(requested, names=launch.config.values)) | frozenset(requested)


def _computed(older: Launch, newer: Launch, budgets: Mapping[str, Budget]) -> dict[str, bool | None]:
    loaded = first_event(newer, "load_end")
    model = str(loaded.fields.get("model_type") or "") if loaded else None
    return {
        "context_above_pool_before": _context_above_pool(older, newer),
        "context_crossed_8192": _crossed(older, newer),
        "chunked_attention_model": None if model is None else "Llama4" in model,
        "kv_dtype_unchanged": _same_dtype(older, newer),
        "eagle_slots_in_pool": algorithm(newer) in EAGLE_LIKE
        and within(newer.version, "0.4.3", "0.5.6") is not False,
        "graph_bs_above_running": _graphs_above_running(older, newer),
        "fraction_unchanged": _equal(older, newer, "mem_fraction_static"),
        "summary_chunk_off": _chunk_off(newer),
        "prefill_above_chunk": _prefill_above_chunk(older) and _prefill_above_chunk(newer),
        "draft_unbudgeted": any(
            b is not None and b.why_not == "draft_pool_unbudgeted"
            for b in (budgets.get(older.id), budgets.get(newer.id))
        ),
        "failed_start": newer.end == "failed_start",
    }


def _context_above_pool(older: Launch, newer: Launch) -> bool | None:
    """Whether the pool limited a prompt before, and would have under the old context after."""
    context, old, new = older.context_len, older.pool_tokens, newer.pool_tokens
    if context is None or old is None or new is None:
        return None
    return context >= max(old, new)


def _crossed(older: Launch, newer: Launch) -> bool | None:
    old, new = older.context_len, newer.context_len
    return None if old is None or new is None else (old > AITER_CONTEXT) != (new > AITER_CONTEXT)


def _same_dtype(older: Launch, newer: Launch) -> bool | None:
    old, new = _dtype(older), _dtype(newer)
    if old is not None and new is not None:
        return old == new
    bytes_old, bytes_new = facts(older).bytes_shown, facts(newer).bytes_shown
    if bytes_old is None or bytes_new is None:
        return None
    return abs(bytes_new - bytes_old) <= _SAME_BYTES * bytes_old


def _dtype(launch: Launch) -> str | None:
    printed = last_event(launch, "kv_dtype")
    if printed is not None and printed.fields.get("dtype"):
        return str(printed.fields["dtype"])
    return next((p.dtype for p in launch.pools if p.role in ("target", "full") and p.dtype), None)


def _graphs_above_running(older: Launch, newer: Launch) -> bool | None:
    answers = []
    for launch in (older, newer):
        values = launch.config.values
        size = number(values.get("cuda_graph_max_bs", values.get("cuda_graph_max_bs_decode")))
        if size is None or launch.max_running_requests is None:
            return None
        answers.append(size >= launch.max_running_requests)
    return all(answers)


def _equal(older: Launch, newer: Launch, setting: str) -> bool | None:
    old, new = older.config.values.get(setting), newer.config.values.get(setting)
    return None if old is None or new is None else bool(old == new)


def _chunk_off(launch: Launch) -> bool | None:
    summary = last_event(launch, "summary")
    asked: Any = launch.config.values.get("chunked_prefill_size")
    if summary is None or asked is None:
        return None
    return summary.fields.get("chunked_prefill_size") == -1 and asked != -1


def _prefill_above_chunk(launch: Launch) -> bool:
    limit = number(launch.config.values.get("max_prefill_tokens"))
    chunk = number(launch.config.values.get("chunked_prefill_size"))
    return limit is not None and chunk is not None and chunk > 0 and limit >= chunk
