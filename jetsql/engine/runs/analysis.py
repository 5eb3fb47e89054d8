"""Turn a body's text into an `Analysis`: Spark's analyzer resolves it, and this module reads and checks the result.

Spark receives the statement with everything before the body replaced by spaces, so positions in Spark's errors are
positions in the whole statement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import strip_message
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.jvm.spark_version import lacking_clauses
from jetsql.engine.runs.analysis_errors import explain_analysis_error
from jetsql.engine.runs.body_checks import (
    check_branches,
    check_changes,
    check_expectations,
    check_own_sink,
    check_path,
    check_temporary,
    check_violation_tables,
    find_misspelled,
    unsupported_sink,
)
from jetsql.engine.session.catalog import Catalog, TableFacts
from jetsql.engine.session.engine_sessions import is_allowed, user_of
from jetsql.engine.session.job_sessions import LOCAL_WINDOWS_CONF
from jetsql.engine.sinks.checked_rows import rules_json
from jetsql.engine.sinks.preflight import check_jdbc_table
from jetsql.engine.sinks.sink_kinds import SINK_KINDS, find_kind
from jetsql.errors import ErrorPlace, Span, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.model.body_analysis import (
    Analysis,
    CapturedSession,
    Operator,
    OutputMode,
    Replay,
    Rewrite,
    Sink,
    Source,
)
from jetsql.jobs.model.function import UsedFunction
from jetsql.jobs.model.job import Plan, name_key
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.option_rules import side_table_name
from jetsql.jobs.planning.output_mode import modes_of
from jetsql.jobs.planning.sink_traits import FILE_FORMATS, SINK_PROVIDERS
from jetsql.language.body.change_clauses import clause_texts
from jetsql.language.body.several_inserts import SOURCE_NAME, branch_text, source_text
from jetsql.language.objects.expectation import Expectation
from jetsql.language.statement import Body
from jetsql.language.tokens import blank

_STREAMABLE = frozenset({*FILE_FORMATS, "kafka"})
_SOURCE_FORMATS = {
    "RateStreamTable": "rate",
    "RatePerMicroBatchTable": "rate-micro-batch",
    "TextSocketTable": "socket",
    "KafkaTable": "kafka",
}
_REPLAY = {"rate": Replay.BY_CLOCK, "socket": Replay.NO}
_ENDLESS = frozenset({"rate", "rate-micro-batch"})
_CHANGE_FEED = frozenset({"readchangefeed", "readchangedata"})
_RATE_LIMITS = frozenset({"maxfilespertrigger", "maxbytespertrigger", "maxoffsetspertrigger"})
_LAKE_STARTS = ("startingVersion", "startingTimestamp", "stream-from-timestamp")


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
    branches: tuple[Any, ...]
    """The query of each branch over the rows of a batch, a BatchPart; empty for a body with one INSERT."""
    java_body: Any
    """The JobBody of the Java module."""
    misspelled: StatementError | None
    """The error for an option of a sink that its table had before JetSQL checked options: new jobs are refused."""


def resolve_body(
    body: Body,
    spark: SparkSession,
    captured: CapturedSession,
    modes: Sequence[OutputMode],
    state_ttl_millis: int | None = None,
    known: Analysis | None = None,
) -> ResolvedBody:
    """Analyze a body in a session. Raises Spark's errors, and StatementError for a body that no job can run.

    modes, state_ttl_millis: see `JobRuntime.analyse`. known: the analysis of the job when it was created, whose columns
    it keeps; None for all columns of the tables.
    """
    targets = [branch.target for branch in body.branches] or [body.target]
    for target in targets:
        _check_database(body, target, spark)
    plans = _analyze(body, spark, modes, state_ttl_millis or 0, known)
    facts = json.loads(plans.facts())
    described = facts.get("branches", [facts])
    sinks = tuple(_sink(target, spark, each) for target, each in zip(targets, described, strict=True))
    check_temporary(body, spark, facts)
    check_path(body, spark)
    check_expectations(body, facts)
    check_branches(body, facts)
    sources = tuple(_source(entry) for entry in facts["sources"])
    for target, each, sink in zip(targets, described, sinks, strict=True):
        check_own_sink(target, {**facts, **each}, sources, sink)
    check_changes(body, facts, sinks[0])
    statics = tuple(table["location"] for table in facts["statics"])
    local_windows = spark.conf.get(LOCAL_WINDOWS_CONF, "true") == "true"
    analysis = _analysis(body, facts, sources, sinks, captured, local_windows)
    check_violation_tables(analysis)
    return ResolvedBody(
        analysis=analysis,
        written=plans.written(),
        query=plans.query(),
        batch_part=plans.batchPart(),
        unchecked_by_spark=bool(facts.get("unchecked_by_spark")),
        static_locations=statics,
        branches=tuple(plans.branchParts()) if body.branches else (),
        java_body=plans,
        misspelled=next(filter(None, map(find_misspelled, targets, described)), None),
    )


def resolve_with_plan(body: Body, spark: SparkSession, plan: Plan) -> ResolvedBody:
    """Analyze the body of a job as its plan says. Raises as `resolve_body`."""
    modes = modes_of(body.verb, plan.output_mode)
    return resolve_body(body, spark, plan.analysis.session, modes, plan.options.state_ttl_millis, plan.analysis)


def _known_columns(spark: SparkSession, known: Analysis | None, number: int = 0) -> str | None:
    """Return the columns of a sink that the job knows, as JSON, if columns were added to the table; otherwise None."""
    if known is None:
        return None
    sink = known.sinks[number]
    table = Catalog(spark).table(sink.table)
    if table is None or not set(sink.columns) < set(table.columns):
        return None
    return json.dumps(sink.columns)


def _analyze(
    body: Body, spark: SparkSession, modes: Sequence[OutputMode], ttl_millis: int, known: Analysis | None
) -> Any:
    """Return the JobBody of the Java module. ttl_millis: the time to live of state, or 0"""
    mode_names = ",".join(mode.value for mode in modes)
    rules = rules_json(
        body.expectations, lambda rule: blank(body.spark_text[: rule.place.start]) + rule.condition, body.spark_text
    )
    clauses = clause_texts(body)
    session, classes = spark._jsparkSession, java(spark).bodies
    tables = json.dumps(known.tables) if known is not None and known.tables else None
    target = body.target
    try:
        if not body.branches:
            return classes.JobBody.analyze(
                session,
                body.spark_text,
                mode_names,
                ttl_millis,
                None if clauses is None else json.dumps(clauses),
                _known_columns(spark, known),
                tables,
                rules,
            )
        insert = classes.BranchedInsert.ofSource(session, source_text(body), tables)
        for number, branch in enumerate(body.branches):
            target, text, columns = branch.target, body.spark_text, _known_columns(spark, known, number)
            insert.add(branch_text(body, branch), SOURCE_NAME, target.line(text), target.column(text), columns)
        return classes.JobBody.of(insert, mode_names, ttl_millis, rules)
    except (PySparkException, Py4JError) as error:
        raise explain_analysis_error(body, target, error) from None


def _check_database(body: Body, target: Span, spark: SparkSession) -> None:
    """Check a sink's database before Spark connects to it during analysis."""
    name = body.spark_text[target.start : target.stop]
    facts = java(spark).catalog.Tables.named(spark._jsparkSession, name)
    table = None if facts is None else TableFacts.from_json(json.loads(facts))
    if table is None or table.provider != "jdbc" or table.stands_in:
        return
    if not any(is_allowed(spark, user_of(spark), right, table.name) for right in (Right.INSERT, Right.MODIFY)):
        return  # the analysis refuses it
    try:
        Catalog(spark).check_connection(table)
        check_jdbc_table(spark, table)
    except StatementError as error:
        raise error.at(target) from None


