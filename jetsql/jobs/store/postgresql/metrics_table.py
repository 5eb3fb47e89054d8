"""The metrics in a table of PostgreSQL, in the schema of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Final

import sqlalchemy as sa

from jetsql.errors import EngineError
from jetsql.jobs.store.metrics import Metrics
from jetsql.jobs.store.metrics_store import MEASURES, VERSION, MetricsStore
from jetsql.jobs.store.tables import META

if TYPE_CHECKING:
    from jetsql.jobs.store.postgresql.store_schema import StoreSchema

_KEY: Final = "metrics_version"


class MetricsTable(MetricsStore):
    """A table that stores metrics."""

    is_remote: ClassVar[bool] = True

    def __init__(self, schema: StoreSchema, metrics: Metrics) -> None:
        """Create it for the schema of an open store; `start` opens the table."""
        super().__init__(schema.name, metrics)
        self._schema = schema

    def _connect(self) -> sa.Engine:
        return self._schema.create_engine()

    @contextmanager
    def _begin(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        with engine.begin() as connection:
            try:
                self._schema.lease.check(connection)
            except EngineError as error:
                raise sa.exc.OperationalError("", {}, error) from error
            yield connection

    def _version(self, connection: sa.Connection) -> int:
        if not sa.inspect(connection).has_table(MEASURES.name):
            return 0
        return int(connection.execute(sa.select(META.c.value).where(META.c.key == _KEY)).scalar_one())

    def _set_version(self, connection: sa.Connection) -> None:
        write_metrics_version(connection)

    def _set_aside(self) -> str:
        aside = f"{MEASURES.name}_damaged"
        engine = self._connect()
        try:
            with self._begin(engine) as connection:
                connection.exec_driver_sql(f"DROP TABLE IF EXISTS {aside}")
                connection.exec_driver_sql(f"ALTER TABLE IF EXISTS {MEASURES.name} RENAME TO {aside}")
        finally:
            engine.dispose()
        return f"its table {aside}"


def write_metrics_version(connection: sa.Connection) -> None:
    """Store that the table of metrics has the newest version."""
    connection.execute(META.delete().where(META.c.key == _KEY))
    connection.execute(META.insert().values(key=_KEY, value=str(VERSION)))
