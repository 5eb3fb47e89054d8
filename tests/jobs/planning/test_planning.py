"""The plan for a body and its options: delivery, output mode, trigger, and refusals with their hints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, Operator, OutputMode, Replay, Rewrite, SinkKind
from jetsql.jobs.model.job import Plan, SinkPlan
from jetsql.jobs.model.job_options import Guarantee, Trigger
from jetsql.jobs.planning.compatibility import compare_plans, describe_replacements, outdated_rules
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.planner import make_plan
from jetsql.jobs.planning.progress_tracking import tracks_asynchronously
from jetsql.language.statement import Verb
from tests.support.engines.in_memory_runtime import analysis, sink, source
from tests.support.engines.jobs_harness import option
from tests.support.golden_reports import raises

TARGET = Span(62, 65)
NOT_APPEND = "Append output mode not supported when there are streaming aggregations without watermark"
COUNTS = analysis(
    has_aggregates=True,
    stateful=True,
    modes={OutputMode.APPEND: NOT_APPEND, OutputMode.UPDATE: None, OutputMode.COMPLETE: None},
)
BATCH = analysis(streaming=False, modes={}, sources=())
JDBC = sink("db.public.t", kind=SinkKind.JDBC, provider="jdbc")
KEYED = replace(JDBC, key_columns=("id",))


def plan(of: Analysis | None = None, verb: Verb = Verb.INSERT_INTO, /, **options: str) -> Plan:
    typed = parse_options(option(key, value) for key, value in options.items())
    return make_plan(of or analysis(), typed, verb, TARGET)


def error_of(of: Analysis | None = None, verb: Verb = Verb.INSERT_INTO, /, **options: str) -> StatementError:
    with raises(StatementError) as caught:
        plan(of, verb, **options)
    return caught.value


def at_value(key: str, value: str) -> Span:
    return option(key, value).value_place


def test_a_plain_streaming_job() -> None:
    planned = plan()
    assert (planned.guarantee, planned.options.trigger, planned.output_mode) == (
        Guarantee.EXACTLY_ONCE, Trigger.INTERVAL, OutputMode.APPEND,
    )  # fmt: skip
    assert (planned.interval_millis, planned.suspend_on_failure, planned.options.restart_attempts) == (10_000, True, 3)
    assert not planned.sinks[0].upsert and not planned.overwrite


@pytest.mark.parametrize(
    ("of", "options", "millis"),
    [
        (analysis(), {}, 10_000),
        (analysis(sinks=(JDBC,)), {}, 1_000),
        (analysis(), {"snapshotIntervalMillis": "250"}, 250),
    ],
)
def test_time_between_batches(of: Analysis, options: dict[str, str], millis: int) -> None:
    assert plan(of, **options).interval_millis == millis


def test_a_batch_job() -> None:
    planned = plan(BATCH)
    assert (planned.output_mode, planned.suspend_on_failure, planned.guarantee) == (None, False, Guarantee.EXACTLY_ONCE)
    assert plan(BATCH, Verb.INSERT_OVERWRITE).overwrite
    trigger = error_of(BATCH, trigger="interval")
    assert (trigger.condition, trigger.place) == ("JETSQL.TRIGGER_NOT_POSSIBLE", at_value("trigger", "interval"))
    mode = error_of(BATCH, outputMode="append")
    assert (mode.condition, mode.place) == ("JETSQL.NO_OUTPUT_MODE", at_value("outputMode", "append"))


KAFKA = sink("db.topic", kind=SinkKind.KAFKA, provider="kafka")
LIVE = analysis(sources=(source(format="kafka"),), sinks=(KAFKA,))
LIVE_COUNTS = replace(COUNTS, sources=LIVE.sources, sinks=(KAFKA,))


BY_TIME = replace(LIVE, rewrites=(Rewrite("row patterns", 1),))


def test_real_time_reads_and_writes_kafka() -> None:
    planned = plan(LIVE, trigger="realTime")
    assert (planned.options.trigger, planned.output_mode, planned.guarantee, planned.interval_millis) == (
        Trigger.REAL_TIME, OutputMode.UPDATE, Guarantee.AT_LEAST_ONCE, 60_000,
    )  # fmt: skip
    assert "written again" in planned.guarantee_reason
    error = error_of(replace(LIVE, sources=(source(format="kafka"), source("dim"))), trigger="realTime")
    assert (error.condition, error.place) == ("JETSQL.TRIGGER_NOT_POSSIBLE", at_value("trigger", "realTime"))
    assert "requires Kafka sources" in error.message and "dim" in error.message and "'interval'" in error.hint
    error = error_of(replace(LIVE, sinks=(JDBC,)), trigger="realTime")
    assert error.condition == "JETSQL.TRIGGER_NOT_POSSIBLE" and "db.public.t" in error.message


@pytest.mark.parametrize(
    ("of", "verb", "options", "condition", "says"),
    [
        (LIVE, Verb.INSERT_INTO, {"processingGuarantee": "exactlyOnce"}, "GUARANTEE_NOT_POSSIBLE", "atLeastOnce"),
        (LIVE, Verb.INSERT_INTO, {"snapshotIntervalMillis": "4999"}, "INVALID_OPTION_VALUE", "at least 5000"),
        (LIVE, Verb.INSERT_INTO, {"outputMode": "append"}, "NO_OUTPUT_MODE", "'update'"),
        (LIVE, Verb.INSERT_OVERWRITE, {}, "NO_OUTPUT_MODE", "'interval'"),
        (LIVE_COUNTS, Verb.INSERT_INTO, {}, "NO_OUTPUT_MODE", "SINK INTO"),
        (replace(LIVE, sinks=(KAFKA, KAFKA)), Verb.INSERT_INTO, {}, "TRIGGER_NOT_POSSIBLE", "one table"),
        (
            replace(LIVE, rewrites=(Rewrite("row patterns", 1),)),
            Verb.INSERT_INTO,
            {},
            "TRIGGER_NOT_POSSIBLE",
            "watermark",
        ),
    ],
)
def test_real_time_limitations(of: Analysis, verb: Verb, options: dict[str, str], condition: str, says: str) -> None:
    error = error_of(of, verb, trigger="realTime", **options)
    assert error.condition == f"JETSQL.{condition}"
    assert says in f"{error.message} {error.hint}"
    for key, value in options.items():
        assert error.place == at_value(key, value)


def test_aggregates_in_real_time_update_rows() -> None:
    keyed = replace(LIVE_COUNTS, sinks=(replace(KAFKA, key_columns=("id",)),))
    planned = plan(keyed, Verb.SINK_INTO, trigger="realTime", snapshotIntervalMillis="5000")
    assert (planned.output_mode, planned.interval_millis, planned.sinks[0].upsert) == (OutputMode.UPDATE, 5_000, True)


@pytest.mark.parametrize(
    "of",
    [
        replace(LIVE, sinks=(replace(KAFKA, has_batch_numbers=True),)),
        replace(LIVE, sources=(replace(source(format="kafka"), has_dead_letters=True),)),
        replace(LIVE, batch_part="the query runs over the rows of each batch"),
    ],
)
def test_features_that_need_a_planned_batch(of: Analysis) -> None:
    error = error_of(of, trigger="realTime")
    assert (error.condition, error.place) == ("JETSQL.TRIGGER_NOT_POSSIBLE", at_value("trigger", "realTime"))
    assert not tracks_asynchronously(plan(of, processingGuarantee="atLeastOnce"))


@pytest.mark.parametrize(
    ("of", "options", "beside"),
    [
        (LIVE, {"processingGuarantee": "atLeastOnce"}, True),
        (LIVE, {}, False),
        (LIVE, {"processingGuarantee": "none"}, False),
        (LIVE, {"processingGuarantee": "atLeastOnce", "trigger": "availableNow"}, False),
        (LIVE, {"trigger": "realTime"}, False),
        (replace(LIVE, stateful=True), {"processingGuarantee": "atLeastOnce"}, False),
        (replace(LIVE, sinks=(JDBC,)), {"processingGuarantee": "atLeastOnce"}, False),
        (replace(LIVE, sources=(*LIVE.sources, source())), {"processingGuarantee": "atLeastOnce"}, False),
    ],
)
def test_jobs_with_asynchronous_progress_tracking(of: Analysis, options: dict[str, str], beside: bool) -> None:
    assert tracks_asynchronously(plan(of, **options)) is beside


BY_CLOCK = analysis(sources=(source(), source("rate", format="rate", replay=Replay.BY_CLOCK)))
SOCKET = analysis(sources=(source(), source("socket", format="socket", replay=Replay.NO)))
PLAIN_JDBC = analysis(sinks=(replace(JDBC, system="SQLite", transactional=False),))
SPREAD = analysis(
    sinks=(sink("topic", kind=SinkKind.KAFKA, provider="kafka"),),
    unstable_partitioning="Repartition spreads rows at will",
)
SPREAD_ELSEWHERE = replace(SPREAD, sinks=(replace(SPREAD.sink, system="Kafka at h:9092"),))
NO_TRANSACTION = "SQLite cannot store a batch and its number in one transaction, so a repeated batch is written twice"
SPREAD_TWICE = "Repartition spreads rows at will, so a part of its rows can be written twice"


@pytest.mark.parametrize(
    ("of", "asked", "guarantee", "reason"),
    [
        (analysis(), None, Guarantee.EXACTLY_ONCE, "can be replayed"),
        (analysis(sinks=(JDBC,)), "exactlyOnce", Guarantee.EXACTLY_ONCE, "one transaction"),
        (analysis(), "atLeastOnce", Guarantee.AT_LEAST_ONCE, "as requested; exactly once is possible"),
        (analysis(), "none", Guarantee.NONE, "from scratch"),
        (BY_CLOCK, None, Guarantee.AT_LEAST_ONCE, "rate generates rows by wall clock"),
        (BY_CLOCK, "atLeastOnce", Guarantee.AT_LEAST_ONCE, "rate generates rows by wall clock"),
        (SOCKET, "none", Guarantee.NONE, "from scratch"),
        (PLAIN_JDBC, None, Guarantee.AT_LEAST_ONCE, NO_TRANSACTION),
        (PLAIN_JDBC, "atLeastOnce", Guarantee.AT_LEAST_ONCE, NO_TRANSACTION),
        (SPREAD, None, Guarantee.AT_LEAST_ONCE, SPREAD_TWICE),
        (SPREAD, "atLeastOnce", Guarantee.AT_LEAST_ONCE, SPREAD_TWICE),
    ],
)
def test_guarantee_and_its_reason(of: Analysis, asked: str | None, guarantee: Guarantee, reason: str) -> None:
    planned = plan(of, **({"processingGuarantee": asked} if asked else {}))
    assert planned.guarantee is guarantee
    assert reason in planned.guarantee_reason


def test_more_than_the_source_gives_is_refused_at_the_option() -> None:
    error = error_of(BY_CLOCK, processingGuarantee="exactlyOnce")
    assert error.condition == "JETSQL.GUARANTEE_NOT_POSSIBLE"
    assert error.place == at_value("processingGuarantee", "exactlyOnce")
    assert "source rate" in error.message


@pytest.mark.parametrize(
    ("of", "message", "hint"),
    [
        (
            PLAIN_JDBC,
            "exactlyOnce into db.public.t is not possible: SQLite cannot store a batch and its number in"
            " one transaction.",
            "Use 'atLeastOnce'.",
        ),
        (
            SPREAD,
            "exactlyOnce into topic is not possible: Repartition spreads rows at will.",
            "Remove it from the query, or use 'atLeastOnce'.",
        ),
        (
            SPREAD_ELSEWHERE,
            "exactlyOnce into Kafka at h:9092 is not possible: Repartition spreads rows at will.",
            "Remove it from the query, or use 'atLeastOnce'.",
        ),
    ],
)
def test_more_than_the_sink_gives_is_refused_at_the_option(of: Analysis, message: str, hint: str) -> None:
    error = error_of(of, processingGuarantee="exactlyOnce")
    assert error.condition == "JETSQL.GUARANTEE_NOT_POSSIBLE"
    assert error.place == at_value("processingGuarantee", "exactlyOnce")
    assert (error.message, error.hint) == (message, hint)


def test_a_source_that_cannot_be_replayed() -> None:
    error = error_of(SOCKET)
    assert (error.condition, error.place) == ("JETSQL.SOURCE_NOT_REPLAYABLE", TARGET)
    assert "socket" in error.message and "'none'" in error.hint
    asked = error_of(SOCKET, processingGuarantee="atLeastOnce")
    assert asked.place == at_value("processingGuarantee", "atLeastOnce")


def test_insert_into_appends_or_lists_the_rewrites() -> None:
    error = error_of(COUNTS)
    assert (error.condition, error.place) == ("JETSQL.NO_OUTPUT_MODE", TARGET)
    assert NOT_APPEND in error.message
    for rewrite in ("WATERMARK", "INSERT OVERWRITE", "SINK INTO", "key.columns"):
        assert rewrite in error.hint


@pytest.mark.parametrize("reason", ["Sorting is not supported", "Window function is not supported", ""])
def test_hints_name_no_clause_that_spark_lacks(reason: str) -> None:
    operators = () if reason else (Operator("AsOfJoin"),)
    modes = dict.fromkeys(OutputMode, reason or "Stream-stream join is not supported")
    newest = analysis(modes=modes, operators=operators)
    older = replace(newest, lacking_clauses=("QUALIFY", "ASOF", "MATCH_CONDITION"))
    word, instead = ("QUALIFY row_number() OVER", "WHERE rank <= 10") if reason else ("ASOF JOIN", "FOR SYSTEM_TIME")
    assert word in error_of(newest).hint
    hint = error_of(older).hint
    assert instead in hint and "QUALIFY" not in hint and "ASOF" not in hint


@pytest.mark.parametrize(("mode", "hint"), [("update", "SINK INTO"), ("complete", "INSERT OVERWRITE")])
def test_insert_into_in_another_mode_is_refused_at_the_option(mode: str, hint: str) -> None:
    error = error_of(outputMode=mode)
    assert (error.condition, error.place) == ("JETSQL.NO_OUTPUT_MODE", at_value("outputMode", mode))
    assert hint in error.hint


def test_overwrite_is_complete_mode() -> None:
    planned = plan(COUNTS, Verb.INSERT_OVERWRITE)
    assert (planned.output_mode, planned.overwrite) == (OutputMode.COMPLETE, True)
    assert plan(COUNTS, Verb.INSERT_OVERWRITE, outputMode="complete").overwrite
    assert "INSERT INTO" in error_of(COUNTS, Verb.INSERT_OVERWRITE, outputMode="append").hint


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        (analysis(), "no aggregate"),
        (replace(COUNTS, sinks=(sink(partition_columns=("day",)),)), "partitioned"),
        (replace(COUNTS, sinks=(sink(replaces_whole_table=False),)), "as a whole"),
    ],
)
def test_overwrite_refusals(of: Analysis, reason: str) -> None:
    error = error_of(of, Verb.INSERT_OVERWRITE)
    assert (error.condition, error.place) == ("JETSQL.NO_OUTPUT_MODE", TARGET)
    assert reason in error.message and error.hint


def test_sink_into_takes_changes_where_rows_cannot_be_final() -> None:
    assert plan(None, Verb.SINK_INTO).output_mode is OutputMode.APPEND
    assert plan(None, Verb.SINK_INTO, outputMode="update").output_mode is OutputMode.UPDATE
    planned = plan(replace(COUNTS, sinks=(KEYED,)), Verb.SINK_INTO)
    assert (planned.output_mode, planned.sinks[0].upsert) == (OutputMode.UPDATE, True)
    assert not plan(replace(COUNTS, sinks=(JDBC,)), Verb.SINK_INTO).sinks[0].upsert
    assert not plan(analysis(sinks=(KEYED,))).sinks[0].upsert
    assert error_of(COUNTS, Verb.SINK_INTO, outputMode="append").place == at_value("outputMode", "append")
    assert "INSERT OVERWRITE" in error_of(COUNTS, Verb.SINK_INTO, outputMode="complete").hint


def test_sink_into_deletes_keyed_rows_that_leave_the_result() -> None:
    counts = replace(COUNTS, sinks=(KEYED,))
    planned = plan(counts, Verb.SINK_INTO, outputMode="complete")
    assert (planned.output_mode, planned.sinks[0].upsert, planned.retracts, planned.overwrite) == (
        OutputMode.COMPLETE,
        True,
        True,
        False,
    )
    assert planned.guarantee is Guarantee.EXACTLY_ONCE
    assert not plan(counts, Verb.SINK_INTO).retracts
    assert not plan(COUNTS, Verb.INSERT_OVERWRITE).retracts
    stateless = error_of(analysis(sinks=(KEYED,)), Verb.SINK_INTO, outputMode="complete")
    assert stateless.condition == "JETSQL.NO_OUTPUT_MODE"
    for target, words in ((JDBC, "Create the table again with 'key.columns'"), (KAFKA, "or remove the option")):
        error = error_of(replace(COUNTS, sinks=(target,)), Verb.SINK_INTO, outputMode="complete")
        assert error.place == at_value("outputMode", "complete")
        assert words in error.hint


def test_auto_cdc_updates_and_deletes_rows() -> None:
    planned = plan(replace(COUNTS, sinks=(KEYED,)), Verb.AUTO_CDC)
    assert (planned.output_mode, planned.sinks[0].upsert, planned.deletes) == (OutputMode.UPDATE, True, True)
    assert planned.guarantee is Guarantee.EXACTLY_ONCE
    assert not plan(replace(COUNTS, sinks=(KEYED,)), Verb.SINK_INTO).deletes
    for mode in ("append", "complete"):
        error = error_of(replace(COUNTS, sinks=(KEYED,)), Verb.AUTO_CDC, outputMode=mode)
        assert (error.place, error.hint) == (at_value("outputMode", mode), "Remove the option.")


def test_changes_of_results_delete_rows() -> None:
    changes = replace(COUNTS, sinks=(KEYED,), marks_deleted=True)
    planned = plan(changes, Verb.SINK_INTO, outputMode="update")
    assert (planned.sinks[0].upsert, planned.deletes, planned.retracts) == (True, True, False)
    of = replace(LIVE, marks_deleted=True)
    assert "a result that is updated by changes" in error_of(of, Verb.SINK_INTO, trigger="realTime").message


def test_rows_of_file_tables_cannot_be_updated() -> None:
    error = error_of(analysis(sinks=(sink(key_columns=("id",)),)), Verb.SINK_INTO)
    assert (error.condition, error.place) == ("JETSQL.UNSUPPORTED_SINK", TARGET)


FILES = analysis().sink
MIXED = analysis(sinks=(FILES, KEYED, KAFKA))
BRANCHES = ((Verb.INSERT_INTO, Span(10, 11)), (Verb.SINK_INTO, Span(20, 21)), (Verb.INSERT_INTO, Span(30, 31)))


def branched(of: Analysis = MIXED, **options: str) -> Plan:
    typed = parse_options(option(key, value) for key, value in options.items())
    return make_plan(of, typed, Verb.INSERT_INTO, BRANCHES[0][1], BRANCHES)


def test_a_job_with_several_tables_has_a_plan_for_each() -> None:
    planned = branched()
    assert (planned.guarantee, planned.interval_millis, planned.output_mode) == (
        Guarantee.EXACTLY_ONCE, 10_000, OutputMode.APPEND,
    )  # fmt: skip
    assert [each.sink for each in planned.sinks] == [FILES, KEYED, KAFKA]
    assert [each.upsert for each in planned.sinks] == [False, True, False]
    assert all(table in planned.guarantee_reason for table in (FILES.table, KEYED.table, KAFKA.table))
    same = branched(analysis(sinks=(FILES, FILES, FILES)))
    assert same.guarantee_reason == plan().guarantee_reason
    assert plan().sinks == (SinkPlan(FILES, Guarantee.EXACTLY_ONCE),)


def test_the_weakest_table_decides_the_guarantee_of_all() -> None:
    weak = replace(JDBC, system="Derby", transactional=False)
    planned = branched(analysis(sinks=(FILES, weak, KAFKA)))
    assert planned.guarantee is Guarantee.AT_LEAST_ONCE
    assert planned.guarantee_reason.startswith("Derby cannot store")
    with raises(StatementError) as caught:
        branched(analysis(sinks=(FILES, weak, KAFKA)), processingGuarantee="exactlyOnce")
    assert weak.table in caught.value.message
    assert branched(analysis(unstable_partitioning="rand()", sinks=(FILES, JDBC, KAFKA))).guarantee is (
        Guarantee.AT_LEAST_ONCE
    )


def test_branch_into_a_keyed_file_table_is_refused() -> None:
    keyed_files = replace(FILES, key_columns=("id",))
    with raises(StatementError) as caught:
        branched(analysis(sinks=(FILES, keyed_files, KAFKA)))
    assert (caught.value.condition, caught.value.place) == ("JETSQL.UNSUPPORTED_SINK", BRANCHES[1][1])


def test_several_tables_are_written_in_batches() -> None:
    topics = replace(LIVE, sinks=(KAFKA, KAFKA, KAFKA), batch_part="the rows of each batch")
    assert not tracks_asynchronously(branched(topics, processingGuarantee="atLeastOnce"))
    with raises(StatementError) as caught:
        branched(topics, trigger="realTime")
    assert "requires a job with one table; this one writes 3" in caught.value.message


def test_a_new_version_may_write_other_tables() -> None:
    both, one, other = branched(analysis(sinks=(FILES, KEYED, KAFKA))), plan(), plan(analysis(sinks=(JDBC,)))
    assert compare_plans(one, both).reasons == compare_plans(both, one).reasons == ()
    assert compare_plans(one, both).changes == (f"new rows are written to {KEYED.table}, {KAFKA.table}",)
    assert compare_plans(both, one).changes == (
        f"no more rows are written to {KEYED.table}, {KAFKA.table}, whose rows stay",
    )
    assert compare_plans(one, other).changes == (
        f"new rows are written to {JDBC.table}; the rows in {FILES.table} stay",
    )


def test_a_new_version_may_read_columns_that_tables_gained() -> None:
    name = "spark_catalog.default.k"
    old, new, earlier = (plan(analysis(tables=tables)) for tables in ({name: ("id",)}, {name: ("id", "c", "d")}, {}))
    assert compare_plans(old, new).changes == (f"the query can read the new columns c, d of {name}",)
    assert compare_plans(old, new).reasons == compare_plans(earlier, new).changes == ()


def test_local_time_windows_do_not_continue_earlier_ones() -> None:
    words = ("named_struct('start', precisetimestampconversion(`source0.ts`) - 0L)", "w.__jetsql_window")
    old, new = (analysis(stateful=True, operators=(Operator("Aggregate", f"{each}: struct"),)) for each in words)
    [reason] = compare_plans(plan(old), plan(replace(new, local_windows=True))).reasons
    assert reason.startswith("the windows of TUMBLE and HOP begin at local times now")


DELTA = sink("spark_catalog.default.t", kind=SinkKind.DELTA, provider="delta")
ICEBERG = sink("lake.db.t", kind=SinkKind.ICEBERG, provider="iceberg", partition_columns=("day",))


def test_lake_tables_get_each_batch_with_a_commit() -> None:
    planned = plan(analysis(sinks=(DELTA,)))
    assert (planned.guarantee, planned.interval_millis) == (Guarantee.EXACTLY_ONCE, 10_000)
    assert "one commit of the table" in planned.guarantee_reason
    assert "property of the table" in plan(analysis(sinks=(ICEBERG,))).guarantee_reason


def test_lake_tables_with_partitions_are_replaced_as_a_whole() -> None:
    assert plan(replace(COUNTS, sinks=(ICEBERG,)), Verb.INSERT_OVERWRITE).output_mode is OutputMode.COMPLETE
    part = replace(ICEBERG, replaces_whole_table=False)
    error = error_of(replace(COUNTS, sinks=(part,)), Verb.INSERT_OVERWRITE)
    assert "only a part of lake.db.t would be replaced" in error.message
    assert plan(replace(BATCH, sinks=(part,)), Verb.INSERT_OVERWRITE).overwrite


def test_only_batch_jobs_replace_rows_by_condition() -> None:
    part = replace(DELTA, replaces_whole_table=False)
    planned = plan(replace(BATCH, sinks=(part,)))
    assert (planned.guarantee, planned.overwrite) == (Guarantee.EXACTLY_ONCE, False)
    error = error_of(analysis(sinks=(part,)))
    assert (error.condition, error.place) == ("JETSQL.NO_OUTPUT_MODE", TARGET)
    assert "REPLACE WHERE is not possible" in error.message and "Read without STREAM" in error.hint


def test_lake_tables_are_updated_by_their_keys() -> None:
    keyed = replace(DELTA, key_columns=("id",))
    assert plan(replace(COUNTS, sinks=(keyed,)), Verb.SINK_INTO).sinks[0].upsert
    assert plan(replace(COUNTS, sinks=(keyed,)), Verb.SINK_INTO, outputMode="complete").retracts
    error = error_of(analysis(sinks=(keyed,)), Verb.SINK_INTO)
    assert (error.condition, error.place) == ("JETSQL.UNSUPPORTED_QUERY", TARGET)
    assert "several rows with the same id" in error.message
    assert (
        plan(analysis(sinks=(keyed,), marks_deleted=True, modes={OutputMode.UPDATE: None}), Verb.SINK_INTO)
        .sinks[0]
        .upsert
    )
    assert plan(replace(BATCH, sinks=(keyed,)), Verb.SINK_INTO).sinks[0].upsert


def test_replaced_table_is_recognized_by_its_identity() -> None:
    table = source("lake.a.t", format="iceberg", identity="1", created=1)
    old = analysis(sources=(table,))
    for now, replaced in ((replace(table, identity="2"), True), (replace(table, created=2), False)):
        new = replace(old, sources=(now,))
        reasons = ("the source lake.a.t (iceberg) was replaced by another table of that name",)
        assert compare_plans(plan(old), plan(new)).reasons == (reasons if replaced else ())
        dropped = ("The source table lake.a.t was dropped and recreated.",)
        assert describe_replacements(old, new) == (dropped if replaced else ())


def test_state_of_an_earlier_rule_version_is_outdated() -> None:
    analyses = [analysis(rewrites=(Rewrite("rows by time", version), Rewrite("top rows", 2))) for version in (1, 2)]
    assert outdated_rules(*analyses) == ("rows by time, version 1",)
    assert outdated_rules(analyses[1], analyses[1]) == outdated_rules(analyses[1], analyses[0]) == ()
    reasons = ("the stateful operators differ: rule rows by time, version 1 before, rule rows by time, version 2 now",)
    assert compare_plans(plan(analyses[0]), plan(analyses[1])).reasons == reasons


def test_late_rows_of_another_catalogue_use_the_default_schema() -> None:
    session = replace(analysis().session, catalog="lake", schema="a.b")
    named = plan(analysis(session=session, late_rows_refusal=""), lateRows="table:late")
    assert named.late_rows_table == "spark_catalog.default.late"


TOPIC_ID = "xMVLLNJlRCKMJZ-_eHVBDg"


def test_accepted_topics() -> None:
    of_topic = analysis(sources=(replace(source(), format="kafka"),))
    assert plan(of_topic).options.accepted_topics == ()
    assert plan(of_topic, acceptedTopics=f" {TOPIC_ID},{TOPIC_ID} ").options.accepted_topics == (TOPIC_ID, TOPIC_ID)
    into_topic = analysis(sinks=(sink("db.s.t", kind=SinkKind.KAFKA),))
    assert plan(into_topic, acceptedTopics=TOPIC_ID).options.accepted_topics == (TOPIC_ID,)
    for other in (analysis(), replace(of_topic, streaming=False)):
        error = error_of(other, acceptedTopics=TOPIC_ID)
        assert error.condition == "JETSQL.INVALID_OPTION_VALUE" and error.place == at_value("acceptedTopics", TOPIC_ID)
    for value in ("", "orders", f"{TOPIC_ID};{TOPIC_ID}", f"{TOPIC_ID},"):
        assert "ids of Kafka topics" in error_of(of_topic, acceptedTopics=value).hint


def test_consumer_group_needs_a_stream_of_a_topic() -> None:
    of_topic = analysis(sources=(source("files"), replace(source("orders"), format="kafka", created=1)))
    options = {"kafka.commit.group": " shown "}
    assert plan(of_topic).options.commit_group is None
    for trigger in ("interval", "availableNow"):
        assert plan(of_topic, trigger=trigger, **options).options.commit_group == "shown"
    topic = sink("db.s.t", kind=SinkKind.KAFKA, provider="kafka")
    only_topics = replace(of_topic, sources=of_topic.sources[1:], sinks=(topic,))
    assert plan(only_topics, trigger="realTime", **options).options.commit_group == "shown"
    for other in (analysis(), replace(of_topic, streaming=False)):
        error = error_of(other, **options)
        assert error.condition == "JETSQL.INVALID_OPTION_VALUE"
        assert error.place == at_value("kafka.commit.group", " shown ")
    for value in ("", " ", "jetsql-1", "x" * 32768):
        assert "does not begin with jetsql-" in error_of(of_topic, **{"kafka.commit.group": value}).hint