def _analysis(
    body: Body,
    facts: dict[str, Any],
    sources: tuple[Source, ...],
    sinks: tuple[Sink, ...],
    captured: CapturedSession,
    local_windows: bool,
) -> Analysis:
    modes = {OutputMode(mode): _reason(text) for mode, text in facts.get("modes", {}).items()}
    inputs = chain(facts.get("operator_inputs", ()), repeat(()))  # those of operators in subqueries are not known
    operators = tuple(
        Operator(each["kind"], each["meaning"], tuple(read), each.get("earlier_meaning", ""))
        for each, read in zip(facts.get("stateful", ()), inputs, strict=False)
    )
    waits_for_watermark = bool(operators) and bool(facts.get("watermark")) and modes.get(OutputMode.APPEND, "") is None
    return Analysis(
        streaming=facts["streaming"],
        sources=sources,
        sinks=sinks,
        session=captured,
        modes=modes,
        has_aggregates=bool(facts.get("aggregates")),
        stateful=bool(operators),
        waits_for_watermark=waits_for_watermark,
        operators=operators,
        result_inputs=tuple(facts.get("result_inputs", ())),
        rewrites=tuple(Rewrite(**each) for each in facts.get("rules", ())),
        kept_state=tuple(facts.get("kept_state", ())),
        batch_part="; ".join(_batch_parts(facts)),
        marks_deleted=bool(facts.get("marks_deleted")),
        lookups=tuple(facts.get("lookups", ())),
        local_windows=local_windows,
        lacking_clauses=lacking_clauses(),
        functions=tuple(UsedFunction(*each) for each in sorted(facts.get("functions", {}).items())),
        unstable_partitioning=_describe_unstable_partitioning(facts, sources, bool(operators)),
        late_rows_refusal=facts.get("late_rows") or "",
        idle_timeout_refusal=facts.get("idle_sources") or "",
        keeps_history=body.changes is not None and body.changes.keeps_history,
        tables_read_once=() if facts["streaming"] else _streamable_tables(facts),
        expectations=_with_qualified_tables(body.expectations, captured),
        tables={table: tuple(columns) for table, columns in facts["tables"].items()},
    )


