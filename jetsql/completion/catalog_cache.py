"""The cache of names for completion: a thread queries the engine for the names that the text at the prompt needs.

It queries nothing while the user does not type, no names that are still fresh, and columns only of tables named in the
text. The queries run in the shell's own session, in parallel to its statements, because only that session has its
temporary views. If the engine is gone, is busy or refuses a query, completion offers fewer names, without an error.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from jetsql.client.background_connection import BackgroundConnection, EngineConnection
from jetsql.client.background_threads import FailureHandler, run_until_stopped
from jetsql.client.engine_client import EngineClient
from jetsql.completion.complete import complete
from jetsql.completion.known_names import Names
from jetsql.completion.load_names import FRESH_SECONDS, load_names
from jetsql.completion.needed_names import NameNeed, NameTopic, needed_names
from jetsql.errors import EngineError, ReportedError
from jetsql.language.statement_head import head_of

FindNeeds = Callable[[str, int, Names], tuple[NameNeed, ...]]

# Loading the grammar earlier would delay the first prompt.
_WARM_UP_SECONDS: Final = 0.3
_CLOSE_SECONDS: Final = 0.2

_JOB_TOPICS: Final = frozenset({NameTopic.JOBS, NameTopic.SNAPSHOTS})
_CATALOG_TOPICS: Final = frozenset({NameTopic.TABLES, NameTopic.COLUMNS, NameTopic.SCHEMAS})
_OBJECT_TOPICS: Final = _JOB_TOPICS | _CATALOG_TOPICS | {NameTopic.ALERTS}
# The topics that are stale after a statement with this first word; other statements change no names.
_STALE_AFTER: Final = {
    "CREATE": _OBJECT_TOPICS,
    "DROP": _OBJECT_TOPICS,
    "ALTER": _OBJECT_TOPICS,
    "REPLACE": _CATALOG_TOPICS,
    "CACHE": _CATALOG_TOPICS,
    "USE": frozenset({NameTopic.FUNCTIONS}),
    "BEGIN": _JOB_TOPICS | _CATALOG_TOPICS,
    "SUSPEND": _JOB_TOPICS,
    "RESUME": _JOB_TOPICS,
    "RESTART": _JOB_TOPICS,
    "WAIT": _JOB_TOPICS,
}


class _RemoteNames:
    """The rows of an engine in another process."""

    def __init__(self, engine: EngineClient) -> None:
        self._engine = engine

    def records(self, statement: str) -> Iterable[Mapping[str, Any]]:
        return self._engine.run(statement).records

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        jobs: list[dict[str, Any]] = self._engine.request("GET", "/v1/jobs?all=true")["jobs"]
        return jobs


class CatalogCache:
    """The cache and its thread.

    on_change: called on the cache's thread with new names. on_failure: called there with unexpected errors.
    find_needs: returns the names that completion of a text needs; the shell has one that reads its commands too.
    """

    def __init__(
        self,
        connection: EngineConnection,
        on_change: Callable[[], None],
        on_failure: FailureHandler,
        find_needs: FindNeeds = needed_names,
    ) -> None:
        self._connection = connection
        self._on_change = on_change
        self._on_failure = on_failure
        self._find_needs = find_needs
        self._names = Names()
        self._loaded_at: dict[NameNeed, float] = {}
        self._loading: NameNeed | None = None
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

    def lacks_names(self, text: str, cursor: int) -> bool:
        """Return whether names that completion of this text needs are not loaded, or not fresh."""
        needs = self._find_needs(text, cursor, self.names)
        return any(need == self._loading or not self._is_fresh(need) for need in needs)

    def wake_up(self) -> None:
        """Load missing names after a change of the connection."""
        if self._connection.current is not self._background.source:
            self._woken.set()

    def expire_names(self, text: str) -> None:
        """Expire the names that a successful statement may have changed; they are loaded again when needed."""
        head = head_of(text)
        topics = _STALE_AFTER.get(head.verb, frozenset())
        if head.kind == "FUNCTION":
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
            need = next((each for each in self._find_needs(*self._typed, self.names) if not self._is_fresh(each)), None)
            if need is None or not self._load(need):
                return
            self._on_change()

    def _is_fresh(self, need: NameNeed) -> bool:
        loaded = self._loaded_at.get(need)
        return loaded is not None and monotonic() - loaded < FRESH_SECONDS[need.topic]

    def _load(self, need: NameNeed) -> bool:
        """Load the names of a need. Return whether the engine answered, even with an error."""
        started = monotonic()
        try:
            engine = self._engine()
            if engine is None:
                return False
            with self._lock:
                self._loaded_at[need] = started
            self._loading = need
            self._names = load_names(_RemoteNames(engine), need, self.names)
        except EngineError:
            self._forget()
            return False
        except ReportedError as error:
            if error.report.condition == "JETSQL.SESSION_NOT_FOUND":
                self._forget()
                return False
        finally:
            self._loading = None
        return True

    def _engine(self) -> EngineClient | None:
        """Return the shell's engine on the cache's connection; clear the cache for a new engine."""
        source = self._connection.current
        if source is not self._background.source:
            self._forget()
        return None if source is None else self._background.open_for(source)

    def _forget(self) -> None:
        self._background.close()
        with self._lock:
            self._loaded_at.clear()
