"""Read SQL for the editor as the shell does: its statements, its mistakes, and completion."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import Any, Final

from jetsql.completion.complete import complete
from jetsql.completion.known_names import Names
from jetsql.completion.load_names import FRESH_SECONDS, load_names
from jetsql.completion.needed_names import NameNeed, needed_names
from jetsql.errors import StatementError
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.language import Fragment, parse, split
from jetsql.language.statement_effects import drop_question
from jetsql.output.terminal_text import printable
from jetsql.server.client_sessions import Session

_LOG: Final = logging.getLogger(__name__)
_CANDIDATES_MOST: Final = 200
_LOADS_MOST: Final = 8
"""The limit of queries for one completion; the next one continues."""


def read_statements(text: str) -> list[dict[str, object]]:
    """Return the statements of a text as JSON values, with the mistakes that JetSQL's grammar finds.

    Offsets count characters. `shown` is the statement without secrets, for the history. `question` is asked before the
    statement runs, because it drops an object or a state.
    """
    return [_statement(fragment) for fragment in split(text)]


def _statement(fragment: Fragment) -> dict[str, object]:
    stop = fragment.start + len(fragment.text)
    found: dict[str, object] = {"start": fragment.start, "stop": stop, "shown": redact_sql(fragment.text)}
    if (question := drop_question(fragment.text)) is not None:
        found["question"] = printable(question)
    try:
        parse(fragment.text)
    except StatementError as error:
        place = error.place
        start, end = (0, len(fragment.text)) if place is None else (place.start, place.stop)
        mistake = {"start": fragment.start + start, "stop": fragment.start + max(end, start + 1)}
        return {**found, "mistake": {**mistake, "message": error.message, "hint": error.hint}}
    return found


OpenSession = Callable[[], AbstractContextManager[Session]]
"""A function that returns a user's session and keeps it open meanwhile."""


class _SessionNames:
    """The rows of statements in a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def records(self, statement: str) -> Iterable[Mapping[str, Any]]:
        result = self._session.run(statement)
        names = [column.name for column in result.columns]
        return [dict(zip(names, row, strict=True)) for row in result.rows]

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        return self.records("SHOW ALL JOBS")


class Completion:
    """The completion of one user's editor, with the names that it has loaded."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._names = Names()
        self._loaded_at: dict[NameNeed, float] = {}
        self._lock = Lock()

    def candidates(self, text: str, cursor: int, session: OpenSession) -> Sequence[dict[str, object]]:
        """Return what can be written at the cursor, as JSON values. It may query the engine for names."""
        with self._lock:
            self._load(text, cursor, session)
            candidates = complete(text, cursor, self._names)
        found = candidates[:_CANDIDATES_MOST]
        return [
            {
                "text": each.text,
                "start": each.start,
                "label": each.display,
                "kind": each.kind.value,
                "detail": each.description,
            }
            for each in found
        ]

    def expire(self) -> None:
        """Load all names again when they are needed: a statement may have changed them."""
        with self._lock:
            self._loaded_at.clear()

    def _load(self, text: str, cursor: int, session: OpenSession) -> None:
        """Load the names that are not fresh. A name that cannot be loaded is left out."""
        for _ in range(_LOADS_MOST):
            need = next((each for each in needed_names(text, cursor, self._names) if not self._is_fresh(each)), None)
            if need is None:
                return
            self._loaded_at[need] = self._clock()
            try:
                with session() as opened:
                    self._names = replace(self._names, schema=opened.schema())
                    self._names = load_names(_SessionNames(opened), need, self._names)
            except Exception:
                # Errors of Spark have many classes; completion without these names is better than none.
                _LOG.debug("Names for completion could not be loaded", exc_info=True)

    def _is_fresh(self, need: NameNeed) -> bool:
        loaded = self._loaded_at.get(need)
        return loaded is not None and self._clock() - loaded < FRESH_SECONDS[need.topic]
