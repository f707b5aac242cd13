"""What applied in a launch: its settings as the engine used them, and what was asked where that differs.

`server_args=` shows most values as the engine uses them, but some are cut later, in the scheduler's
process, and only another line says so. Sources: the order of lines in SGLang 0.3.0 to 0.5.23.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.settings import attention_groups, normalise, same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.events import Event
    from kvforensics.launches import Launch

# Settings that the parser or the engine rewrites into another form of the same wish.
_REWRITTEN = frozenset(
    {
        "model_path", "tokenizer_path", "served_model_name", "lora_paths", "lora_target_modules",
        "chat_template", "tool_call_parser", "reasoning_parser", "dist_init_addr", "nccl_init_addr", "host",
        "forward_hooks", "speculative_draft_model_path", "cuda_graph_config", "custom_weight_loader",
        "log_level", "log_level_http", "api_key", "admin_api_key", "ssl_keyfile_password",
    }
)  # fmt: skip
DIVIDED = frozenset({"chunked_prefill_size", "max_running_requests"})  # over attention groups
_ENGINE_DECIDES = (None, "auto")


class Applied(Struct):
    """Settings of one launch, named as its release names them."""

    values: dict[str, Any]  # what applied
    asked: dict[str, Any] = field(default_factory=dict)  # only where it differs from what applied
    divided: set[str] = field(default_factory=set)  # asked for all ranks, applied to each: no cut
    groups: int | None = None  # attention groups that share requests and chunks

    def cut(self, name: str, value: Any) -> None:
        """Note that the engine made `value` out of what was asked."""
        before = self.values.get(name)
        if not same(name, before, value):
            self.asked.setdefault(name, before)
            self.values[name] = value
            self.divided.discard(name)


def applied(launch: Launch) -> Applied:
    """Return what applied in a launch: its settings held against its command line and the lines that cut."""
    found = Applied(dict(launch.config.values))
    found.groups = attention_groups(found.values)
    _compare_with_request(found, launch)
    _adjustments(found, launch)
    _summary(found, launch)
    _cap(found, launch)
    _running(found, launch)
    _context(found, launch)
    _rejected_context(found, launch)
    return found


def _compare_with_request(found: Applied, launch: Launch) -> None:
    requested = normalise(launch.config.requested, names=found.values)
    for name, asked in requested.items():
        if name in _REWRITTEN or name not in found.values or _is_left_to_the_engine(asked):
            continue
        value = found.values[name]
        if same(name, asked, value):
            continue
        found.asked[name] = asked
        if name in DIVIDED and _share(asked, found.groups) == value:
            found.divided.add(name)


def _is_left_to_the_engine(asked: Any) -> bool:
    return any(asked is one or asked == one for one in _ENGINE_DECIDES)


def _adjustments(found: Applied, launch: Launch) -> None:
    """Take the engine's own changes that came after the settings were printed."""
    from_settings = launch.config.source == "server_args"
    printed = 0
    if from_settings:
        kinds = [event.kind for event in launch.events]
        printed = len(kinds) - kinds[::-1].index("server_args") if "server_args" in kinds else 0
    for event in launch.events[printed:]:
        prefix, _, name = event.kind.partition("adjust__")
        value = event.fields.get("value")
        if prefix or not name or value is None or name not in found.values:
            continue
        before = found.values[name]
        if before is None or _is_number(before) == _is_number(value):
            found.cut(name, value)


def _summary(found: Applied, launch: Launch) -> None:
    """Take the chunk size of the summary line: the scheduler may have turned chunks off."""
    shown = _last(launch, "summary", "chunked_prefill_size")
    if _is_number(shown) and _is_number(found.values.get("chunked_prefill_size")):
        found.cut("chunked_prefill_size", shown)


def _cap(found: Applied, launch: Launch) -> None:
    """Take the profiled size where max_total_tokens was above it; less than a page lost is no cut."""
    profiled = [_field(event, "profiled") for event in launch.events if event.kind == "cap_above_profile"]
    sizes = [size for size in profiled if size is not None]
    asked = found.values.get("max_total_tokens")
    if asked is None:
        asked = _last(launch, "cap_above_profile", "requested")
    if sizes and _is_number(asked) and asked - min(sizes) >= _page(found.values):
        found.values.setdefault("max_total_tokens", asked)
        found.cut("max_total_tokens", min(sizes))


def _running(found: Applied, launch: Launch) -> None:
    """Compare the asked number of running requests with what each rank serves."""
    asked = found.values.get("max_running_requests")
    granted = launch.max_running_requests
    if granted is None:
        granted = _last(launch, "running_capped_mamba", "granted") or _last(
            launch, "running_reduced", "granted"
        )
    if isinstance(asked, bool) or not isinstance(asked, int) or granted is None:
        return
    share = _share(asked, found.groups or 1)
    if share is not None and granted < share:
        found.cut("max_running_requests", granted)


def _context(found: Applied, launch: Launch) -> None:
    """Take the context length of the summary line where it is shorter than asked: the model's own."""
    asked: Any = found.values.get("context_length")
    if _is_number(asked) and launch.context_len is not None and launch.context_len < asked:
        found.cut("context_length", launch.context_len)


def _rejected_context(found: Applied, launch: Launch) -> None:
    """Take the context length of a start that died over it: it stands in the error alone."""
    asked = _last(launch, "context_rejected", "asked")
    if asked is not None:
        found.values.setdefault("context_length", asked)


def _share(asked: Any, groups: int | None) -> int | None:
    """Return one group's part of a number asked for all of them."""
    if isinstance(asked, bool) or not isinstance(asked, int) or not groups:
        return None
    return max(1, asked // groups) if asked > 0 else asked


def share(found: Applied, name: str) -> Any:
    """Return what one attention group gets of a divided setting: cuts are per group as printed."""
    value = found.values.get(name)
    if name != "max_running_requests" or name in found.asked:
        return value
    part = _share(value, found.groups)
    return value if part is None else part


def _page(values: Mapping[str, Any]) -> int:
    page = values.get("page_size")
    return page if isinstance(page, int) and page > 0 else 1


def _last(launch: Launch, kind: str, name: str) -> Any:
    found = [_field(event, name) for event in launch.events if event.kind == kind]
    return found[-1] if found else None


def _field(event: Event, name: str) -> Any:
    return event.fields.get(name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
