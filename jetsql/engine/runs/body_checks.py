"""The checks of a resolved body: what a job can run, with the place of what it cannot.

The queries of a body with several INSERTs must compute each row from single rows of a stream.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic
from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, Sink, Source
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language import find_function, find_name
from jetsql.language.objects.expectation import Expectation
from jetsql.language.statement import Body

START_COLUMN: Final = "__start_at"  # the column of ChangeQuery.java with the sequence of a change, in lower case
_OWN_JOB: Final = "Write it into the FROM: FROM (SELECT ...) INSERT INTO ..., or create a job for this table."
_OPERATIONS: Final = {
    "Aggregate": ("An aggregate", _OWN_JOB),
    "Distinct": ("DISTINCT", _OWN_JOB),
    "Window": ("A window function", _OWN_JOB),
    "GlobalLimit": ("LIMIT", _OWN_JOB),
    "LocalLimit": ("LIMIT", _OWN_JOB),
    "InputFileName": ("input_file_name()", _OWN_JOB),
    "Sort": ("ORDER BY", "Remove it: the rows of a table have no order."),
}
"""The name of an operation and a hint, by the class of its node in Spark's plan."""


_TABLE_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
"""A part of the name of a table in Spark's own catalogue."""
_COLUMN: Final = "Compute it as a column of the query, and test the column."
_RULE_REFUSALS: Final = {
    "name": ("the name {} comes after its condition", "Write a condition without a name, and complete."),
    "type": ("its condition is of the type {}", "Write a condition that is true or false, such as column IS NOT NULL."),
    "aggregate": ("an aggregate needs more than one row", "Test the rows of a query that has the aggregate."),
    "window": ("a window function needs more than one row", _COLUMN),
    "generator": ("a generator returns several rows", _COLUMN),
    "subquery": ("it has a subquery", "Join the table in the query, and test its columns."),
    "function": ("it calls a function whose body is a query", _COLUMN),
    "python": ("it calls a function in Python", _COLUMN),
    "variable": ("it reads the variable {}, which ends with this session", "Write its value instead."),
    "varying": ("{} returns another value when a batch is repeated", _COLUMN),
    "json": ("its table needs the row as JSON, and a column cannot be converted", "Convert the column with CAST."),
}
"""The reason why a rule is refused, a clause, and a hint, by the kind of `Conditions` of the Java module."""


def check_branches(body: Body, facts: dict[str, Any]) -> None:
    """Raise StatementError UNSUPPORTED_QUERY for branches that need more than one row.

    facts: those of the `JobBody` of the Java module.
    """
    if not body.branches:
        return
    source = Span(body.place.start, body.branches[0].place.start)
    if not facts["streaming"]:
        hint = "Write FROM STREAM table, with OPTIONS ('trigger' = 'availableNow') for a job that ends."
        raise _refused("A job with several tables reads a stream, and this FROM reads none.", source, hint)
    for branch, found in zip(body.branches, facts["branches"], strict=True):
        if found["refused"] is not None:
            operation, hint = _OPERATIONS.get(found["refused"], (found["refused"], _OWN_JOB))
            message = f"{operation} is not possible after a FROM with several INSERTs: each row is computed on its own."
            raise _refused(message, branch.place, hint)
    if "unstorable" in facts:
        message = f"The FROM of a job with several tables has a column that cannot be stored: {facts['unstorable']}."
        raise _refused(message, source, "Convert it with CAST in the FROM.")


def _refused(message: str, place: Span, hint: str) -> StatementError:
    return StatementError("UNSUPPORTED_QUERY", message, place=place, hint=hint)


def check_own_sink(target: Span, facts: dict[str, Any], sources: tuple[Source, ...], sink: Sink) -> None:
    if any(source.name.lower() == sink.table.lower() for source in sources):
        message = f"The job would read its own rows: {sink.table} is both its source and its sink."
    elif traits_of(sink).is_topic and _reads_sink_topic(facts):
        message = f"The job would read its own rows: it also reads a table of {sink.system}."
    else:
        return
    raise StatementError("UNSUPPORTED_QUERY", message, place=target, hint="Write another table.")


