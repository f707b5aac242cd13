"""The fleet: what the tables of a catalogue say of all services together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.scan.whole import NO_HOST
from kvforensics.verdicts.verdict import BY_THE_ENGINE, NO_OPS, NOT_ABOUT_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvforensics.scan.catalogue import Catalogue

_WEEK_DAYS = 7.0
_DAY_US = 86_400_000_000.0
_STEP = 0.05  # a pool that moves by more with an upgrade is told
_SPREAD = 0.02  # pools of one configuration that differ by more are told
_LOCAL = (
    "host",
    "port",
    "node_rank",
    "dist_init_addr",
    "nccl_port",
    "random_seed",
    "base_gpu_id",
    "served_model_name",
)


_HIVE = {"host": pl.String}


class Section(Struct, frozen=True):
    """One question about the fleet and the rows that answer it, the most telling first."""

    name: str
    title: str
    rows: pl.DataFrame


def fleet(catalogue: Catalogue) -> list[Section]:
    """Return all sections, the empty ones too; each row with a `service` leads to that service's timeline."""
    try:
        tables = {name: _load(catalogue, name) for name in ("launches", "changes", "findings")}
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            "the catalogue has no tables yet",
            where=str(catalogue.folder),
            hint="kvforensics reduce --catalog DIR makes them",
        ) from error
    return [Section(name, title, make(**tables)) for name, title, make in _SECTIONS]


def _load(catalogue: Catalogue, name: str) -> pl.DataFrame:
    """Return a table, host by host; the settings only of each service's last launch with a pool."""
    files = sorted(catalogue.table(name).glob("host=*/*.parquet"))
    frames = [pl.read_parquet(file, hive_partitioning=True, hive_schema=_HIVE) for file in files]
    table = pl.concat([_slim(frame) if name == "launches" else frame for frame in frames])
    utc = pl.col(pl.Datetime).dt.replace_time_zone(None)
    return table.with_columns(pl.col("host").replace(NO_HOST, None), utc).sort(
        "host", "service", maintain_order=True, nulls_last=True
    )


def _slim(launches: pl.DataFrame) -> pl.DataFrame:
    numbered = launches.with_row_index("_row")
    ready = numbered.filter(pl.col("pool_tokens").is_not_null() & (pl.col("config") != "{}"))
    last = ready.sort("started_at", nulls_last=False).group_by("service").last()["_row"]
    kept = pl.when(pl.col("_row").is_in(last.implode())).then("config")
    return numbered.with_columns(kept.alias("config")).drop("_row")


def _services(launches: pl.DataFrame, changes: pl.DataFrame, findings: pl.DataFrame) -> pl.DataFrame:
    span = (pl.col("started_at").max() - pl.col("started_at").min()).dt.total_microseconds() / _DAY_US
    idle = _idle(changes).group_by("service").len("edits_without_effect")
    problems = findings.filter(pl.col("severity") != "info").group_by("service").len("problems")
    return (
        launches.sort("started_at", nulls_last=False)
        .group_by("service", "host", maintain_order=True)
        .agg(
            launches=pl.len(),
            launches_a_week=(pl.len() * _WEEK_DAYS / span.clip(lower_bound=_WEEK_DAYS)).round(2),
            failed=_died().sum(),
            version=pl.col("version_from").drop_nulls().last(),
            pool_tokens=pl.col("pool_tokens").drop_nulls().last(),
            context_len=pl.col("context_len").drop_nulls().last(),
            last_start=pl.col("started_at").max(),
        )
        .join(idle, on="service", how="left")
        .join(problems, on="service", how="left")
        .with_columns(pl.col("edits_without_effect", "problems").fill_null(0).cast(pl.Int64))
        .sort("edits_without_effect", "problems", "service", descending=[True, True, False])
    )


