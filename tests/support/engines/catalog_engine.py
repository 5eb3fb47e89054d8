"""An engine without Spark that knows some jobs, tables, columns and functions, for completion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jetsql.errors import StatementError
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from tests.support.engines.server_engine import ServedEngine, ServedSession

Row = tuple[Any, ...]


@dataclass
class CatalogEngine(ServedEngine):
    """An engine that knows some names. queries: those it received, in order."""

    queries: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=lambda: ["orders", "Big Orders"])

    def session(self) -> ServedSession:
        return CatalogSession(self)

    def run(self, text: str) -> StatementResult:
        self.queries.append(text)
        columns = ("id", "name", "status", "last_error")
        return result(columns, [("01", "totals", "RUNNING", None), ("00", "old", "FAILED", "broken")])


class CatalogSession(ServedSession):
    engine: CatalogEngine

    def run(self, text: str, parameters: Any = None, live: Any = False) -> StatementResult:
        self.engine.queries.append(text)
        match text.split()[:2]:
            case ["SHOW", "TABLES"]:
                tables = [("default", name, False) for name in self.engine.tables]
                rows: list[Row] = [*tables, ("default", "recent", False), ("", "draft", True)]
                return result(("namespace", "tableName", "isTemporary"), rows)
            case ["SHOW", "VIEWS"]:
                views: list[Row] = [("default", "recent", False), ("", "draft", True)]
                return result(("namespace", "viewName", "isTemporary"), views)
            case ["SHOW", "SCHEMAS"]:
                return result(("namespace",), [("default",), ("sales",)])
            case ["SHOW", "FUNCTIONS"]:
                return result(("function",), [("upper",), ("!=",), ("not",), ("spark_catalog.default.mine",)])
            case ["SHOW", "SNAPSHOTS"]:
                return result(("name", "job"), [("noon", "totals")])
            case ["SHOW", "ALERTS"]:
                return result(("name", "job"), [("stopped", "totals"), ("lag", None)])
            case ["SET", "-v"]:
                confs: list[Row] = [("spark.b", "1", "Says how.\nAnd more."), ("spark.a", "", "")]
                return result(("key", "value", "meaning"), confs)
            case ["DESCRIBE", "TABLE"] if "orders" in text or "draft" in text:
                columns: list[Row] = [("id", "bigint"), ("day", "date")]
                return result(("col_name", "data_type"), [*columns, ("# Partition Information", ""), columns[-1]])
        raise StatementError("JOB_NOT_FOUND", "No such thing.")


def result(columns: tuple[str, ...], rows: list[Row]) -> StatementResult:
    kinds = {"isTemporary": "boolean"}
    return StatementResult(tuple(Column(name, kinds.get(name, "string")) for name in columns), iter(rows))