def _reads_sink_topic(facts: dict[str, Any]) -> bool:
    """Return whether a source reads the sink's topic through another table."""
    topic = KafkaTopic.of_table(TableFacts.from_json(facts["sink"]))
    return any(
        entry.get("servers") == topic.servers and topic.name in entry.get("location", "").split(",")
        for entry in facts["sources"]
    )


def check_changes(body: Body, facts: dict[str, Any], sink: Sink) -> None:
    """Check that AUTO CDC reads a stream, and applies its changes by the key of the table."""
    changes = body.changes
    if changes is None:
        return
    if not facts["streaming"]:
        message = "AUTO CDC applies the changes of a stream, and this query reads none."
        raise StatementError(
            "UNSUPPORTED_QUERY", message, place=body.target, hint="Write FROM STREAM before the table."
        )
    can_update = traits_of(sink).can_update
    if not can_update or not sink.key_columns:
        reason = "has no key" if can_update else "is a file table, whose rows cannot be updated"
        hint = "Write a table USING delta, iceberg, jdbc or kafka with the table option 'key.columns'."
        raise unsupported_sink(body.target, f"AUTO CDC is not possible: {sink.table} {reason}.", hint)
    if changes.keeps_history:
        _check_history(body, sink)
    places = dict(zip((key.lower() for key in changes.keys), changes.key_places, strict=False))
    keys = [key.lower() for key in sink.key_columns if not changes.keeps_history or key.lower() != START_COLUMN]
    wrong = next((place for key, place in places.items() if key not in keys), changes.key_places[0])
    if set(places) != set(keys):
        listed = ", ".join(key for key in sink.key_columns if key.lower() in keys)
        without = " without __START_AT" if changes.keeps_history else ""
        message = f"KEYS must be the 'key.columns' of {sink.table}{without}: {listed}."
        raise StatementError("UNSUPPORTED_QUERY", message, place=wrong, hint=f"Write KEYS ({listed}).")
    columns = {column.lower() for column in facts["change_columns"]}
    missing = next((key for key in places if key not in columns), None)
    if missing is not None:
        message = f"COLUMNS leaves out {missing}, which is one of the KEYS."
        raise StatementError("UNSUPPORTED_QUERY", message, place=changes.columns, hint=f"Add {missing} to COLUMNS.")


def _check_history(body: Body, sink: Sink) -> None:
    """Check that the table can keep the history of AUTO CDC ... SCD TYPE 2: a row for each change of a key."""
    if traits_of(sink).is_topic:
        message = f"SCD TYPE 2 is not possible: {sink.table} is a topic."
        hint = "Write a table USING delta, iceberg or jdbc, or use STORED AS SCD TYPE 1."
        raise unsupported_sink(body.target, message, hint)
    if START_COLUMN not in (key.lower() for key in sink.key_columns):
        keys = ", ".join((*sink.key_columns, "__START_AT"))
        message = f"SCD TYPE 2 is not possible: {sink.table} has one row for each {', '.join(sink.key_columns)}."
        hint = f"Create the tables again with the primary key ({keys}) and the table option 'key.columns' = '{keys}'."
        raise unsupported_sink(body.target, message, hint)


def check_expectations(body: Body, facts: dict[str, Any]) -> None:
    """Raise StatementError INVALID_EXPECTATION for a rule that cannot be checked for each row on its own.

    facts: those of the `JobBody` of the Java module.
    """
    for rule, refused in zip(body.expectations, facts["expectations"], strict=True):
        parts = split_table(rule.table)
        if len(parts) > 2:
            raise _unfit_table(
                rule,
                "has a name with more than two parts",
                "Write INTO TABLE table or INTO TABLE schema.table: the table is in Spark's own catalogue.",
            )
        if not all(map(_TABLE_NAME.fullmatch, parts)):
            raise _unfit_table(
                rule, "cannot have this name", "Write a name with letters from a to z, digits and underscores."
            )
        if refused is not None:
            reason, hint = _RULE_REFUSALS[refused["kind"]]
            raise StatementError(
                "INVALID_EXPECTATION",
                f"The rule {rule.name} is not possible: {reason.format(refused['detail'])}.",
                place=rule.place,
                hint=hint,
            )