def _edits(changes: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    return (
        _idle(changes)
        .group_by("setting")
        .agg(
            times=pl.len(),
            services=pl.col("service").n_unique(),
            edited_by=_names("edited_by"),
            reason_codes=_names("reason_code"),
            service=_most("service"),
            last_reason=pl.col("reason").last(),
        )
        .sort("times", "setting", descending=[True, False])
    )


def _repeaters(changes: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    """Return who made the same kind of edit without effect more than once: a person, else a service."""
    by_person = _repeated(_idle(changes).filter(pl.col("edited_by").is_not_null()), "edited_by")
    by_service = _repeated(_idle(changes).filter(pl.col("edited_by").is_null()), "service")
    return pl.concat([by_person, by_service]).sort(
        "times", "who", "setting", "service", descending=[True, False, False, False]
    )


def _repeated(idle: pl.DataFrame, who: str) -> pl.DataFrame:
    return (
        idle.with_columns(pl.col(who).alias("who"))
        .group_by("who", "setting")
        .agg(
            times=pl.len(),
            services=pl.col("service").n_unique(),
            values=pl.col("after").drop_nulls().unique(maintain_order=True).str.join(", "),
            service=_most("service"),
        )
        .filter(pl.col("times") > 1)
    )


def _names(column: str) -> pl.Expr:
    return pl.col(column).drop_nulls().unique().sort().str.join(", ").replace("", None)


def _most(column: str) -> pl.Expr:
    return pl.col(column).mode().sort().first()


def _unequal(launches: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    same = launches.filter(pl.col("config").is_not_null())  # each service's last one with a pool
    keyed = same.with_columns(
        pl.col("config").map_elements(_shared_config, return_dtype=pl.String).alias("configuration")
    )
    model = pl.col("config").str.json_path_match("$.model_path").first()
    spread = (pl.col("pool_tokens").max() - pl.col("pool_tokens").min()) / pl.col("pool_tokens").max()
    low, high = pl.col("pool_tokens").arg_min(), pl.col("pool_tokens").arg_max()
    return (
        keyed.group_by("configuration", "version_from", maintain_order=True)
        .agg(
            model=model,
            services=pl.len(),
            smallest=pl.col("pool_tokens").min(),
            largest=pl.col("pool_tokens").max(),
            spread=spread.round(4),
            service=pl.col("service").get(low),
            largest_on=pl.col("service").get(high),
            before_load_smallest=pl.col("before_load_gib").get(low),
            before_load_largest=pl.col("before_load_gib").get(high),
        )
        .filter(pl.col("spread") > _SPREAD)
        .drop("configuration")
        .sort("spread", "service", descending=[True, False])
    )


def _versions(launches: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    last = launches.sort("started_at", nulls_last=False).group_by("service", maintain_order=True).last()
    return (
        last.group_by("version_from", "version_to")
        .agg(services=pl.len(), for_example=pl.col("service").min())
        .rename({"for_example": "service"})
        .sort("services", "service", descending=[True, False])
    )


def _of_finding(*ids: str) -> Callable[..., pl.DataFrame]:
    def rows(findings: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
        return (
            findings.filter(pl.col("id").is_in(ids))
            .group_by("service")
            .agg(times=pl.len(), last_launch=pl.col("launch").last(), detail=pl.col("detail").last())
            .sort("times", "service", descending=[True, False])
        )

    return rows


def _pressure(launches: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    return (
        launches.group_by("service")
        .agg(
            retractions=pl.col("retractions").sum(),
            refused=pl.col("rejected_too_long").sum(),
            peak_token_usage=pl.col("peak_token_usage").max(),
            peak_queue=pl.col("peak_queue").max(),
        )
        .filter((pl.col("retractions") > 0) | (pl.col("refused") > 0))
        .sort("retractions", "refused", "service", descending=[True, True, False])
    )


def _failed(launches: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    return (
        launches.filter(_died())
        .group_by("service")
        .agg(
            times=pl.len(),
            how=pl.col("end").unique().sort().str.join(", "),
            last=pl.col("launch").last(),
            last_at=pl.col("started_at").max(),
        )
        .sort("times", "service", descending=[True, False])
    )


def _upgrades(launches: pl.DataFrame, **_: pl.DataFrame) -> pl.DataFrame:
    before = {
        f"{name}_before": pl.col(name).shift().over("service") for name in ("version_from", "pool_tokens")
    }
    ready = launches.filter(pl.col("pool_tokens").is_not_null() & pl.col("version_from").is_not_null())
    moved = pl.col("pool_tokens") / pl.col("pool_tokens_before") - 1
    return (
        ready.sort("service", "started_at", nulls_last=False)
        .with_columns(**before)
        .filter(pl.col("version_from") != pl.col("version_from_before"))
        .with_columns(moved=moved.round(4))
        .filter(pl.col("moved").abs() > _STEP)
        .select(
            "service",
            "launch",
            "version_from_before",
            "version_from",
            "pool_tokens_before",
            "pool_tokens",
            "moved",
        )
        .sort(pl.col("moved").abs(), "service", descending=[True, False])
    )


def _idle(changes: pl.DataFrame) -> pl.DataFrame:
    return changes.filter(
        pl.col("verdict").is_in(NO_OPS) & ~pl.col("reason_code").is_in([NOT_ABOUT_MEMORY, BY_THE_ENGINE])
    )


def _died() -> pl.Expr:
    return pl.col("end").is_in(["failed_start", "crashed", "killed", "oom"])


def _shared_config(text: str) -> str:
    """Return a configuration without what differs from host to host by its nature."""
    return json.dumps({k: v for k, v in json.loads(text).items() if k not in _LOCAL}, sort_keys=True)


_SECTIONS: tuple[tuple[str, str, Callable[..., pl.DataFrame]], ...] = (
    ("services", "Services", _services),
    ("edits_without_effect", "Edits without effect", _edits),
    ("repeated_edits", "Who repeats them", _repeaters),
    ("unequal_pools", "Pools that differ under one configuration", _unequal),
    ("versions", "Releases in service", _versions),
    ("memory_left_idle", "Memory left idle", _of_finding("memory_left_idle")),
    ("pressure", "Retractions and refusals", _pressure),
    ("failed_starts", "Starts that failed and launches that died", _failed),
    ("upgrades", "Pools that moved with an upgrade", _upgrades),
)
