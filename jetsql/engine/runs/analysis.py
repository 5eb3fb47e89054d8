"""Turn a body's text into an `Analysis`: Spark's analyzer resolves it, and this module reads and checks the result.

Spark receives the statement with everything before the body replaced by spaces, so positions in Spark's errors are
positions in the whole statement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import strip_message
from jetsql.engine.jdbc.jdbc_databases import Database, explain_read_error, find_jdbc_error
from jetsql.engine.jdbc.jdbc_dialects import find_dialect
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import TableFacts
from jetsql.engine.session.kafka_topics import KafkaTopic
from jetsql.engine.sinks.preflight import check_jdbc_table
from jetsql.errors import Span, StatementError
from jetsql.jobs.model.function import UsedFunction
from jetsql.jobs.model.job import (
    Analysis,
    CapturedSession,
    Operator,
    OutputMode,
    Replay,
    Rewrite,
    Sink,
    SinkKind,
    Source,
)
from jetsql.jobs.planning.output_mode import MODES
from jetsql.language import find_function, find_name
from jetsql.language.body.change_clauses import clause_texts
from jetsql.language.statement import Body
from jetsql.language.tokens import Kind, tokens, unquote

_FILE_FORMATS = frozenset({"parquet", "orc", "json", "csv", "avro", "text"})
_STREAMABLE = _FILE_FORMATS | {"kafka"}
_SOURCE_FORMATS = {
    "RateStreamTable": "rate",
    "RatePerMicroBatchTable": "rate-micro-batch",
    "TextSocketTable": "socket",
    "KafkaTable": "kafka",
}
_REPLAY = {"rate": Replay.BY_CLOCK, "socket": Replay.NO}
_ENDLESS = frozenset({"rate", "rate-micro-batch"})
_EXTRA_COLUMNS = "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS"
_START = "__start_at"  # the column of ChangeQuery.java with the sequence of a change, in lower case
_HISTORY_COLUMNS = (_START, "__end_at")
_RATE_LIMITS = frozenset({"maxfilespertrigger", "maxbytespertrigger", "maxoffsetspertrigger"})


@dataclass(frozen=True)
class ResolvedBody:
    """An analyzed body."""

    analysis: Analysis
    """The sources, the sink and the properties of the query."""
    written: Any
    """The resolved query as it was written, a LogicalPlan of Spark. Its columns are those of the result."""
    query: Any
    """The resolved query to run, a LogicalPlan of Spark."""
    batch_part: Any
    """The part that runs over the rows of each batch of the query, a BatchPart of the Java module, or None."""
    unchecked_by_spark: bool
    """The query needs Spark's own check to be off at its start, which would refuse it."""
    static_locations: tuple[str, ...]
    """The locations of the tables that the query reads in addition to its streams."""


def resolve_body(body: Body, spark: SparkSession, captured: CapturedSession) -> ResolvedBody:
    """Analyze a body in a session. Raises Spark's errors, and StatementError for a body that no job can run."""
    _check_database(body, spark)
    modes = ",".join(mode.value for mode in MODES[body.verb])
    clauses = clause_texts(body)
    try:
        plans = java(spark).sql.JobBody.analyze(
            spark._jsparkSession, body.spark_text, modes, None if clauses is None else json.dumps(clauses)
        )
    except (PySparkException, Py4JError) as error:
        raise _explain_extra_columns(body, error) or _explain_database_error(body, error) or error from None
    facts = json.loads(plans.facts())
    sink = _sink(body, spark, facts)
    _check_temporary(body, spark, facts)
    sources = tuple(_source(entry) for entry in facts["sources"])
    _check_own_sink(body, facts, sources, sink)
    _check_changes(body, facts, sink)
    statics = tuple(table["location"] for table in facts["statics"])
    analysis = _analysis(body, facts, sources, sink, captured)
    unchecked_by_spark = bool(facts.get("unchecked_by_spark"))
    return ResolvedBody(analysis, plans.written(), plans.query(), plans.batchPart(), unchecked_by_spark, statics)