def check_violation_tables(analysis: Analysis) -> None:
    """Raise StatementError INVALID_EXPECTATION for a table of rules that the job writes or reads itself."""
    sinks, sources = (
        {name_key(name) for name in names}
        for names in ((each.table for each in analysis.sinks), (each.name for each in analysis.sources))
    )
    for rule in analysis.expectations:
        if name_key(rule.table) in sinks:
            problem = "is the table that the job writes: rows that violate the rule would be among the others"
        elif name_key(rule.table) in sources:
            problem = "is a source of the job, which would read its own rows"
        else:
            continue
        raise _unfit_table(rule, problem, "Name another table, which does not have to exist.")


def _unfit_table(rule: Expectation, problem: str, hint: str) -> StatementError:
    message = f"The table of the rule {rule.name} {problem}."
    return StatementError("INVALID_EXPECTATION", message, place=rule.action_place, hint=hint)


def check_temporary(body: Body, spark: SparkSession, facts: dict[str, Any]) -> None:
    """Refuse views, variables and functions that exist only in this session: a job restarts in another session."""
    for view in facts["temporary_views"]:
        parts = view.replace("`", "").split(".")
        raise _temporary_object(
            f"{view} is a temporary view", _find_span(body, parts), "Use CREATE VIEW without TEMPORARY."
        )
    for variable in facts["variables"]:
        raise _temporary_object(
            f"{variable} is a session variable", _find_span(body, [variable]), "Write its value instead."
        )
    for function in json.loads(java(spark).catalog.Sessions.temporaryFunctions(spark._jsparkSession)):
        for rule in body.expectations:
            if (at := find_function(rule.condition, function)) is not None:
                raise _temporary_object(
                    f"{function} is a temporary function",
                    Span(at.start + rule.place.start, at.stop + rule.place.start),
                    "Use CREATE FUNCTION without TEMPORARY.",
                )
        span = find_function(body.text, function)
        if span is not None:
            raise _temporary_object(
                f"{function} is a temporary function",
                Span(span.start + body.place.start, span.stop + body.place.start),
                "Use CREATE FUNCTION without TEMPORARY.",
            )


def check_path(body: Body, spark: SparkSession) -> None:
    """Refuse a session with a path of its own: the job would find other functions and tables after a restart."""
    if java(spark).catalog.Sessions.hasOwnPath(spark._jsparkSession):
        raise StatementError(
            "UNSUPPORTED_QUERY",
            "SET PATH has changed where this session finds functions and tables; a job would not find them there.",
            place=body.place,
            hint="Create the job in a new session, and write the schema before the names of functions.",
        )


def _find_span(body: Body, parts: list[str]) -> Span:
    """Return the span of a name in the statement; that of the body when the name is not found."""
    span = find_name(body.text, parts, 0) or find_name(body.text, parts[-1:], 0)
    return body.place if span is None else Span(span.start + body.place.start, span.stop + body.place.start)


def _temporary_object(statement: str, span: Span, hint: str) -> StatementError:
    message = f"{statement}: it ends with this session, so the job could not find it after a restart."
    return StatementError("TEMPORARY_OBJECT_IN_BODY", message, place=span, hint=hint)


def unsupported_sink(target: Span, message: str, hint: str) -> StatementError:
    """Return the error UNSUPPORTED_SINK. target: the place of the table's name."""
    return StatementError("UNSUPPORTED_SINK", message, place=target, hint=hint)


def find_misspelled(target: Span, facts: dict[str, Any]) -> StatementError | None:
    """Return the error for a table with an option like 'key.column', which decides nothing; None for other tables."""
    sink = facts.get("sink", {})
    if "misspelled" not in sink:
        return None
    name, meant = sink["misspelled"], sink["meant"]
    clause = "SERDEPROPERTIES" if sink["provider"].lower() == "jdbc" else "TBLPROPERTIES"
    return StatementError(
        "UNKNOWN_OPTION",
        f"{sink['table']} has the option '{name}', which does nothing.",
        place=target,
        hint=f"Did you mean '{meant}'? Write ALTER TABLE {sink['table']} SET {clause} ('{meant}' = '...').",
    )
