"""The tables of a store, for SQLite and PostgreSQL. `migrations` makes them of the tables of older versions."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

METADATA: Final = sa.MetaData()
_POSTGRESQL: Final = "postgresql"


class _Text(sa.TypeDecorator[str]):
    """Text in the order of its code points, as SQLite has it. PostgreSQL has no text with the character NUL."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return dialect.type_descriptor(postgresql.TEXT(collation="C") if dialect.name == _POSTGRESQL else sa.Text())

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return value.replace("\0", "\ufffd") if value is not None and dialect.name == _POSTGRESQL else value


TEXT: Final = _Text()
INTEGER: Final = sa.BigInteger().with_variant(sa.Integer, "sqlite")
FLOAT: Final = sa.Float().with_variant(postgresql.DOUBLE_PRECISION(), _POSTGRESQL)

META: Final = sa.Table(
    "meta",
    METADATA,
    sa.Column("key", TEXT, primary_key=True),
    sa.Column("value", TEXT, nullable=False),
)

JOBS: Final = sa.Table(
    "jobs",
    METADATA,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("name_key", TEXT, nullable=False),
    sa.Column("live", sa.Boolean, nullable=False),
    sa.Column("files", sa.Boolean, nullable=False),
    sa.Column("record", TEXT, nullable=False),
)
sa.Index("jobs_live_name", JOBS.c.name_key, unique=True, sqlite_where=JOBS.c.live, postgresql_where=JOBS.c.live)
sa.Index("jobs_name", JOBS.c.name_key, JOBS.c.id)

HISTORY: Final = sa.Table(
    "history",
    METADATA,
    sa.Column("number", INTEGER, primary_key=True),
    sa.Column("job", TEXT, sa.ForeignKey("jobs.id"), nullable=False, index=True),
    sa.Column("time", FLOAT, nullable=False),
    sa.Column("title", TEXT, nullable=False),
    sa.Column("before", TEXT),
    sa.Column("after", TEXT, nullable=False),
    sa.Column("run", INTEGER, nullable=False),
    sa.Column("words", TEXT, nullable=False),
    sa.Column("caller", TEXT),  # the user; NULL in rows of version 5, as the endpoint and the address
    sa.Column("endpoint", TEXT),
    sa.Column("address", TEXT),
)

SNAPSHOTS: Final = sa.Table(
    "snapshots",
    METADATA,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("name_key", TEXT, nullable=False, unique=True),
    sa.Column("job", TEXT, nullable=False),  # may be forgotten before its snapshots
    sa.Column("record", TEXT, nullable=False),
)

FUNCTIONS: Final = sa.Table(
    "functions",
    METADATA,
    sa.Column("schema_key", TEXT, primary_key=True),
    sa.Column("name_key", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

SECRETS: Final = sa.Table(
    "secrets",
    METADATA,
    sa.Column("name_key", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

CONNECTIONS: Final = sa.Table(
    "connections",
    METADATA,
    sa.Column("name_key", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

ALERTS: Final = sa.Table(
    "alerts",
    METADATA,
    sa.Column("name_key", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

ALERT_STATES: Final = sa.Table(
    "alert_states",
    METADATA,
    sa.Column("alert", TEXT, primary_key=True),  # the id
    sa.Column("job", TEXT, primary_key=True),  # the key of the name, which a later job can have as well
    sa.Column("record", TEXT, nullable=False),
)

ALERT_MESSAGES: Final = sa.Table(
    "alert_messages",
    METADATA,
    sa.Column("number", INTEGER, primary_key=True),
    sa.Column("id", TEXT, nullable=False, unique=True),
    sa.Column("alert", TEXT, nullable=False, index=True),  # the id
    sa.Column("pending", sa.Boolean, nullable=False),
    sa.Column("record", TEXT, nullable=False),
)

USERS: Final = sa.Table(
    "users",
    METADATA,
    sa.Column("name_key", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

ROLES: Final = sa.Table(
    "roles",
    METADATA,
    sa.Column("name_key", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

MEMBERS: Final = sa.Table(
    "members",
    METADATA,
    sa.Column("role", TEXT, primary_key=True),
    sa.Column("member", TEXT, primary_key=True),  # the key of a user or a role
)

TOKENS: Final = sa.Table(
    "tokens",
    METADATA,
    sa.Column("id", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

GRANTS: Final = sa.Table(
    "grants",
    METADATA,
    sa.Column("grantee", TEXT, primary_key=True),  # the key of a user or a role
    sa.Column("access", TEXT, primary_key=True),  # the right
    sa.Column("kind", TEXT, primary_key=True),
    sa.Column("object", TEXT, primary_key=True),
    sa.Column("record", TEXT, nullable=False),
)

OWNERS: Final = sa.Table(
    "owners",
    METADATA,
    sa.Column("kind", TEXT, primary_key=True),
    sa.Column("object", TEXT, primary_key=True),
    sa.Column("owner", TEXT, nullable=False),  # the key of a user
)
