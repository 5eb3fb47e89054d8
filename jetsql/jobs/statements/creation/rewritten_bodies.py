"""Hints with the user's own query, changed so that it is accepted.

The language makes changed texts, and the engine and the planner check them as they check every statement. So a hint
never leads to another refusal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import islice
from typing import Final

from jetsql import request
from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.model.job_options import StatementOptions, Trigger
from jetsql.jobs.model.redact_sql import redact_sql
from jetsql.language import parse
from jetsql.language.body.query_edits import ChangedText, changed_texts
from jetsql.language.statement import CreateJob, CreateStreamingTable

_log = logging.getLogger(__name__)

_CONDITIONS: Final = frozenset(
    f"JETSQL.{name}" for name in ("NO_OUTPUT_MODE", "UNSUPPORTED_QUERY", "UNSUPPORTED_SINK", "TRIGGER_NOT_POSSIBLE")
)
_MAX_ATTEMPTS: Final = 12  # Spark analyses a query in some 100 ms
_MAX_LENGTH: Final = 4_000  # characters of a query in a hint

Check = Callable[[CreateJob], bool]
"""Return whether a statement with a changed body can be offered. Raises an error for one that is refused."""


def add_rewritten_body(
    error: StatementError,
    manager: Manager,
    statement: CreateJob,
    options: StatementOptions,
    session: UserSession,
    check: Check,
) -> None:
    """Add the changed body of a refused statement to the hint of its error, if a change of the text can help.

    The real-time trigger contacts the sources to check a query, which would take too long here.
    """
    body = statement.body
    if (
        error.condition not in _CONDITIONS
        or options.values.trigger is Trigger.REAL_TIME
        or len(body.text) > _MAX_LENGTH
    ):
        return
    texts = changed_texts(
        body,
        lambda name: manager.runtime.time_columns(name, session),
        other_verbs=error.condition != "JETSQL.UNSUPPORTED_QUERY",
    )
    for changed in islice(texts, _MAX_ATTEMPTS):
        request.current().cancellation.check()
        if _is_accepted(statement, changed, check):
            shown = changed.text if statement.table is None else redact_sql(changed.text)
            error.hint = f"{error.hint} This is possible, {changed.meaning}: {shown}".strip()
            return


def _is_accepted(statement: CreateJob, changed: ChangedText, check: Check) -> bool:
    before = statement.text[: len(statement.text) - len(statement.body.text)]
    try:
        read = parse(before + changed.text)
        create = read.create if isinstance(read, CreateStreamingTable) else read
        return isinstance(create, CreateJob) and check(create)
    except Exception as error:  # of JetSQL or Spark: the changed query is refused as well
        _log.debug("The query %s is refused: %s", changed.meaning, error)
        return False
