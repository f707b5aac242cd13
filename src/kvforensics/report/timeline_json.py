"""The public JSON of a timeline (schema `kvforensics.timeline/1`, shipped beside this module).

Names, units and vocabularies are a contract with other tools; fields may be added, none may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.plain import JSON, instant, plain
from kvforensics.sizing.budget import Budget

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis, Coverage, Service
    from kvforensics.events import Event
    from kvforensics.findings.finding import Finding
    from kvforensics.launches import Launch, Pool
    from kvforensics.records import Place, Source
    from kvforensics.verdicts.verdict import Effect, Verdict

SCHEMA = "kvforensics.timeline/1"


def timeline(analysis: Analysis) -> JSON:
    """Return the timeline document: times in UTC, memory in GiB, None where the log says nothing."""
    return {
        "schema": SCHEMA,
        "sources": [source(each) for each in analysis.sources],
        "coverage": coverage(analysis.coverage),
        "services": [_service(service, analysis.sources) for service in analysis.services],
        "is_problem": analysis.is_problem,
    }


def coverage(coverage: Coverage) -> JSON:
    """Return how much of the input was understood, with the unknown shapes and the damage."""
    return {
        "records": coverage.records,
        "understood": coverage.understood,
        "unknown": coverage.unknown,
        "unknown_shapes": [
            {"shape": plain(s.shape), "count": s.count, "first": _spot(s.first)}
            for s in coverage.unknown_shapes
        ],
        "damaged": [{"kind": d.kind, "count": d.count, "first": _spot(d.first)} for d in coverage.damaged],
    }


def launch(launch: Launch, budget: Budget) -> JSON:
    """Return one launch with its pool budget."""
    return {
        "id": launch.id,
        "started_at": instant(launch.started_at),
        "ready_at": instant(launch.ready_at),
        "ended_at": instant(launch.ended_at),
        "last_at": instant(launch.last_at),
        "end": launch.end,
        "engine": launch.engine,
        "version": {
            "from": launch.version.oldest,
            "to": launch.version.newest,
            "basis": launch.version.basis,
        },
        "device": launch.device,
        "complete_start": launch.complete_start,
        "config": plain(launch.config.values),
        "config_source": launch.config.source,
        "config_truncated": launch.config.truncated,
        "pool_tokens": launch.pool_tokens,
        "context_len": launch.context_len,
        "max_running_requests": launch.max_running_requests,
        "longest_prompt_tokens": launch.longest_prompt_tokens,
        "free_gib": launch.free_gib,
        "memory": {
            "before_load_gib": launch.memory.before_load_gib,
            "after_load_gib": launch.memory.after_load_gib,
            "after_pool_gib": launch.memory.after_pool_gib,
        },
        "pools": [_pool(pool) for pool in launch.pools],
        "bytes_per_token": budget.bytes_per_token,
        "sizing": _sizing(budget),
        "requests": {
            "rejected_too_long": launch.requests.rejected_too_long,
            "refused_by_pool": launch.requests.refused_by_pool,
            "refused_by_context": launch.requests.refused_by_context,
            "retractions": launch.requests.retractions,
            "peak_token_usage": launch.requests.peak_token_usage,
            "peak_running": launch.requests.peak_running,
            "peak_queue": launch.requests.peak_queue,
        },
        "downtime_s": launch.downtime_s,
        "evidence": {"config": None, "pool_tokens": None}
        | {name: place(where) for name, where in launch.evidence.items()},
    }


def change(verdict: Verdict) -> JSON:
    """Return one judged change."""
    change, effects = verdict.change, verdict.effects
    return {
        "from": change.from_launch,
        "to": change.to_launch,
        "setting": change.setting,
        "before": plain(change.before),
        "after": plain(change.after),
        "requested": plain(change.requested),
        "derived": change.derived,
        "verdict": verdict.verdict,
        "reason_code": verdict.reason_code,
        "reason": plain(verdict.reason),
        "advice": plain(verdict.advice),
        "effects": {
            "pool_tokens": _effect(effects.pool_tokens),
            "longest_prompt_tokens": _effect(effects.longest_prompt_tokens),
            "max_running_requests": _effect(effects.max_running_requests),
            "free_gib": _effect(effects.free_gib),
        },
        "attribution": verdict.attribution,
        "evidence": [place(where) for where in change.evidence],
    }


def finding(finding: Finding) -> JSON:
    """Return one finding."""
    return {
        "id": finding.id,
        "severity": finding.severity,
        "launch": finding.launch,
        "at": instant(finding.at),
        "title": plain(finding.title),
        "detail": plain(finding.detail),
        "fix": plain(finding.fix),
        "evidence": [place(where) for where in finding.evidence],
    }


def place(place: Place) -> JSON:
    """Return where a fact stands: path, 1-based line, journal cursor."""
    return {"path": plain(place.path), "line": place.line, "cursor": plain(place.cursor)}


def _spot(place: Place) -> JSON:
    return {"path": plain(place.path), "line": place.line}


def source(source: Source) -> JSON:
    """Return one input and what was counted in it."""
    return {
        "path": plain(source.path),
        "carrier": source.carrier,
        "layers": list(source.layers),
        "bytes": source.bytes,
        "lines": source.lines,
        "records": source.records,
        "repeated": source.repeated,
        "first_at": instant(source.first_at),
        "last_at": instant(source.last_at),
        "time_basis": source.time_basis,
    }


def _service(service: Service, sources: tuple[Source, ...]) -> JSON:
    return {
        "id": plain(service.id),
        "host": plain(service.host),
        "unit": plain(service.unit),
        "launches": [launch(each, service.budgets.get(each.id, Budget())) for each in service.launches],
        "changes": [change(verdict) for verdict in service.verdicts],
        "findings": [finding(each) for each in service.findings],
        "trail": [_trail(event, sources) for event in service.trail],
    }


def _trail(event: Event, sources: tuple[Source, ...]) -> JSON:
    return {
        "at": instant(event.at),
        "kind": event.kind,
        "fields": plain(event.fields),
        "text": plain(event.text),
        "evidence": {
            "path": plain(sources[event.source].path),
            "line": event.line,
            "cursor": plain(event.cursor),
        },
    }


def _pool(pool: Pool) -> JSON:
    return {
        "role": pool.role,
        "kind": pool.kind,
        "tokens": pool.tokens,
        "k_gib": pool.k_gib,
        "v_gib": pool.v_gib,
        "total_gib": pool.total_gib,
        "dtype": pool.dtype,
        "ranks": pool.ranks,
    }


def _sizing(budget: Budget) -> JSON:
    return {
        "rest_gib": budget.rest_gib,
        "pools_gib": budget.pools_gib,
        "closure_gib": budget.closure_gib,
        "closes": budget.closes,
        "why_not": budget.why_not,
        "predicted_tokens": budget.predicted_tokens,
        "residual_percent": budget.residual_percent,
        "error_percent": budget.error_percent,
        "binding": budget.binding,
    }


def _effect(effect: Effect) -> JSON:
    figures = {"before": effect.before, "after": effect.after, "outcome": effect.outcome}
    return figures if effect.baseline is None else figures | {"baseline": effect.baseline}
