"""Functions in Python on Spark: check their types and source, and send them to the JVM, which resolves their names.

A function runs in Spark's Python workers, with the packages of the engine's Python environment. The engine itself
never runs its code: the check of a new function runs in a process of its own.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import _parse_datatype_json_string
from pyspark.util import PythonEvalType

from jetsql import request
from jetsql.engine.errors.run_failures import strip_message
from jetsql.engine.functions import python_source
from jetsql.engine.functions.python_source import Definition, Problem
from jetsql.engine.jvm.java_classes import java
from jetsql.errors import Span, StatementError
from jetsql.jobs.model.function import CATALOG, Function, FunctionColumn, schema_not_found
from jetsql.language.statement import ColumnText, CreateFunction
from jetsql.language.tokens import quoted_name

_CHECK_SECONDS: Final = 60.0
_EVAL_TYPES: Final = {
    "ROWS": PythonEvalType.SQL_BATCHED_UDF,
    "PANDAS": PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF,
    "ARROW": PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF,
    "TABLE": PythonEvalType.SQL_TABLE_UDF,
}

_PICKLE: Final[Any] = cloudpickle  # has no types
_PICKLE.register_pickle_by_value(python_source)


class _Loaded:
    """A function that a Python worker makes from its source when it unpickles this object."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def __reduce__(self) -> tuple[Any, tuple[Definition]]:
        return python_source.load, (self._definition,)