def _with_qualified_tables(rules: tuple[Expectation, ...], captured: CapturedSession) -> tuple[Expectation, ...]:
    """Return rules with the qualified names of their tables: one for each table, as it is written first."""
    names: dict[str, str] = {}
    qualified = []
    for rule in rules:
        name = side_table_name(captured, ".".join(split_table(rule.table))) if rule.table else ""
        qualified.append(replace(rule, table=names.setdefault(name_key(name), name)))
    return tuple(qualified)


def _batch_parts(facts: dict[str, Any]) -> Iterator[str]:
    if "batch_part" in facts:
        yield facts["batch_part"]
    if "branches" in facts:
        yield "the query of each table runs over the rows of each batch"


def _streamable_tables(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the tables that the query reads as they are, and that a job could read as streams."""
    tables = (entry for entry in facts["read_once"] if entry["provider"].lower() in _STREAMABLE)
    return tuple(dict.fromkeys(entry["table"] for entry in tables))


def _describe_unstable_partitioning(facts: dict[str, Any], sources: tuple[Source, ...], stateful: bool) -> str:
    """Return the reason why a replayed batch may be split into other parts; an empty text if it cannot be.

    Changed values matter only if rows are distributed by their values.
    """
    if "branches" in facts:  # the rows of a batch are stored before the branches read them
        varying = [each["varying"] for each in facts["branches"] if "varying" in each]
        return f"{varying[0]} returns other values in a replayed batch" if varying else ""
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
        identity=entry.get("identity", ""),
        on_error=entry.get("on_error") or "",
        reads_changes=any(
            key.lower() in _CHANGE_FEED and value.lower() == "true" for key, value in entry.get("options", {}).items()
        ),
        start_option=_start_option(entry),
    )


def _start_option(entry: dict[str, Any]) -> str:
    """Return the option that says where a stream begins; empty without one. Java names Kafka's, which has a default."""
    if _SOURCE_FORMATS.get(entry["format"]) == "kafka":
        return entry.get("start_option") or ""
    options = {key.lower(): value for key, value in entry.get("options", {}).items()}
    given = (f"'{name}' = '{options[name.lower()]}'" for name in _LAKE_STARTS if name.lower() in options)
    return next(given, "")


def _sink(target: Span, spark: SparkSession, facts: dict[str, Any]) -> Sink:
    if "sink" not in facts:
        raise unsupported_sink(
            target,
            "Jobs cannot write this table.",
            "Write a file table, or a table USING delta, iceberg, jdbc or kafka.",
        )
    table = TableFacts.from_json(facts["sink"])
    if table.bucketed:
        raise unsupported_sink(target, f"{table.name} is bucketed.", "Write a table without CLUSTERED BY.")
    kind = find_kind(table)
    if kind is None:
        raise unsupported_sink(
            target,
            f"{table.name} is a table USING {table.provider or 'hive'}.",
            f"Write a table USING {', '.join(SINK_PROVIDERS[:-1])} or {SINK_PROVIDERS[-1]}.",
        )
    with ErrorPlace(target):
        Catalog(spark).check_connection(table)
    system = SINK_KINDS[kind].describe(spark, table)
    return Sink(
        table=table.name,
        kind=kind,
        provider=table.provider,
        location=table.location,
        created=table.created,
        columns=table.columns,
        partition_columns=table.partition_columns,
        key_columns=_key_columns(target, table),
        managed=table.managed,
        replaces_whole_table=not facts.get("static_partitions")
        and not facts.get("replaces_part")
        and not (facts.get("dynamic") and table.partition_columns),
        replaces_partitions=bool(facts.get("replaces_partitions") or facts.get("dynamic")),
        system=system.name,
        transactional=system.transactional,
        has_batch_numbers=table.option("delivery.headers").lower() == "true",
        identity=table.identity,
    )


def _key_columns(target: Span, table: TableFacts) -> tuple[str, ...]:
    """Return the columns of the option `key.columns`, spelled as in the table. Raises StatementError.

    The identifier fields of an Iceberg table are its keys by default.
    """
    option = table.option("key.columns") or ",".join(table.identifier_fields)
    columns = {column.lower(): column for column in table.columns} | {column: column for column in table.columns}
    keys = []
    for name in (part.strip().strip('`"') for part in option.split(",") if part.strip()):
        column = columns.get(name) or columns.get(name.lower())
        if column is None:
            hint = f"The table's columns: {', '.join(table.columns)}."
            raise unsupported_sink(
                target, f"{table.name} has no column {name}, which its option 'key.columns' names.", hint
            )
        keys.append(column)
    return tuple(keys)