def _check_database(body: Body, spark: SparkSession) -> None:
    """Check a sink's database before Spark connects to it during analysis."""
    name = body.spark_text[body.target.start : body.target.stop]
    facts = java(spark).sql.Tables.named(spark._jsparkSession, name)
    table = None if facts is None else TableFacts.from_json(json.loads(facts))
    if table is None or table.provider != "jdbc":
        return
    try:
        check_jdbc_table(spark, table)
    except StatementError as error:
        raise error.at(body.target) from None


def _explain_extra_columns(body: Body, error: PySparkException | Py4JError) -> StatementError | None:
    """Return the error to raise for changes with columns that the table lacks, or None for another error.

    Spark only counts the columns.
    """
    if body.changes is None or not isinstance(error, PySparkException):
        return None
    if error.getCondition() not in ("INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS", _EXTRA_COLUMNS):
        return None
    parameters = error.getMessageParameters() or {}
    table = [name.lower() for name in _split_names(parameters.get("tableColumns", ""))]
    extra = [name for name in _split_names(parameters.get("dataColumns", "")) if name.lower() not in table]
    listed = ", ".join(extra) or parameters.get("extraColumns", "").replace("`", "")
    missing = [name for name in listed.split(", ") if name.lower() in _HISTORY_COLUMNS]
    if body.changes.keeps_history and missing:
        names = " and ".join(missing)
        return StatementError(
            "UNSUPPORTED_QUERY",
            f"SCD TYPE 2 is not possible: the table does not have {names}.",
            place=body.target,
            hint=f"Create the tables again with {names} of the type of SEQUENCE BY, and with __START_AT in the key.",
        )
    return StatementError(
        "UNSUPPORTED_QUERY",
        f"The changes have columns that the table does not have: {listed}.",
        place=body.changes.columns or body.target,
        hint=f"Write COLUMNS * EXCEPT ({listed}) after SEQUENCE BY." if extra else "Remove them from COLUMNS.",
    )


def _split_names(listed: str) -> list[str]:
    """Return the names of a list in one of Spark's messages, in back quotes."""
    return [unquote(token.text) for token in tokens(listed) if token.kind is Kind.QUOTED]


def _explain_database_error(body: Body, error: PySparkException | Py4JError) -> StatementError | None:
    """Return the error to raise for a database that the body reads or writes, or None for another error."""
    if isinstance(error, PySparkException) and error.getCondition() == "USER_SPECIFIED_AND_ACTUAL_SCHEMA_MISMATCH":
        return StatementError(
            "SINK_CHANGED",
            f"The columns of a JDBC table differ from those in the catalogue. {_describe_columns(error)}",
            place=body.target,
            hint="Run DROP TABLE and CREATE TABLE to update the catalogue; the rows stay in the database.",
        )
    failure = find_jdbc_error(error)
    return None if failure is None else explain_read_error(failure)


def _describe_columns(error: PySparkException) -> str:
    """Return the two lists of columns in Spark's message, without its advice, which does not apply here."""
    text = strip_message(str(error), error.getCondition() or "").partition("schema: ")[2].partition(" If you're")[0]
    return f"In the catalogue and in the database: {text.removeprefix('user-specified: ').replace('actual: ', '')}"


def _analysis(
    body: Body, facts: dict[str, Any], sources: tuple[Source, ...], sink: Sink, captured: CapturedSession
) -> Analysis:
    modes = {OutputMode(mode): _reason(text) for mode, text in facts.get("modes", {}).items()}
    operators = tuple(Operator(each["kind"], each["meaning"]) for each in facts.get("stateful", ()))
    waits_for_watermark = bool(operators) and bool(facts.get("watermark")) and modes.get(OutputMode.APPEND, "") is None
    return Analysis(
        streaming=facts["streaming"],
        sources=sources,
        sink=sink,
        session=captured,
        modes=modes,
        has_aggregates=bool(facts.get("aggregates")),
        stateful=bool(operators),
        waits_for_watermark=waits_for_watermark,
        operators=operators,
        rewrites=tuple(Rewrite(**each) for each in facts.get("rules", ())),
        kept_state=tuple(facts.get("kept_state", ())),
        batch_part=facts.get("batch_part", ""),
        functions=tuple(UsedFunction(*each) for each in sorted(facts.get("functions", {}).items())),
        unstable_partitioning=_describe_unstable_partitioning(facts, sources, bool(operators)),
        keeps_history=body.changes is not None and body.changes.keeps_history,
        tables_read_once=() if facts["streaming"] else _streamable_tables(facts),
    )


