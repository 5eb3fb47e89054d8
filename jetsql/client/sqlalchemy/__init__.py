"""The dialect for SQLAlchemy 1.4 and 2: `create_engine("jetsql:///?home=DIR")`, `"jetsql://:TOKEN@HOST:PORT/SCHEMA"`.

Reflection uses statements (`SHOW TABLES`, `DESCRIBE ... AS JSON`), because Spark has no information schema. Statements
take effect immediately. A rollback does nothing and is not an error, because SQLAlchemy's pool rolls back every
connection that is returned to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from types import ModuleType
from typing import Any, Final, TypeVar

from sqlalchemy import exc, schema, types, util
from sqlalchemy.engine import default
from sqlalchemy.sql import compiler

from jetsql.client import dbapi
from jetsql.client.sqlalchemy.column_types import (
    ARRAY,
    DOUBLE,
    INTERVAL,
    MAP,
    STRUCT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    type_from_json,
)
from jetsql.client.sqlalchemy.compiler import Compiler, DDLCompiler, IdentifierPreparer, TypeCompiler

__all__ = [
    "ARRAY",
    "DOUBLE",
    "INTERVAL",
    "MAP",
    "STRUCT",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "TINYINT",
    "VARIANT",
    "JetSQLDialect",
]

_CONNECTION_LOST: Final = frozenset(
    f"JETSQL.{condition}" for condition in ("SESSION_NOT_FOUND", "CONNECTION_LOST", "ENGINE_NOT_REACHABLE")
)
_NOT_FOUND: Final = frozenset(("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND"))
_LOGICAL_VIEW: Final = "VIEW"

LiteralProcessor = Callable[[Any], str]
_T = TypeVar("_T")


class _DateTime(types.DateTime):
    """A datetime as in the DB-API. Its literals are TIMESTAMP with an offset and TIMESTAMP_NTZ without one."""

    def literal_processor(self, dialect: Any) -> LiteralProcessor:
        def literal(value: datetime) -> str:
            kind = "TIMESTAMP_NTZ" if value.utcoffset() is None else "TIMESTAMP"
            return f"{kind}'{value.isoformat(sep=' ')}'"

        return literal


class _Date(types.Date):
    def literal_processor(self, dialect: Any) -> LiteralProcessor:
        def literal(value: date) -> str:
            return f"DATE'{date(value.year, value.month, value.day).isoformat()}'"

        return literal


class _Time(types.Time):
    def literal_processor(self, dialect: Any) -> LiteralProcessor:
        def literal(value: time) -> str:
            return f"TIME'{value.isoformat()}'"

        return literal


class _Binary(types.LargeBinary):
    def literal_processor(self, dialect: Any) -> LiteralProcessor:
        return lambda value: f"X'{bytes(value).hex()}'"

    def result_processor(self, dialect: Any, coltype: object) -> None:
        return None


_ARGUMENTS: Final[Any] = [
    (schema.Table, {"using": "parquet", "partitioned_by": None, "location": None, "properties": None}),
]
_COLSPECS: Final[Any] = {
    types.DateTime: _DateTime,
    types.Date: _Date,
    types.Time: _Time,
    types.LargeBinary: _Binary,
    types.Interval: INTERVAL,
}


class JetSQLDialect(default.DefaultDialect):
    """The dialect for JetSQL.

    It has these options of tables: `jetsql_using`, `jetsql_partitioned_by`, `jetsql_location`, `jetsql_properties`.
    """

    name = "jetsql"
    driver = "http"
    default_paramstyle = "qmark"
    supports_statement_cache = True

    preparer: type[compiler.IdentifierPreparer] = IdentifierPreparer
    statement_compiler = Compiler
    ddl_compiler = DDLCompiler
    type_compiler = TypeCompiler  # SQLAlchemy 2 uses type_compiler_cls, and sets this attribute to an instance
    type_compiler_cls = TypeCompiler

    max_identifier_length = 255
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_enum = False
    supports_comments = True
    inline_comments = True
    supports_multivalues_insert = True
    supports_default_values = False
    supports_default_metavalue = True
    supports_empty_insert = False
    supports_sequences = False
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_simple_order_by_label = True
    supports_is_distinct_from = True
    implicit_returning = False
    insert_returning = update_returning = delete_returning = False
    postfetch_lastrowid = False
    div_is_floordiv = False
    requires_name_normalize = False
    tuple_in_values = False

    construct_arguments = _ARGUMENTS
    colspecs = _COLSPECS

    @classmethod
    def dbapi(cls) -> ModuleType:  # type: ignore[override]  # of SQLAlchemy 1.4; in 2 the instance has an attribute of this name
        return dbapi

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return dbapi

    def create_connect_args(self, url: Any) -> tuple[list[Any], dict[str, Any]]:
        plain = url.set(drivername="jetsql")
        return [plain.render_as_string(hide_password=False)], {}

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        return getattr(e, "condition", "") in _CONNECTION_LOST

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing. A pool calls this for every connection that is returned to it."""

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        return "AUTOCOMMIT"

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        return "AUTOCOMMIT"

    def get_isolation_level_values(self, dbapi_conn: Any) -> Any:
        return ["AUTOCOMMIT"]

    def set_isolation_level(self, dbapi_connection: Any, level: str) -> None:
        if level.replace("_", " ").upper() != "AUTOCOMMIT":
            raise exc.ArgumentError(f"The isolation level {level!r} is not supported. Use AUTOCOMMIT.")

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        version = str(connection.exec_driver_sql("SELECT version()").scalar())
        return tuple(int(part) for part in version.split()[0].split(".") if part.isdigit())

    def _get_default_schema_name(self, connection: Any) -> str:
        return str(connection.exec_driver_sql("SELECT current_schema()").scalar())

    def _check_max_identifier_length(self, connection: Any) -> None:
        return None

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        return [row[0] for row in connection.exec_driver_sql("SHOW SCHEMAS")]

    def has_schema(self, connection: Any, schema_name: str, **kw: Any) -> bool:
        return schema_name.casefold() in map(str.casefold, self.get_schema_names(connection))

    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        views = set(self.get_view_names(connection, schema, **kw))
        names = self._list_names(connection, "TABLES", schema, **kw)
        return [name for name, temporary in names if not temporary and name not in views]

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return [name for name, temporary in self._list_names(connection, "VIEWS", schema, **kw) if not temporary]

    def get_temp_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return [name for name, temporary in self._list_names(connection, "VIEWS", schema, **kw) if temporary]

    def get_temp_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        """Return an empty list: Spark has temporary views, but no temporary tables."""
        return []

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        def load() -> bool:
            try:
                self._describe(connection, table_name, schema, **kw)
            except exc.NoSuchTableError:
                return False
            return True

        return _cached(kw, ("HAS", schema, table_name), load)

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        columns = [_column(described) for described in self._describe(connection, table_name, schema, **kw)["columns"]]
        if any(isinstance(column["type"], types.String) for column in columns):
            lengths = self._lengths(connection, table_name, schema, **kw)
            return [{**column, "type": lengths.get(column["name"], column["type"])} for column in columns]
        return columns

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": self._describe(connection, table_name, schema, **kw).get("comment") or None}

    def get_table_options(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        described = self._describe(connection, table_name, schema, **kw)
        options = {"using": described.get("provider"), "partitioned_by": described.get("partition_columns")}
        return {f"jetsql_{name}": value for name, value in options.items() if value}

    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        described = self._describe(connection, view_name, schema, **kw)
        if _LOGICAL_VIEW not in str(described.get("type", _LOGICAL_VIEW)) or "view_text" not in described:
            raise exc.NoSuchTableError(view_name)
        return str(described["view_text"])

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        self._describe(connection, table_name, schema, **kw)
        return {"constrained_columns": [], "name": None}

    def _no_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> list[Any]:
        """Return an empty list: Spark's tables have neither keys nor indexes nor constraints."""
        self._describe(connection, table_name, schema, **kw)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = get_check_constraints = _no_constraints

    def has_index(self, connection: Any, table_name: str, index_name: str, schema: Any = None, **kw: Any) -> bool:
        return False

    def has_sequence(self, connection: Any, sequence_name: str, schema: Any = None, **kw: Any) -> bool:
        return False

    def _list_names(self, connection: Any, kind: str, schema: str | None, **kw: Any) -> list[tuple[str, bool]]:
        """Return the names in a schema, and whether each is temporary. kind: TABLES or VIEWS."""
        in_schema = "" if schema is None else f" IN {self._quoted([schema])}"

        def load() -> list[tuple[str, bool]]:
            return [(row[1], bool(row[2])) for row in connection.exec_driver_sql(f"SHOW {kind}{in_schema}")]

        try:
            return _cached(kw, (kind, schema), load)
        except exc.DBAPIError as error:
            if getattr(error.orig, "condition", "") in _NOT_FOUND:
                return []
            raise

    def _describe(self, connection: Any, name: str, schema: str | None = None, **kw: Any) -> dict[str, Any]:
        """Return Spark's description of a table or view. Raises NoSuchTableError."""
        table = self._quoted([name] if schema is None else [schema, name])

        def load() -> dict[str, Any]:
            [(description,)] = connection.exec_driver_sql(f"DESCRIBE TABLE EXTENDED {table} AS JSON")
            described: dict[str, Any] = json.loads(description)
            return described

        try:
            return _cached(kw, ("DESCRIBE", schema, name), load)
        except exc.DBAPIError as error:
            if getattr(error.orig, "condition", "") in _NOT_FOUND:
                raise exc.NoSuchTableError(name if schema is None else f"{schema}.{name}") from error
            raise

    def _lengths(self, connection: Any, name: str, schema: str | None = None, **kw: Any) -> dict[str, Any]:
        """Return the types of CHAR and VARCHAR columns by name; in the JSON description they are strings."""
        table = self._quoted([name] if schema is None else [schema, name])

        def load() -> dict[str, Any]:
            rows = connection.exec_driver_sql(f"DESCRIBE TABLE {table}")
            matches = ((row[0], re.fullmatch(r"(char|varchar)\((\d+)\)", row[1])) for row in rows)
            kinds = {"char": types.CHAR, "varchar": types.VARCHAR}
            return {column: kinds[match[1]](int(match[2])) for column, match in matches if match}

        return _cached(kw, ("LENGTHS", schema, name), load)

    def _quoted(self, names: Iterable[str]) -> str:
        return ".".join(self.identifier_preparer.quote_identifier(name) for name in names)


def _cached(options: dict[str, Any], key: tuple[str | None, ...], load: Callable[[], _T]) -> _T:
    """Return a value from the cache of an inspector; load it if it is missing.

    SQLAlchemy has a decorator for this, but that of version 1.4 cannot read annotations.
    """
    cache = options.get("info_cache")
    if cache is None:
        return load()
    if key not in cache:
        cache[key] = load()
    value: _T = cache[key]
    return value


def _column(described: dict[str, Any]) -> dict[str, Any]:
    kind = type_from_json(described["type"])
    if isinstance(kind, types.NullType):
        util.warn(f"The column {described['name']!r} has an unknown type: {described['type']}")
    return {
        "name": described["name"],
        "type": kind,
        "nullable": bool(described.get("nullable", True)),
        "default": described.get("default"),
        "comment": described.get("comment") or None,
    }
