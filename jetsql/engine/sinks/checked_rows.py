"""Rules for the rows of a job: CONSTRAINT ... EXPECT.

The check is part of the query whose rows the sink gets, so that Spark evaluates it in the code of the query. Rows for
the table of a rule are written after the rows of the batch. The number of rows that violate each rule is stored in the
job's folder with the number of the batch: a batch that is repeated after a crash is counted once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession, functions

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.sinks import BatchWriter, SinkContext, SinkWriter, StreamWriter, WrappingSink, consume_rows
from jetsql.engine.sinks import stored_rows as store
from jetsql.engine.sinks.batch_records import BatchRecord, BatchRecords
from jetsql.engine.sinks.side_tables import SideTable, create_side_table
from jetsql.failpoints import failpoint
from jetsql.jobs.model.job import Plan, RuleCount
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language.objects.expectation import Expectation, ViolationAction

_COLUMNS: Final = {"job": "STRING", "batch": "BIGINT", "rules": "ARRAY<STRING>", "row": "STRING"}


@dataclass(frozen=True)
class CountRecord(BatchRecord):
    """The counts of the rules after a batch."""

    counts: tuple[RuleCount, ...]


class CountRecords(BatchRecords[CountRecord]):
    """The counts of one job."""

    def _parse(self, fields: dict[str, Any]) -> CountRecord:
        return CountRecord(fields["batch"], tuple(RuleCount(**each) for each in fields["counts"]))

    def find_before(self, batch: int | None = None) -> CountRecord | None:
        """Return the newest record of a batch before this one, by default the newest of all."""
        names = (name for name in self.files.list_names(self.folder) if name.endswith(".json"))
        numbers = (int(name.removesuffix(".json")) for name in names)
        newest = max((number for number in numbers if batch is None or number < batch), default=None)
        return None if newest is None else self.read(newest)


def violation_tables(plan: Plan) -> tuple[str, ...]:
    """Return the qualified names of the tables for rows that violate a rule of a plan."""
    return tuple(dict.fromkeys(rule.table for rule in plan.analysis.expectations if rule.table))


def create_violation_tables(spark: SparkSession, catalog: Catalog, plan: Plan) -> None:
    """Create the missing tables for rows that violate a rule of a plan. Raises as `create_side_table`."""
    for table in violation_tables(plan):
        create_side_table(spark, catalog, table, _COLUMNS, "table for rows that violate a rule")


def with_rules(context: SinkContext, writer: SinkWriter) -> SinkWriter:
    """Return a sink that checks the rows of each batch by the rules of a job, or `writer` for a job without rules."""
    if not context.job.plan.analysis.expectations:
        return writer
    assert not isinstance(writer, StreamWriter), "rows are counted after each batch"
    tables = {}
    for name in violation_tables(context.job.plan):
        table, suffix = context.catalog.table(name), sha256(name.encode()).hexdigest()[:8]
        if table is not None:
            tables[name] = SideTable(context, table, f"violations-{suffix}", f"rules-{suffix}")
    return CheckedSink(context, writer, tables)


def rules_json(rules: Sequence[Expectation], text: Callable[[Expectation], str], source: str = "") -> str:
    """Return rules as the Java module takes them.

    text: returns the text of a condition for Spark's parser. source: the statement, for the places of errors.
    """
    return json.dumps(
        [
            {
                "name": rule.name,
                "text": text(rule),
                "action": rule.action.value,
                "table": rule.table,
                "line": rule.place.line(source),
                "column": rule.place.column(source),
            }
            for rule in rules
        ]
    )


class CheckedSink(WrappingSink):
    """A sink that gets the rows that violate no rule, or only rules that warn."""

    def __init__(self, context: SinkContext, writer: BatchWriter, tables: dict[str, SideTable]) -> None:
        super().__init__(writer)
        self._context = context
        self._job = context.job
        self._rules = context.job.plan.analysis.expectations
        self._tables = tables
        self._checked: Any = None
        """The CheckedRows of the Java module: of the run, or of the newest batch."""
        files = context.checkpoints.files
        self._records = CountRecords(f"{context.checkpoints.job_folder(context.job.id)}/rules", files)
        self._newest: CountRecord | None = None

    def recover(self) -> None:
        for table in self._tables.values():
            table.recover()
        self._newest = self._records.find_before()
        if self._newest is not None:
            self._context.counted(self._current(self._newest.counts))
        super().recover()

    def encode_rows(self, rows: DataFrame) -> DataFrame:
        rules = rules_json(self._rules, lambda rule: rule.condition)
        self._checked = java(rows.sparkSession).expectations.CheckedRows.of(rows._jdf, rules)
        checked = DataFrame(self._checked.rows(), rows.sparkSession)
        return checked if self._stores_rows else super().encode_rows(checked)

    def write(self, rows: DataFrame, batch: int) -> int | None:
        self._checked.reset()
        if self._stores_rows:
            written = self._write_stored(rows, batch)
        else:
            written = super().write(rows, batch)
        self._count(batch)
        return written

    @property
    def _stores_rows(self) -> bool:
        """Return whether the rows of a batch are stored before they are written.

        A table for violations needs a second part of them. A sink that writes each part of a batch on its own must not
        begin before all rows are checked.
        """
        if self._tables:
            return True
        if all(rule.action is not ViolationAction.FAIL for rule in self._rules) or len(self._job.plan.sinks) > 1:
            return False
        written = self._job.plan.sinks[0]
        traits = traits_of(written.sink)
        return traits.is_topic or (traits.is_external and written.guarantee is not Guarantee.EXACTLY_ONCE)

    def _write_stored(self, rows: DataFrame, batch: int) -> int | None:
        with store(rows) as stored:
            consume_rows(stored)
            has_column = bool(self._tables)
            accepted = DataFrame(self._checked.accepted(stored._jdf), rows.sparkSession) if has_column else stored
            written = super().write(self._writer.encode_rows(accepted), batch)
            sums = json.loads(self._checked.tables())
            for name, table in self._tables.items():
                if sums.get(name):
                    table.write(self._violating(stored, name, batch), batch)
                    failpoint("violations-written", self._job.name)
            return written

    def _violating(self, stored: DataFrame, table: str, batch: int) -> DataFrame:
        labels = (
            functions.lit(self._job.name).alias("job"),
            functions.lit(batch).cast("bigint").alias("batch"),
        )
        found = self._checked.violating(stored._jdf, table)
        return DataFrame(found, stored.sparkSession).select(*labels, "*")

    def _count(self, batch: int) -> None:
        """Add the counts of a batch to those of the batches before it, and store them."""
        *violations, rows = json.loads(self._checked.counts())
        is_unnumbered = self._job.plan.guarantee is Guarantee.NONE  # each run counts its batches from 0 again
        before = self._newest
        if before is not None and before.batch >= batch and not is_unnumbered:
            before = self._records.find_before(batch)
        number = batch if not is_unnumbered or before is None else before.batch + 1
        counts = tuple(
            count.add(batch, rows, violated)
            for count, violated in zip(self._current(() if before is None else before.counts), violations, strict=True)
        )
        self._context.check_leader()
        self._newest = CountRecord(number, counts)
        self._records.write(self._newest)
        failpoint("violations-counted", self._job.name)
        self._context.counted(counts)

    def _current(self, counts: Sequence[RuleCount]) -> tuple[RuleCount, ...]:
        """Return the counts of the current rules. Those of a rule with another condition or action begin at 0."""
        known = {(count.rule, count.condition, count.action): count for count in counts}
        new = (RuleCount(rule.name, rule.condition, rule.action_text) for rule in self._rules)
        return tuple(known.get((count.rule, count.condition, count.action), count) for count in new)

    def has_batch(self, batch: int) -> bool:
        # As for late rows: the rows for the tables of rules come after those of the sink.
        return super().has_batch(batch) or any(table.has_batch(batch) for table in self._tables.values())

    def discard(self) -> None:
        for table in self._tables.values():
            table.discard()
        super().discard()
