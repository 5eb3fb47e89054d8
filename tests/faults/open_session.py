"""A session that stays open while the jobs run, and polls their tables without a REFRESH."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

_PAUSE_SECONDS = 0.3
_DEADLINE_SECONDS = 60.0
_QUERY = "SELECT count(*), count(DISTINCT id) FROM {}"
_QUERY_OF_DIGITS = "SELECT coalesce(sum(n), 0), coalesce(sum(n), 0) FROM digits"


class OpenSession:
    """Notes in `log`, a line each, what a reader must never see.

    Rows may only become more, none may be there twice, and a result that is replaced is never missing.
    """

    def __init__(self, spark: Any, tables: Iterable[str], log: Path) -> None:
        self._session = spark.newSession()
        self._log = log
        self._most = dict.fromkeys(tables, 0)
        self._end = threading.Event()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._poll, name="open-session", daemon=True)
        self.polls = 0

    def __enter__(self) -> OpenSession:
        self._thread.start()
        return self

    def expect(self, wanted: Mapping[str, int]) -> None:
        """Wait until the session has seen so many rows of its tables; they are committed, so it has to."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._most == wanted, _DEADLINE_SECONDS):
                self._note(f"sees {self._most} and not {wanted}")

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._end.wait(_PAUSE_SECONDS):
            for table in self._most:
                if self._session.catalog.tableExists(table):
                    self._check_table(table)
            self.polls += 1

    def _check_table(self, table: str) -> None:
        query = _QUERY_OF_DIGITS if table == "digits" else _QUERY.format(table)
        try:
            [(rows, different)] = self._session.sql(query).collect()
        except Exception as error:  # every error of a reader is reported
            if not self._end.is_set():
                self._note(f"{table}: {str(error).strip().splitlines()[0]}")
            return
        if rows != different:
            self._note(f"{table}: {rows} rows, {different} of them different")
        if rows < self._most[table]:
            self._note(f"{table}: {rows} rows, before {self._most[table]}")
        with self._changed:
            self._most[table] = rows
            self._changed.notify_all()

    def _note(self, words: str) -> None:
        with self._log.open("a") as log:
            log.write(f"{time.strftime('%H:%M:%S')} open session, {words}\n")