class PythonFunctions:
    """The functions in Python of one engine."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java = java(spark).functions.PythonFunctions

    def qualify(self, statement: CreateFunction, session: SparkSession) -> tuple[str, str]:
        """Return the schema and the name of a new function.

        Raises StatementError INVALID_FUNCTION for another catalog.
        """
        catalog, schema, name = _parts(statement, session)
        if catalog.casefold() != CATALOG:
            raise _invalid(
                f"Functions in Python cannot be in the catalog {catalog}.",
                statement.place,
                f"Write {CATALOG}.schema.{name}.",
            )
        return schema, name

    def check(self, statement: CreateFunction, schema: str, name: str, session: SparkSession) -> Function:
        """Return the function of a statement after checking its name, types, default values and source.

        Raises StatementError INVALID_FUNCTION at the part of the statement that is wrong, FUNCTION_ALREADY_EXISTS when
        Spark has a function with this name.
        """
        conflict = self._java.conflict(session._jsparkSession, schema, name)
        if conflict == "SCHEMA":
            raise schema_not_found(schema).at(statement.place)
        if conflict == "FUNCTION":
            raise StatementError(
                "FUNCTION_ALREADY_EXISTS",
                f"A function named {schema}.{name} already exists; it is not in Python.",
                place=statement.place,
                hint="Use another name, or DROP FUNCTION first.",
            )
        _check_names(statement.parameters, "parameter")
        _check_names(statement.returns if statement.returns_table else (), "column")
        _check_style(statement)
        function = Function(
            schema=schema,
            name=name,
            parameters=tuple(self._column(each, session) for each in statement.parameters),
            returns=tuple(self._column(each, session) for each in statement.returns),
            returns_table=statement.returns_table,
            source=statement.source,
            handler=statement.handler,
            style=statement.style,
            deterministic=statement.deterministic,
            comment=statement.comment,
            created=datetime.now(UTC).timestamp(),
            owner=getpass.getuser(),
        )
        _check_defaults(statement)
        self._check_source(statement, function)
        return function

    def is_hidden(self, name: str) -> bool:
        """Return whether a built-in function has this name, so that a call needs the schema."""
        return bool(self._java.isBuiltin(self._spark._jsparkSession, name))

    @property
    def _executable(self) -> str:
        """Return the Python of the workers: PYSPARK_PYTHON, otherwise, on this machine, the Python of the engine."""
        context = self._spark.sparkContext
        if "PYSPARK_PYTHON" not in os.environ and (context.master or "").startswith("local"):
            return sys.executable
        return context.pythonExec

    def register(self, function: Function) -> None:
        """Make a function known to all sessions; it replaces one with its name."""
        definition = self._definition(function)
        kind = definition["kind"]
        loaded = _Loaded(definition)
        command = loaded if kind == "TABLE" else (loaded, _parse_datatype_json_string(definition["return_type"]))
        self._java.put(json.dumps(self._facts(function, kind)), bytearray(_PICKLE.dumps(command)))

    def forget(self, schema: str, name: str) -> None:
        """Remove a function from all sessions."""
        self._java.remove(schema, name)

    def _column(self, column: ColumnText, session: SparkSession) -> FunctionColumn:
        try:
            kind = json.loads(self._java.type(column.type))["sql"]
        except (PySparkException, Py4JError) as error:
            raise _invalid(
                f"{column.type} is not a data type of Spark.", column.type_place, "Use a type such as INT or STRING."
            ) from error
        if column.default is not None:
            try:
                self._java.checkDefault(session._jsparkSession, column.default, kind)
            except PySparkException as error:
                reason = strip_message(str(error), error.getCondition() or "").partition("\n")[0]
                raise _invalid(
                    f"The default value of {column.name} cannot be used: {reason}", column.default_place
                ) from error
        return FunctionColumn(column.name, kind, column.default, column.comment)

    def _definition(self, function: Function) -> Definition:
        kind = "TABLE" if function.returns_table else function.style.value if function.style else "ROWS"
        returns = f"STRUCT<{_columns_ddl(function)}>" if function.returns_table else function.returns[0].type
        return Definition(
            name=function.qualified_name,
            source=function.source,
            parameters=[each.name for each in function.parameters],
            handler=function.handler or "",
            kind=kind,
            returns=function.returns_text,
            return_type=json.loads(self._java.type(returns))["json"],
            columns=[each.type for each in function.returns] if function.returns_table else [],
        )

    def _facts(self, function: Function, kind: str) -> Mapping[str, Any]:
        context: Any = self._spark.sparkContext
        return {
            "schema": function.schema,
            "name": function.name,
            "parameters": [
                {"name": each.name, "type": each.type, "default": each.default} for each in function.parameters
            ],
            "type": _columns_ddl(function) if function.returns_table else function.returns[0].type,
            "is_table": function.returns_table,
            "eval_type": _EVAL_TYPES[kind],
            "deterministic": function.deterministic,
            "fingerprint": function.fingerprint,
            "worker": {
                "executable": self._executable,
                "version": context.pythonVer,
                "environment": dict(context.environment),
            },
            "description": _describe(function),
            "extended": _describe_extended(function),
        }

    def _check_source(self, statement: CreateFunction, function: Function) -> None:
        problem = _run_check(self._executable, self._definition(function))
        if problem is None:
            return
        place = _problem_place(statement, problem)
        hint = problem["hint"]
        if problem["module"]:
            executable = shutil.which(self._executable) or self._executable
            hint = (
                f"Functions import packages of the engine's Python environment. Install the package of"
                f" {problem['module'].partition('.')[0]} there, with {executable} -m pip install PACKAGE, and run the"
                " statement again."
            )
        raise _invalid(problem["message"], place, hint)


def _run_check(executable: str, definition: Definition) -> Problem | None:
    """Run the check of a source in a process of its own. Raises StatementError INVALID_FUNCTION if that ends otherwise.

    The process ends with a cancelled statement.
    """
    process = subprocess.Popen(
        [executable, "-P", str(python_source.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            with request.current().cancellation.on_cancel(process.kill):
                answer, errors = process.communicate(json.dumps(definition), timeout=_CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            raise _invalid(
                f"The Python source did not load within {_CHECK_SECONDS:g} s.",
                None,
                "Move slow work from the module into the function.",
            ) from None
        finally:
            process.kill()
    request.current().cancellation.check()
    if not answer:
        last = errors.strip().rpartition("\n")[2]
        raise _invalid(f"The process that loads the Python source has ended with code {process.returncode}: {last}")
    problem: Problem | None = json.loads(answer)["problem"]
    return problem


def _problem_place(statement: CreateFunction, problem: Problem) -> Span:
    if not problem["line"]:
        return statement.handler_place or statement.place
    lines = statement.source.split("\n")
    line = min(problem["line"], len(lines))
    start = sum(len(each) + 1 for each in lines[: line - 1]) + min(problem["column"], len(lines[line - 1]))
    return Span(statement.source_place.start + start, statement.source_place.start + start + 1)


def _parts(statement: CreateFunction, session: SparkSession) -> tuple[str, str, str]:
    name = statement.name
    if len(name) == 3:
        return name[0], name[1], name[2]
    catalog = session.catalog.currentCatalog()
    return (catalog, *name) if len(name) == 2 else (catalog, session.catalog.currentDatabase(), name[0])


def _check_names(columns: tuple[ColumnText, ...], what: str) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name.casefold() in seen:
            raise _invalid(f"The {what} {column.name} exists twice.", column.place)
        seen.add(column.name.casefold())


def _check_style(statement: CreateFunction) -> None:
    if statement.returns_table and statement.style is not None:
        raise _invalid(
            "A table function cannot have a PARAMETER STYLE.", statement.style_place, "Leave out PARAMETER STYLE."
        )
    if statement.returns_table and statement.handler is None:
        raise _invalid(
            "A table function needs a HANDLER.",
            statement.place,
            "Define a class with a method eval that yields the rows, and write HANDLER 'class' before AS.",
        )
    if statement.style is not None and not statement.parameters:
        raise _invalid(
            f"PARAMETER STYLE {statement.style.value} needs a parameter: batches have the rows of an argument.",
            statement.style_place,
            "Leave out PARAMETER STYLE.",
        )


def _check_defaults(statement: CreateFunction) -> None:
    """Refuse a required parameter after an optional one: no positional call could leave out the optional one."""
    optional = ""
    for column in statement.parameters:
        if column.default is not None:
            optional = column.name
        elif optional:
            raise _invalid(
                f"The parameter {column.name} needs a DEFAULT, because {optional} before it has one.", column.place
            )


def _describe(function: Function) -> list[str]:
    parameters = [f"{each.name} {each.type}{_details(each)}" for each in function.parameters]
    returns = [f"{each.name} {each.type}{_details(each)}" for each in function.returns]
    return [
        f"Function:      {CATALOG}.{function.qualified_name}",
        f"Type:          {'TABLE' if function.returns_table else 'SCALAR'}",
        *_listed("Input", parameters or ["()"]),
        *_listed("Returns", returns if function.returns_table else [function.returns_text]),
    ]


def _describe_extended(function: Function) -> list[str]:
    created = datetime.fromtimestamp(function.created, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return [
        *(_listed("Comment", [function.comment]) if function.comment else []),
        "Language:      PYTHON",
        *(_listed("Handler", [function.handler]) if function.handler else []),
        *(_listed("Style", [function.style.value]) if function.style else []),
        f"Deterministic: {str(function.deterministic).lower()}",
        f"Owner:         {function.owner}",
        f"Create Time:   {created}",
        *_listed("Body", textwrap.dedent(function.source).strip("\n").split("\n")),
    ]


def _details(column: FunctionColumn) -> str:
    default = f" DEFAULT {column.default}" if column.default is not None else ""
    return default + (f" '{column.comment}'" if column.comment else "")


def _listed(title: str, lines: list[str]) -> list[str]:
    return [f"{f'{title}:' if number == 0 else '':<15}{line}" for number, line in enumerate(lines)]


def _columns_ddl(function: Function) -> str:
    return ", ".join(f"{quoted_name(each.name)} {each.type}" for each in function.returns)


def _invalid(message: str, place: Span | None = None, hint: str = "") -> StatementError:
    return StatementError("INVALID_FUNCTION", message, place=place, hint=hint)
