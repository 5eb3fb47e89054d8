"""Cursors of PEP 249: statements and their rows.

Rows come as they are fetched. A cursor that is executed again, or closed, gives up the rows that it has not fetched,
and the engine ends their statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from jetsql.client.dbapi import type_objects
from jetsql.client.dbapi.exceptions import misuse, told
from jetsql.client.insert_batches import statements
from jetsql.client.parameter_encoding import encode
from jetsql.client.remote_engine import RemoteEngine

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from jetsql.client.arrow_stream import ArrowRows
    from jetsql.client.dbapi.connection import Connection

Parameters = Sequence[Any] | Mapping[str, Any]
Row = tuple[Any, ...]
_NO_ROWS: Final = "The statement has no rows."


class _Executing:
    """What both kinds of cursors have: a statement that runs, in the session of their connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: list[type_objects.Description] | None = None
        self.rowcount = -1
        self.lastrowid: None = None
        self._engine: RemoteEngine | None = None
        self._closed = False

    def cancel(self) -> None:
        """From another thread: end what runs; its `execute` or fetch raises OperationalError. Nothing is fine."""
        engine = self._engine
        with told():
            if engine is not None:
                engine.cancel()

    def close(self) -> None:
        """Give up what was not fetched. Again is fine."""
        self._closed = True
        self._drop()

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Nothing to do: sizes follow from the values."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing to do: values come whole."""

    def _begin(self, operation: str) -> RemoteEngine:
        if self._closed:
            raise misuse("The cursor is closed.")
        if not isinstance(operation, str):
            raise misuse(f"A statement is a text, not a {type(operation).__qualname__}.")
        self._drop()
        self.description, self.rowcount = None, -1
        if self._engine is None:
            self._engine = self.connection.beside()
        return self._engine

    def _use(self, engine: RemoteEngine) -> None:
        if engine is not self._engine:  # in a new session
            self._drop()
            self._engine = engine

    def _drop(self) -> None:
        if self._engine is not None:
            self._engine.leave()

    def __del__(self) -> None:
        self._drop()  # a cursor that nobody has any more: its connection, and the statement that may still run


class Cursor(_Executing):
    """arraysize: rows of a `fetchmany`. rowcount: known when all rows are fetched; Spark counts no inserted ones."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.arraysize = 1
        self._rows: Iterator[Row] | None = None
        self._fetched = 0

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Run one statement. parameters: of `?` in a sequence, of `:name` in a mapping.

        Raises ProgrammingError and others of `Error`. Errors of computing rows come when they are fetched.
        """
        engine = self._begin(operation)
        self._rows = None
        with told(operation):
            encoded = _encoded(parameters)
            self._run(operation, encoded, engine)
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> Cursor:
        """Run a statement with each of the parameters; an `INSERT ... VALUES (?, ...)` with many of them at once."""
        engine = self._begin(operation)
        self._rows = None
        with told(operation):
            for text, parameters in statements(operation, [_encoded(each) for each in seq_of_parameters]):
                self._run(text, parameters, engine)
                if self.description is not None:
                    raise misuse("executemany is for statements without rows.", "Use execute.")
        return self

    def fetchone(self) -> Row | None:
        return next(iter(self.fetchmany(1)), None)

    def fetchmany(self, size: int | None = None) -> list[Row]:
        wanted = self.arraysize if size is None else size
        with told():
            rows = list(islice(self._result(), wanted))
        return self._counted(rows, ended=len(rows) < wanted)

    def fetchall(self) -> list[Row]:
        with told():
            rows = list(self._result())
        return self._counted(rows, ended=True)

    def fetch_arrow_table(self) -> NoReturn:
        raise misuse("The rows of this cursor are Python's.", "Use connection.arrow_cursor().")

    fetch_record_batch = fetch_df = fetch_arrow_table

    def close(self) -> None:
        self._rows = None
        super().close()

    def _run(self, text: str, parameters: Parameters | None, engine: RemoteEngine) -> None:
        def run(engine: RemoteEngine) -> Any:
            self._use(engine)
            return engine.run(text, parameters)

        result = self.connection.in_session(run, text, engine)
        self.description = type_objects.description(result.columns)
        if self.description is None:
            list(result.rows)  # to its end, where an error would stand
        else:
            self._rows, self._fetched = result.rows, 0

    def _result(self) -> Iterator[Row]:
        if self._closed or self.connection.closed:
            raise misuse("The cursor is closed.")
        if self._rows is None:
            raise misuse(_NO_ROWS, "Execute a query first.")
        return self._rows

    def _counted(self, rows: list[Row], ended: bool) -> list[Row]:
        self._fetched += len(rows)
        if ended:
            self.rowcount = self._fetched
        return rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchone, None)

    def __enter__(self) -> Cursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class ArrowCursor(_Executing):
    """Rows as Arrow, from Spark's memory to yours: what `execute` ran is fetched once, in one of three ways."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._rows: ArrowRows | None = None

    def execute(self, operation: str, parameters: Parameters | None = None) -> ArrowCursor:
        """As of `Cursor`, but the first rows are waited for."""
        from jetsql.client.arrow_stream import ArrowRows

        engine = self._begin(operation)
        self._rows = None

        def run(engine: RemoteEngine) -> ArrowRows:
            self._use(engine)
            return ArrowRows(engine.run_arrow(operation, encoded))

        with told(operation):
            encoded = _encoded(parameters)
            self._rows = self.connection.in_session(run, operation, engine)
        self.description = type_objects.description(self._rows.columns)
        return self

    def fetch_record_batch(self) -> pyarrow.RecordBatchReader:
        """The rows, batch by batch as they are read."""
        return self._result().reader(told)

    def fetch_arrow_table(self) -> pyarrow.Table:
        with told():
            return self.fetch_record_batch().read_all()

    def fetch_df(self) -> pandas.DataFrame:
        """The rows in pandas."""
        return self.fetch_arrow_table().to_pandas()

    def _result(self) -> ArrowRows:
        if self._closed or self.connection.closed:
            raise misuse("The cursor is closed.")
        found, self._rows = self._rows, None
        if found is None or self.description is None:
            raise misuse(_NO_ROWS, "Execute a query first; its rows are fetched once.")
        return found

    def __enter__(self) -> ArrowCursor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _encoded(parameters: Parameters | None) -> Any:
    if parameters is None:
        return None
    if isinstance(parameters, str | bytes) or not isinstance(parameters, Sequence | Mapping):
        raise misuse(f"Parameters come in a sequence or a mapping, not in a {type(parameters).__qualname__}.")
    return encode(parameters)
