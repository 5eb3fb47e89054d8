"""Load the names that completion needs, with statements in the user's session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from jetsql.completion.keyword_places import BEFORE_OPERAND
from jetsql.completion.known_names import TEMPORARY, JobName, KnownName, Names, SnapshotName, TableName
from jetsql.completion.needed_names import NameNeed, NameTopic
from jetsql.jobs.model.job import DROPPED, Status
from jetsql.language.tokens import quoted_name

# The seconds for which names stay fresh while the user types: other clients change them, too.
FRESH_SECONDS: Final = {
    NameTopic.JOBS: 2.0,
    NameTopic.SNAPSHOTS: 5.0,
    NameTopic.ALERTS: 5.0,
    NameTopic.TABLES: 60.0,
    NameTopic.COLUMNS: 60.0,
    NameTopic.SCHEMAS: 60.0,
    NameTopic.FUNCTIONS: 3600.0,
    NameTopic.CONFS: 3600.0,
}


class NameReader(Protocol):
    """The engine from which names are read."""

    def records(self, statement: str) -> Iterable[Mapping[str, Any]]:
        """Return the rows of a statement, by column name. Raises the errors of the engine."""

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        """Return the rows of SHOW ALL JOBS, by column name. Raises the errors of the engine."""


def load_names(reader: NameReader, need: NameNeed, names: Names) -> Names:
    """Return the names with those of a need. Raises the errors of the engine."""
    return _LOADERS[need.topic](reader, need, names)


def _load_jobs(reader: NameReader, need: NameNeed, names: Names) -> Names:
    jobs = reader.jobs()
    return replace(names, jobs=tuple(JobName(job["id"], job["name"], _status(job["status"])) for job in jobs))


def _status(shown: str) -> Status:
    """Return the status of a job in its life cycle. shown: as users see it"""
    return Status.FAILED if shown == DROPPED else Status(shown)


def _load_snapshots(reader: NameReader, need: NameNeed, names: Names) -> Names:
    rows = reader.records("SHOW SNAPSHOTS")
    return replace(names, snapshots=tuple(SnapshotName(row["name"], row["job"]) for row in rows))


def _load_alerts(reader: NameReader, need: NameNeed, names: Names) -> Names:
    rows = reader.records("SHOW ALERTS")
    return replace(names, alerts=tuple(KnownName(row["name"], _about(row["job"])) for row in rows))


def _about(job: str | None) -> str:
    return "on all jobs" if job is None else f"on job {job}"


def _load_schemas(reader: NameReader, need: NameNeed, names: Names) -> Names:
    return replace(names, schemas=tuple(row["namespace"] for row in reader.records("SHOW SCHEMAS")))


def _load_tables(reader: NameReader, need: NameNeed, names: Names) -> Names:
    """Load the tables and views of a schema, and the temporary views, which Spark lists with any schema."""
    in_schema = f" IN {quoted_name(need.schema)}"
    views = {(row["viewName"], row["isTemporary"]) for row in reader.records(f"SHOW VIEWS{in_schema}")}
    rows = list(reader.records(f"SHOW TABLES{in_schema}"))
    permanent = tuple(
        TableName(row["tableName"], (row["tableName"], False) in views) for row in rows if not row["isTemporary"]
    )
    temporary = tuple(TableName(row["tableName"], True) for row in rows if row["isTemporary"])
    return replace(names, tables={**names.tables, need.schema: permanent, TEMPORARY: temporary})


def _load_columns(reader: NameReader, need: NameNeed, names: Names) -> Names:
    schema = f"{quoted_name(need.schema)}." if need.schema != TEMPORARY else ""
    columns: list[KnownName] = []
    for row in reader.records(f"DESCRIBE TABLE {schema}{quoted_name(need.table)}"):
        if not row["col_name"] or row["col_name"].startswith("# "):
            break  # partition columns and metadata follow
        columns.append(KnownName(row["col_name"], row["data_type"]))
    return replace(names, columns={**names.columns, need.table_key: tuple(columns)})


def _load_functions(reader: NameReader, need: NameNeed, names: Names) -> Names:
    listed = {row["function"].rsplit(".", 1)[-1] for row in reader.records("SHOW FUNCTIONS")}
    called = (name for name in listed if name.upper() not in BEFORE_OPERAND)  # Spark also lists NOT, AND and LIKE
    return replace(names, functions=tuple(KnownName(name) for name in sorted(called)))


def _load_confs(reader: NameReader, need: NameNeed, names: Names) -> Names:
    rows = reader.records("SET -v")
    known = (KnownName(row["key"], " ".join((row["meaning"] or "").split()).partition(". ")[0]) for row in rows)
    return replace(names, confs=tuple(sorted(known, key=lambda conf: conf.name)))


_LOADERS: Final[dict[NameTopic, Callable[[NameReader, NameNeed, Names], Names]]] = {
    NameTopic.JOBS: _load_jobs,
    NameTopic.SNAPSHOTS: _load_snapshots,
    NameTopic.ALERTS: _load_alerts,
    NameTopic.SCHEMAS: _load_schemas,
    NameTopic.TABLES: _load_tables,
    NameTopic.COLUMNS: _load_columns,
    NameTopic.FUNCTIONS: _load_functions,
    NameTopic.CONFS: _load_confs,
}
