"""SQL over a catalogue (DuckDB, extra `kvforensics[sql]`); the datasets are views named as their folders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.errors import MissingExtraError, UsageError
from kvforensics.scan.catalogue import TABLES
from kvforensics.scan.store import PUBLIC

if TYPE_CHECKING:
    import polars as pl

    from kvforensics.scan.catalogue import Catalogue

VIEWS = (*PUBLIC, *TABLES)


def query(catalogue: Catalogue, sql: str) -> pl.DataFrame:
    """Run a query over the views `events`, `runtime`, `launches`, `changes`, `findings`, `sources`.

    It reads the catalogue's files and no others. Raises UsageError for SQL that cannot be run,
    MissingExtraError without DuckDB.
    """
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "queries need DuckDB", hint="install the extra: pip install 'kvforensics[sql]'"
        ) from error
    import polars as pl  # noqa: PLC0415

    connection: Any = duckdb.connect()
    try:
        for view in VIEWS:
            folder = catalogue.table(view).resolve()
            if any(folder.rglob("*.parquet")):
                pattern = _quoted(f"{folder}/**/*.parquet")
                hive = "hive_partitioning=true, hive_types_autocast=false"
                source = f"read_parquet({pattern}, union_by_name=true, {hive})"
                connection.execute(f"CREATE VIEW {view} AS SELECT * FROM {source}")  # noqa: S608 - our own names
        connection.execute(f"SET allowed_directories=[{_quoted(f'{catalogue.folder.resolve()}/')}]")
        connection.execute("SET enable_external_access=false; SET lock_configuration=true")
        result = connection.execute(sql)
        names = [column[0] for column in result.description or ()]
        return pl.DataFrame(result.fetchall(), schema=names, orient="row", infer_schema_length=None)
    except duckdb.Error as error:
        views = ", ".join(VIEWS)
        raise UsageError(str(error).splitlines()[0], hint=f"the tables are {views}") from error
    finally:
        connection.close()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