def _streamable_tables(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the tables that the query reads as they are, and that a job could read as streams."""
    tables = (entry for entry in facts["read_once"] if entry["provider"].lower() in _STREAMABLE)
    return tuple(dict.fromkeys(entry["table"] for entry in tables))


def _describe_unstable_partitioning(facts: dict[str, Any], sources: tuple[Source, ...], stateful: bool) -> str:
    """Return the reason why a replayed batch may be split into other parts; an empty text if it cannot be.

    Changed values matter only if rows are distributed by their values.
    """
    if "spread" in facts:
        return f"{facts['spread']} distributes the rows of a replayed batch differently"
    by_values = stateful or facts.get("joins", False) or any(source.format != "kafka" for source in sources)
    return f"{facts['varying']} returns other values in a replayed batch" if "varying" in facts and by_values else ""


def _reason(text: str | None) -> str | None:
    """Return Spark's reason to refuse an output mode, without condition and SQLSTATE; None for a possible mode."""
    return None if text is None else strip_message(text.partition("] ")[2] or text, "").rstrip(".")


def _source(entry: dict[str, Any]) -> Source:
    kind = _SOURCE_FORMATS.get(entry["format"], entry["format"]).lower()
    options = {key.lower() for key in entry.get("options", {})}
    return Source(
        name=entry.get("table") or entry["name"],
        format=kind,
        location=entry.get("location", ""),
        replay=_REPLAY.get(kind, Replay.YES),
        rate_limited=bool(options & _RATE_LIMITS),
        endless=kind in _ENDLESS,
        created=entry.get("created", 0),
        has_dead_letters=(entry.get("on_error") or "").lower().startswith("table:"),
    )


def _sink(body: Body, spark: SparkSession, facts: dict[str, Any]) -> Sink:
    if "sink" not in facts:
        raise _unsupported(
            body, "Jobs cannot write this table.", "Write a file table, or a table USING jdbc or USING kafka."
        )
    table = TableFacts.from_json(facts["sink"])
    if table.bucketed:
        raise _unsupported(body, f"{table.name} is bucketed.", "Write a table without CLUSTERED BY.")
    if table.provider in _FILE_FORMATS:
        kind = SinkKind.FILES
    elif table.provider == "jdbc":
        kind = SinkKind.JDBC
    elif table.provider == "kafka":
        kind = SinkKind.KAFKA
    else:
        raise _unsupported(
            body,
            f"{table.name} is a table USING {table.provider or 'hive'}.",
            "Write a table USING parquet, orc, json, csv, avro, text, jdbc or kafka.",
        )
    system, transactional = _describe_system(spark, kind, table)
    return Sink(
        table=table.name,
        kind=kind,
        provider=table.provider,
        location=table.location,
        created=table.created,
        columns=table.columns,
        partition_columns=table.partition_columns,
        key_columns=_key_columns(body, table),
        managed=table.managed,
        replaces_whole_table=not facts.get("static_partitions")
        and not (facts.get("dynamic") and table.partition_columns),
        system=system,
        transactional=transactional,
        has_batch_numbers=table.option("delivery.headers").lower() == "true",
    )


def _describe_system(spark: SparkSession, kind: SinkKind, table: TableFacts) -> tuple[str, bool]:
    """Return the name of the sink's external system, and whether JetSQL can write a batch to it atomically."""
    if kind is SinkKind.FILES:
        return "", True
    if kind is SinkKind.KAFKA:
        return KafkaTopic.of_table(table).description, True
    database = Database(spark, table.options)
    return f"{database.server}, {database.table}", find_dialect(database.driver) is not None


def _key_columns(body: Body, table: TableFacts) -> tuple[str, ...]:
    """Return the columns of the option `key.columns`, spelled as in the table. Raises StatementError."""
    option = table.option("key.columns")
    columns = {column.lower(): column for column in table.columns} | {column: column for column in table.columns}
    keys = []
    for name in (part.strip().strip('`"') for part in option.split(",") if part.strip()):
        column = columns.get(name) or columns.get(name.lower())
        if column is None:
            hint = f"The table's columns: {', '.join(table.columns)}."
            raise _unsupported(body, f"{table.name} has no column {name}, which its option 'key.columns' names.", hint)
        keys.append(column)
    return tuple(keys)


def _unsupported(body: Body, message: str, hint: str) -> StatementError:
    return StatementError("UNSUPPORTED_SINK", message, place=body.target, hint=hint)


def _check_own_sink(body: Body, facts: dict[str, Any], sources: tuple[Source, ...], sink: Sink) -> None:
    if any(source.name.lower() == sink.table.lower() for source in sources):
        message = f"The job would read its own rows: {sink.table} is both its source and its sink."
    elif sink.kind is SinkKind.KAFKA and _reads_sink_topic(facts):
        message = f"The job would read its own rows: it also reads a table of {sink.system}."
    else:
        return
    raise StatementError("UNSUPPORTED_QUERY", message, place=body.target, hint="Write another table.")


def _reads_sink_topic(facts: dict[str, Any]) -> bool:
    """Return whether a source reads the sink's topic through another table."""
    topic = KafkaTopic.of_table(TableFacts.from_json(facts["sink"]))
    return any(
        entry.get("servers") == topic.servers and topic.name in entry.get("location", "").split(",")
        for entry in facts["sources"]
    )


def _check_changes(body: Body, facts: dict[str, Any], sink: Sink) -> None:
    """Check that AUTO CDC reads a stream, and applies its changes by the key of the table."""
    changes = body.changes
    if changes is None:
        return
    if not facts["streaming"]:
        message = "AUTO CDC applies the changes of a stream, and this query reads none."
        raise StatementError(
            "UNSUPPORTED_QUERY", message, place=body.target, hint="Write FROM STREAM before the table."
        )
    if sink.kind is SinkKind.FILES or not sink.key_columns:
        reason = "is a file table, whose rows cannot be updated" if sink.kind is SinkKind.FILES else "has no key"
        hint = "Write a table USING jdbc or kafka with the table option 'key.columns'."
        raise _unsupported(body, f"AUTO CDC is not possible: {sink.table} {reason}.", hint)
    if changes.keeps_history:
        _check_history(body, sink)
    places = dict(zip((key.lower() for key in changes.keys), changes.key_places, strict=False))
    keys = [key.lower() for key in sink.key_columns if not changes.keeps_history or key.lower() != _START]
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
    if sink.kind is not SinkKind.JDBC:
        message = f"SCD TYPE 2 is not possible: {sink.table} is not a table of a database."
        raise _unsupported(body, message, "Write a table USING jdbc, or use STORED AS SCD TYPE 1.")
    if _START not in (key.lower() for key in sink.key_columns):
        keys = ", ".join((*sink.key_columns, "__START_AT"))
        message = f"SCD TYPE 2 is not possible: {sink.table} has one row for each {', '.join(sink.key_columns)}."
        hint = f"Create the tables again with the primary key ({keys}) and the table option 'key.columns' = '{keys}'."
        raise _unsupported(body, message, hint)


def _check_temporary(body: Body, spark: SparkSession, facts: dict[str, Any]) -> None:
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
    for function in json.loads(java(spark).sql.Sessions.temporaryFunctions(spark._jsparkSession)):
        span = find_function(body.text, function)
        if span is not None:
            raise _temporary_object(
                f"{function} is a temporary function",
                Span(span.start + body.place.start, span.stop + body.place.start),
                "Use CREATE FUNCTION without TEMPORARY.",
            )


def _find_span(body: Body, parts: list[str]) -> Span:
    """Return the span of a name in the statement; that of the body when the name is not found."""
    span = find_name(body.text, parts, 0) or find_name(body.text, parts[-1:], 0)
    return body.place if span is None else Span(span.start + body.place.start, span.stop + body.place.start)


def _temporary_object(statement: str, span: Span, hint: str) -> StatementError:
    message = f"{statement}: it ends with this session, so the job could not find it after a restart."
    return StatementError("TEMPORARY_OBJECT_IN_BODY", message, place=span, hint=hint)
