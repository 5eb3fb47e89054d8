"""Keeps the names for completion: asks the engine on a thread of its own for what the text at the prompt needs.

Nothing is asked while nobody types, nothing twice while it is fresh, and columns only of tables that the text names. It
asks in the shell's own session, beside the statements, because only there its temporary views are seen. An engine that
is gone, busy or of another mind is no error here: then there are fewer names.
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
from jetsql.shell.completion.known_names import TEMPORARY, JobName, Known, Names, SnapshotName, TableName
from jetsql.shell.completion.needed_names import Fact, Topic, needs_of
from jetsql.shell.session.background_threads import Failed, go_on
from jetsql.shell.session.engine_connection import BackgroundConnection, EngineConnection
from jetsql.shell.session.session_state import words

# For how long an answer is good while somebody types: others have the engine too.
_GOOD_SECONDS: Final = {
    Topic.JOBS: 2.0,
    Topic.SNAPSHOTS: 5.0,
    Topic.TABLES: 60.0,
    Topic.COLUMNS: 60.0,
    Topic.SCHEMAS: 60.0,
    Topic.FUNCTIONS: 3600.0,
    Topic.CONFS: 3600.0,
}
# The prompt is to stand first; loading the grammar would hold it up.
_WARM_AFTER_SECONDS: Final = 0.3
_LEAVE_SECONDS: Final = 0.2

_MOVING: Final = frozenset({Topic.JOBS, Topic.SNAPSHOTS})
_CATALOG: Final = frozenset({Topic.TABLES, Topic.COLUMNS, Topic.SCHEMAS})
# What is old news after a statement that begins so; other statements change no name.
_CHANGES: Final = {
    "CREATE": _MOVING | _CATALOG,
    "DROP": _MOVING | _CATALOG,
    "ALTER": _MOVING | _CATALOG,
    "REPLACE": _CATALOG,
    "CACHE": _CATALOG,
    "USE": frozenset({Topic.FUNCTIONS}),
    "BEGIN": _MOVING | _CATALOG,
    "SUSPEND": _MOVING,
    "RESUME": _MOVING,
    "RESTART": _MOVING,
    "WAIT": _MOVING,
}


class CatalogCache:
    """changed: called on the keeper's thread when there are new names. failed: told there what nobody foresaw."""

    def __init__(self, link: EngineConnection, changed: Callable[[], None], failed: Failed) -> None:
        self._link = link
        self._changed = changed
        self._failed = failed
        self._names = Names()
        self._fresh: dict[Fact, float] = {}
        self._typed: tuple[str, int] | None = None
        self._woken = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._beside = BackgroundConnection()
        self._thread = threading.Thread(target=self._keep, name="names", daemon=True)

    @property
    def names(self) -> Names:
        """What is known at this moment, for the session's schema."""
        schema = self._link.state.schema
        return self._names if self._names.schema == schema else replace(self._names, schema=schema)

    def begin(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """A question that is under way holds nobody up."""
        self._over.set()
        self._woken.set()
        self._thread.join(_LEAVE_SECONDS)

    def want(self, text: str, cursor: int) -> None:
        """Somebody types this; what it needs will be asked for. Costs nothing."""
        self._typed = (text, cursor)
        self._woken.set()

    def wake(self) -> None:
        """The link has changed: what could not be asked for before may be there now."""
        if self._link.now is not self._beside.source:
            self._woken.set()

    def statement_done(self, text: str) -> None:
        """A statement has succeeded that may have changed names: they are asked for again when they are needed."""
        first = words(text)
        topics = _CHANGES.get(first[0] if first else "", frozenset())
        if "FUNCTION" in first:
            topics |= {Topic.FUNCTIONS}
        with self._lock:
            self._fresh = {fact: asked for fact, asked in self._fresh.items() if fact.topic not in topics}

    def _keep(self) -> None:
        self._woken.wait(_WARM_AFTER_SECONDS)
        complete("SHOW ", 5, self._names)  # loads the grammar, before most keys need it
        gc.freeze()  # what is loaded stays; to look through it for garbage would hold up some key for 40 ms
        go_on(self._turn, self._over, self._failed)
        self._forget()

    def _turn(self) -> None:
        self._woken.wait()
        self._woken.clear()
        self._ask_all()

    def _ask_all(self) -> None:
        """Everything that the text needs and that is not fresh; what the answers bring up is needed too."""
        while self._typed is not None and not self._over.is_set():
            fact = next((each for each in needs_of(*self._typed, self.names) if not self._is_fresh(each)), None)
            if fact is None or not self._asked(fact):
                return
            self._changed()

    def _is_fresh(self, fact: Fact) -> bool:
        asked = self._fresh.get(fact)
        return asked is not None and monotonic() - asked < _GOOD_SECONDS[fact.topic]

    def _asked(self, fact: Fact) -> bool:
        """Whether the engine had an answer, if only that it has none."""
        began = monotonic()
        try:
            engine = self._engine()
            if engine is None:
                return False
            with self._lock:
                self._fresh[fact] = began
            self._names = _ANSWERS[fact.topic](engine, fact, self.names)
        except EngineError:
            self._forget()
            return False
        except ReportedError as error:
            if error.report.condition == "JETSQL.SESSION_NOT_FOUND":
                self._forget()
                return False
        return True

    def _engine(self) -> RemoteEngine | None:
        """The link's own engine, on a connection of ours; a new one knows other temporary views, if not more."""
        source = self._link.now
        if source is not self._beside.source:
            self._forget()
        return None if source is None else self._beside.of(source)

    def _forget(self) -> None:
        self._beside.leave()
        with self._lock:
            self._fresh.clear()


def _jobs(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    told = engine.request("GET", "/v1/jobs?all=true")["jobs"]
    return replace(names, jobs=tuple(JobName(job["id"], job["name"], Status(job["status"])) for job in told))


def _snapshots(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    rows = engine.run("SHOW SNAPSHOTS").records
    return replace(names, snapshots=tuple(SnapshotName(row["name"], row["job"]) for row in rows))


def _schemas(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    return replace(names, schemas=tuple(row["namespace"] for row in engine.run("SHOW SCHEMAS").records))


def _tables(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    """The tables and views of a schema, and the temporary views, which come with those of any."""
    place = f" IN {quoted_name(fact.schema)}"
    views = {(row["viewName"], row["isTemporary"]) for row in engine.run(f"SHOW VIEWS{place}").records}
    rows = list(engine.run(f"SHOW TABLES{place}").records)
    kept = tuple(
        TableName(row["tableName"], (row["tableName"], False) in views) for row in rows if not row["isTemporary"]
    )
    temporary = tuple(TableName(row["tableName"], True) for row in rows if row["isTemporary"])
    return replace(names, tables={**names.tables, fact.schema: kept, TEMPORARY: temporary})


def _columns(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    schema = f"{quoted_name(fact.schema)}." if fact.schema != TEMPORARY else ""
    found: list[Known] = []
    for row in engine.run(f"DESCRIBE TABLE {schema}{quoted_name(fact.table)}").records:
        if not row["col_name"] or row["col_name"].startswith("# "):
            break  # partitions and other matters
        found.append(Known(row["col_name"], row["data_type"]))
    return replace(names, columns={**names.columns, fact.key: tuple(found)})


def _functions(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    told = {row["function"].rsplit(".", 1)[-1] for row in engine.run("SHOW FUNCTIONS").records}
    called = (name for name in told if name.upper() not in BEFORE_OPERAND)  # Spark lists NOT, AND and LIKE too
    return replace(names, functions=tuple(Known(name) for name in sorted(called)))


def _confs(engine: RemoteEngine, fact: Fact, names: Names) -> Names:
    rows = engine.run("SET -v").records
    known = (Known(row["key"], " ".join((row["meaning"] or "").split()).partition(". ")[0]) for row in rows)
    return replace(names, confs=tuple(sorted(known, key=lambda conf: conf.name)))


_ANSWERS: Final[dict[Topic, Callable[[RemoteEngine, Fact, Names], Names]]] = {
    Topic.JOBS: _jobs,
    Topic.SNAPSHOTS: _snapshots,
    Topic.SCHEMAS: _schemas,
    Topic.TABLES: _tables,
    Topic.COLUMNS: _columns,
    Topic.FUNCTIONS: _functions,
    Topic.CONFS: _confs,
}
