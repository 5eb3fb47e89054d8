"""The cache of names for completion: a thread queries the engine for the names that the text at the prompt needs.

It queries nothing while the user does not type, no names that are still fresh, and columns only of tables named in the
text. The queries run in the shell's own session, in parallel to its statements, because only that session has its
temporary views. If the engine is gone, is busy or refuses a query, completion offers fewer names, without an error.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Final

from jetsql.client.remote_engine import RemoteEngine
from jetsql.errors import EngineError, ReportedError
from jetsql.jobs.model.job import Status, quoted_name
from jetsql.shell.completion.complete import complete
from jetsql.shell.completion.keyword_places import BEFORE_OPERAND
from jetsql.shell.completion.known_names import TEMPORARY, JobName, KnownName, Names, SnapshotName, TableName
from jetsql.shell.completion.needed_names import NameNeed, NameTopic, needed_names
from jetsql.shell.session.background_threads import FailureHandler, run_until_stopped
from jetsql.shell.session.engine_connection import BackgroundConnection, EngineConnection
from jetsql.shell.session.statement_effects import first_words

# The seconds for which names stay fresh while the user types: other clients change them, too.
_FRESH_SECONDS: Final = {
    NameTopic.JOBS: 2.0,
    NameTopic.SNAPSHOTS: 5.0,
    NameTopic.TABLES: 60.0,
    NameTopic.COLUMNS: 60.0,
    NameTopic.SCHEMAS: 60.0,
    NameTopic.FUNCTIONS: 3600.0,
    NameTopic.CONFS: 3600.0,
}
# Loading the grammar earlier would delay the first prompt.
_WARM_UP_SECONDS: Final = 0.3
_CLOSE_SECONDS: Final = 0.2

_JOB_TOPICS: Final = frozenset({NameTopic.JOBS, NameTopic.SNAPSHOTS})
_CATALOG_TOPICS: Final = frozenset({NameTopic.TABLES, NameTopic.COLUMNS, NameTopic.SCHEMAS})
# The topics that are stale after a statement with this first word; other statements change no names.
_STALE_AFTER: Final = {
    "CREATE": _JOB_TOPICS | _CATALOG_TOPICS,
    "DROP": _JOB_TOPICS | _CATALOG_TOPICS,
    "ALTER": _JOB_TOPICS | _CATALOG_TOPICS,
    "REPLACE": _CATALOG_TOPICS,
    "CACHE": _CATALOG_TOPICS,
    "USE": frozenset({NameTopic.FUNCTIONS}),
    "BEGIN": _JOB_TOPICS | _CATALOG_TOPICS,
    "SUSPEND": _JOB_TOPICS,
    "RESUME": _JOB_TOPICS,
    "RESTART": _JOB_TOPICS,
    "WAIT": _JOB_TOPICS,
}


class CatalogCache:
    """The cache and its thread.

    on_change: called on the cache's thread with new names. on_failure: called there with unexpected errors.
    """

    def __init__(self, connection: EngineConnection, on_change: Callable[[], None], on_failure: FailureHandler) -> None:
        self._connection = connection
        self._on_change = on_change
        self._on_failure = on_failure
        self._names = Names()
        self._loaded_at: dict[NameNeed, float] = {}
        self._typed: tuple[str, int] | None = None
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._background = BackgroundConnection()
        self._thread = threading.Thread(target=self._run, name="names", daemon=True)

    @property
    def names(self) -> Names:
        """Return the names loaded so far, with the session's schema."""
        schema = self._connection.state.schema
        return self._names if self._names.schema == schema else replace(self._names, schema=schema)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, without waiting for a running query."""
        self._stopped.set()
        self._woken.set()
        self._thread.join(_CLOSE_SECONDS)

    def request(self, text: str, cursor: int) -> None:
        """Request the names that completion of this text needs. Returns immediately."""
        self._typed = (text, cursor)
        self._woken.set()

    def wake_up(self) -> None:
        """Load missing names after a change of the connection."""
        if self._connection.current is not self._background.source:
            self._woken.set()

    def expire_names(self, text: str) -> None:
        """Expire the names that a successful statement may have changed; they are loaded again when needed."""
        first = first_words(text)
        topics = _STALE_AFTER.get(first[0] if first else "", frozenset())
        if "FUNCTION" in first:
            topics |= {NameTopic.FUNCTIONS}
        with self._lock:
            self._loaded_at = {need: loaded for need, loaded in self._loaded_at.items() if need.topic not in topics}

    def _run(self) -> None:
        self._woken.wait(_WARM_UP_SECONDS)
        complete("SHOW ", 5, self._names)  # loads the grammar before the user needs it
        gc.freeze()  # scanning the loaded modules in a garbage collection would delay a key by 40 ms
        run_until_stopped(self._wait_and_load, self._stopped, self._on_failure)
        self._forget()

    def _wait_and_load(self) -> None:
        self._woken.wait()
        self._woken.clear()
        self._load_needed()

    def _load_needed(self) -> None:
        """Load all needed names that are not fresh, including needs that arise from loaded names."""
        while self._typed is not None and not self._stopped.is_set():
            need = next((each for each in needed_names(*self._typed, self.names) if not self._is_fresh(each)), None)
            if need is None or not self._load(need):
                return
            self._on_change()

    def _is_fresh(self, need: NameNeed) -> bool:
        loaded = self._loaded_at.get(need)
        return loaded is not None and monotonic() - loaded < _FRESH_SECONDS[need.topic]

    def _load(self, need: NameNeed) -> bool:
        """Load the names of a need. Return whether the engine answered, even with an error."""
        started = monotonic()
        try:
            engine = self._engine()
            if engine is None:
                return False
            with self._lock:
                self._loaded_at[need] = started
            self._names = _LOADERS[need.topic](engine, need, self.names)
        except EngineError:
            self._forget()
            return False
        except ReportedError as error:
            if error.report.condition == "JETSQL.SESSION_NOT_FOUND":
                self._forget()
                return False
        return True

    def _engine(self) -> RemoteEngine | None:
        """Return the shell's engine on the cache's connection; clear the cache for a new engine."""
        source = self._connection.current
        if source is not self._background.source:
            self._forget()
        return None if source is None else self._background.open_for(source)

    def _forget(self) -> None:
        self._background.close()
        with self._lock:
            self._loaded_at.clear()


def _load_jobs(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    jobs = engine.request("GET", "/v1/jobs?all=true")["jobs"]
    return replace(names, jobs=tuple(JobName(job["id"], job["name"], Status(job["status"])) for job in jobs))


def _load_snapshots(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    rows = engine.run("SHOW SNAPSHOTS").records
    return replace(names, snapshots=tuple(SnapshotName(row["name"], row["job"]) for row in rows))


def _load_schemas(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    return replace(names, schemas=tuple(row["namespace"] for row in engine.run("SHOW SCHEMAS").records))


def _load_tables(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    """Load the tables and views of a schema, and the temporary views, which Spark lists with any schema."""
    in_schema = f" IN {quoted_name(need.schema)}"
    views = {(row["viewName"], row["isTemporary"]) for row in engine.run(f"SHOW VIEWS{in_schema}").records}
    rows = list(engine.run(f"SHOW TABLES{in_schema}").records)
    permanent = tuple(
        TableName(row["tableName"], (row["tableName"], False) in views) for row in rows if not row["isTemporary"]
    )
    temporary = tuple(TableName(row["tableName"], True) for row in rows if row["isTemporary"])
    return replace(names, tables={**names.tables, need.schema: permanent, TEMPORARY: temporary})


def _load_columns(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    schema = f"{quoted_name(need.schema)}." if need.schema != TEMPORARY else ""
    columns: list[KnownName] = []
    for row in engine.run(f"DESCRIBE TABLE {schema}{quoted_name(need.table)}").records:
        if not row["col_name"] or row["col_name"].startswith("# "):
            break  # partition columns and metadata follow
        columns.append(KnownName(row["col_name"], row["data_type"]))
    return replace(names, columns={**names.columns, need.table_key: tuple(columns)})


def _load_functions(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    listed = {row["function"].rsplit(".", 1)[-1] for row in engine.run("SHOW FUNCTIONS").records}
    called = (name for name in listed if name.upper() not in BEFORE_OPERAND)  # Spark also lists NOT, AND and LIKE
    return replace(names, functions=tuple(KnownName(name) for name in sorted(called)))


def _load_confs(engine: RemoteEngine, need: NameNeed, names: Names) -> Names:
    rows = engine.run("SET -v").records
    known = (KnownName(row["key"], " ".join((row["meaning"] or "").split()).partition(". ")[0]) for row in rows)
    return replace(names, confs=tuple(sorted(known, key=lambda conf: conf.name)))


_LOADERS: Final[dict[NameTopic, Callable[[RemoteEngine, NameNeed, Names], Names]]] = {
    NameTopic.JOBS: _load_jobs,
    NameTopic.SNAPSHOTS: _load_snapshots,
    NameTopic.SCHEMAS: _load_schemas,
    NameTopic.TABLES: _load_tables,
    NameTopic.COLUMNS: _load_columns,
    NameTopic.FUNCTIONS: _load_functions,
    NameTopic.CONFS: _load_confs,
}
