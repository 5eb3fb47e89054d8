"""The tables of the lease on a store, and the statements about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from jetsql.jobs.model.cluster_member import EngineRecord, Role
from jetsql.jobs.model.leadership import LeaseTimes
from jetsql.jobs.store.database import MOVED_TO, WRITTEN_BY
from jetsql.jobs.store.tables import FLOAT, INTEGER, TEXT

_METADATA: Final = sa.MetaData()
LEASE: Final = sa.Table(
    "lease",
    _METADATA,
    sa.Column("number", INTEGER, primary_key=True, autoincrement=False),
    sa.Column("engine", TEXT, nullable=False),  # the id of the leader; empty after a clean stop
    sa.Column("holder", TEXT, nullable=False),  # the engine that led last, as a phrase
    sa.Column("home", TEXT, nullable=False),  # the id of the home with the jobs' checkpoints
    sa.Column("storage", TEXT, nullable=False),  # the storage of the checkpoints, as JSON; empty before the first start
    sa.Column("change", TEXT, nullable=False),  # the id of the last change
)
ENGINES: Final = sa.Table(
    "engines",
    _METADATA,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("address", TEXT, nullable=False),
    sa.Column("role", TEXT, nullable=False),
    sa.Column("since", FLOAT, nullable=False),  # when the engine got its role, by PostgreSQL's clock
    sa.Column("version", TEXT, nullable=False),
    sa.Column("beat", INTEGER, nullable=False),  # incremented by each heartbeat
    sa.Column("seen", sa.DateTime(timezone=True), nullable=False),  # the time of the last one, by PostgreSQL's clock
)
FREED: Final = "jetsql_lease"
"""The channel for the notice of a leader that has released the lease."""
_LOCKED: Final = (
    "locktype = 'advisory' AND objsubid = 2 AND granted AND classid = %(lock)s"
    " AND objid = (hashtext(%(schema)s)::bigint & 4294967295)::oid"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
OBSERVE: Final = f"""SELECT l.number, l.engine, l.holder, coalesce(e.beat, 0), coalesce(e.address, ''),
    EXISTS (SELECT FROM pg_locks WHERE {_LOCKED}),
    extract(epoch FROM now() - pg_postmaster_start_time()),
    (SELECT value FROM meta WHERE key = 'version'), (SELECT value FROM meta WHERE key = '{WRITTEN_BY}')
FROM lease l LEFT JOIN engines e ON e.id = l.engine"""
END_HOLDER: Final = f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {_LOCKED} AND pid <> pg_backend_pid()"
END_CONNECTIONS: Final = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = %s AND datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"""
RETIRE: Final = f"""INSERT INTO meta (key, value) VALUES ('{MOVED_TO}', %s)
ON CONFLICT (key) DO UPDATE SET value = excluded.value"""
BEAT: Final = """INSERT INTO engines (id, address, role, since, version, beat, seen)
SELECT %(id)s, %(address)s, %(role)s::text, extract(epoch FROM now()), %(version)s, 1, now()
WHERE %(role)s::text <> 'leader' OR EXISTS (SELECT FROM lease WHERE number = %(number)s)
ON CONFLICT (id) DO UPDATE SET address = excluded.address, role = excluded.role,
    since = CASE WHEN engines.role = excluded.role THEN engines.since ELSE excluded.since END,
    beat = engines.beat + 1, seen = now()"""


def read_engines(rows: Sequence[Any]) -> tuple[EngineRecord, ...]:
    """Return the engines from the rows of a query of `ENGINES`."""
    return tuple(EngineRecord(row.id, row.address, Role(row.role), row.since, row.version) for row in rows)


def living_engines(times: LeaseTimes) -> sa.Select[Any]:
    """Return the query for the engines whose heartbeats arrive, the leader first."""
    age = sa.extract("epoch", sa.func.now() - ENGINES.c.seen)
    return sa.select(ENGINES).where(age < times.lease_seconds).order_by(ENGINES.c.role, ENGINES.c.since)


def create_tables(connection: sa.Connection, home: str) -> None:
    """Create the tables of the lease, without a leader."""
    _METADATA.create_all(connection)
    connection.execute(
        LEASE.insert().values(number=0, engine="", holder="another process", home=home, storage="", change="")
    )
