"""The facts that the engine found in the body of a statement: its sources, its sinks and the properties of its query.

Plain frozen classes, without Spark. The store keeps them as JSON by the names of their fields, see
`jobs.store.record_versions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from jetsql.jobs.model.function import UsedFunction
from jetsql.language.objects.expectation import Expectation

FILE_FORMATS: Final = ("json", "csv")  # the formats of files whose lines can be malformed
PARSE_MODE: Final = "parse mode"  # FileStream.java's name for Spark's own handling of malformed lines


class OutputMode(Enum):
    """Spark's output modes, by the spelling of the option `outputMode`."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class Replay(Enum):
    """The ability of a source to return the same rows again."""

    YES = "yes"
    BY_CLOCK = "by wall clock"
    NO = "no"


class SinkKind(Enum):
    """The kinds of sinks: `planning.sink_traits` has the traits of each, and `engine.sinks.sink_kinds` its writers."""

    FILES = "files"
    JDBC = "jdbc"
    KAFKA = "kafka"
    DELTA = "delta"
    ICEBERG = "iceberg"


@dataclass(frozen=True)
class Source:
    """One streaming source of a body."""

    name: str  # the table, or the format when there is no table
    format: str
    location: str
    replay: Replay
    rate_limited: bool = False  # a batch can leave available rows to the next one (`maxFilesPerTrigger`)
    endless: bool = False  # there is always a next batch: the source is never idle
    created: int = 0  # the catalogue's creation time of the table, milliseconds; 0 when there is none
    has_dead_letters: bool = False  # messages that do not fit its columns go into a dead-letter table
    identity: str = ""  # of a Delta or Iceberg table: what no other table has, also not one with its name
    on_error: str = field(default="", compare=False)
    """The option that applies to messages and lines that do not fit: a value of the table's `on.error`, `PARSE_MODE`,
    or "" without one, also of a job that an earlier release has created."""
    reads_changes: bool = False  # the change data feed of a Delta table, in which replaced rows are changes
    start_option: str = field(default="", compare=False)
    """The option of table or query that says where the stream begins, such as `'startingOffsets' = 'latest'`."""

    @property
    def is_topic(self) -> bool:
        """Return whether it is a table USING kafka."""
        return self.format == "kafka" and self.created != 0

    @property
    def keeps_malformed_lines(self) -> bool:
        """Return whether malformed lines are rows of NULLs, as in the earlier release that has created the job."""
        return self.format.lower() in FILE_FORMATS and not self.on_error


@dataclass(frozen=True)
class Sink:
    """The table that a job writes, as it was when the job was created."""

    table: str  # qualified name
    kind: SinkKind
    provider: str
    location: str
    created: int  # the catalogue's creation time, milliseconds
    columns: tuple[str, ...] = ()
    partition_columns: tuple[str, ...] = ()
    key_columns: tuple[str, ...] = ()  # from the table option `key.columns`
    replaces_whole_table: bool = True  # INSERT OVERWRITE replaces the table, not only its partitions
    replaces_partitions: bool = False  # INSERT OVERWRITE replaces those of the new rows
    system: str = ""  # the external system of the table, without secrets; empty for file tables
    transactional: bool = True  # a batch and its number can be written in one transaction
    managed: bool = True  # DROP TABLE deletes its rows
    has_batch_numbers: bool = False  # each message carries the number of its batch (`delivery.headers`)
    identity: str = ""  # of a Delta or Iceberg table: what no other table has, also not one with its name


@dataclass(frozen=True)
class Operator:
    """A stateful operator of a query."""

    kind: str  # the class of the node in Spark's plan, such as Aggregate
    meaning: str = ""  # its expressions down to the sources' columns, with their types
    inputs: tuple[str, ...] = field(default=(), compare=False)
    """The sources and operators whose rows it reads, such as `source 0` and `state 1`; empty if they are not known."""
    earlier_meaning: str = field(default="", compare=False)
    """The meaning in the words of earlier releases, with casts that change no type; empty if it is the same."""

    def __str__(self) -> str:
        return f"{self.kind}; {self.meaning}" if self.meaning else self.kind

    def in_words_of(self, before: Operator) -> Operator:
        """Return it with the meaning of an operator that an earlier release has described, if they mean the same."""
        is_same = self.earlier_meaning != "" and self.earlier_meaning == before.meaning
        return replace(self, meaning=before.meaning) if is_same else self


@dataclass(frozen=True)
class Rewrite:
    """A use of a rule that replaces operators of a query that Spark cannot run over streams."""

    rule: str
    version: int
    meaning: str = field(default="", compare=False)  # a phrase
    caution: str = field(default="", compare=False)  # how the result can differ from a batch query's, a sentence

    def __str__(self) -> str:
        return f"{self.rule}, version {self.version}"


@dataclass(frozen=True)
class CapturedSession:
    """The part of a user's session that a job keeps, as a view does. Every run gets a new session with exactly this."""

    catalog: str
    schema: str
    confs: Mapping[str, str] = field(default_factory=dict)
    """The runtime SQL settings that differ from the engine's; session time zone and ANSI mode always."""
    parent_run: str = field(default="", compare=False)
    """The run of another program that has created the job, see `jobs.openlineage.parent_runs`; empty for none."""


@dataclass(frozen=True)
class Analysis:
    """The facts that the engine found in a body. Nothing is decided yet.

    Fields that describe in words are not compared: releases word them differently.
    """

    streaming: bool
    sources: tuple[Source, ...]
    sinks: tuple[Sink, ...]  # the tables that the job writes, in the order of its body; at least one
    session: CapturedSession
    modes: Mapping[OutputMode, str | None] = field(default_factory=dict, compare=False)
    """The reason why Spark cannot run the query in an output mode, or None when it can (streaming only)."""
    has_aggregates: bool = False
    stateful: bool = False  # the query keeps state between batches (aggregates, joins of streams, duplicates)
    waits_for_watermark: bool = False  # rows are returned only after a watermark has passed them
    operators: tuple[Operator, ...] = ()  # the stateful operators, in their order (streaming only)
    result_inputs: tuple[str, ...] = field(default=(), compare=False)
    """The sources and operators that the result comes from, as `Operator.inputs`."""
    rewrites: tuple[Rewrite, ...] = ()  # the rules that made operators of the query
    batch_part: str = field(default="", compare=False)
    """The part that runs as a batch query over the rows of each batch, a phrase; empty if all of it is streamed."""
    kept_state: tuple[str, ...] = field(default=(), compare=False)
    """The state that no watermark removes, as phrases."""
    functions: tuple[UsedFunction, ...] = ()  # the functions in Python that it calls, by name
    unstable_partitioning: str = field(default="", compare=False)
    """The part of the query that can put rows into other partitions when a batch is repeated; empty for none."""
    keeps_history: bool = False  # AUTO CDC with SCD TYPE 2: the state and the table keep all changes of each key
    tables_read_once: tuple[str, ...] = ()  # of a batch job: the tables that it could read as streams, qualified
    late_rows_refusal: str = field(default="an earlier version of JetSQL has created it", compare=False)
    """The reason why the query's late rows cannot be kept, a clause; empty if they can."""
    idle_timeout_refusal: str = field(default="an earlier version of JetSQL has created it", compare=False)
    """The reason why no idle source can hold back the query's watermark, a clause; empty if one can."""
    marks_deleted: bool = False  # the query's last column marks rows that left its result
    lookups: tuple[str, ...] = field(default=(), compare=False)
    """The joins that read the rows of a JDBC table by the keys of each batch, as phrases."""
    local_windows: bool = field(default=False, compare=False)
    """The windows of TUMBLE and HOP begin at local times; those of jobs of earlier releases begin at times in UTC."""
    lacking_clauses: tuple[str, ...] = field(default=(), compare=False)
    """The first words of clauses that the engine's Spark does not have, such as QUALIFY."""
    expectations: tuple[Expectation, ...] = ()  # the rules for its rows, with qualified names of tables
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of the tables of files and topics that it reads, by qualified name: others are added later."""

    @property
    def sink(self) -> Sink:
        """Return the first sink: the only one, except of a body with several INSERTs."""
        return self.sinks[0]

    @property
    def sink_names(self) -> str:
        """Return the names of the sinks, separated by commas."""
        return ", ".join(dict.fromkeys(sink.table for sink in self.sinks))

    @property
    def joins_streams(self) -> bool:
        """Return whether the query joins streams, also by EXISTS or IN."""
        return any(operator.kind == "Join" for operator in self.operators)

    @property
    def matches_streams(self) -> bool:
        """Return whether the query has an ASOF JOIN of streams that is not rewritten."""
        return any(operator.kind == "AsOfJoin" for operator in self.operators)

    @property
    def has_state_variables(self) -> bool:
        """Return whether an operator keeps several variables, whose schemas Spark stores by their absolute paths."""
        return any(operator.kind == "TransformWithState" for operator in self.operators)

    def in_words_of(self, before: Analysis) -> Analysis:
        """Return it with the words of an analysis that an earlier release has stored, see `Operator.in_words_of`."""
        if len(self.operators) != len(before.operators):
            return self
        pairs = zip(self.operators, before.operators, strict=True)
        return replace(self, operators=tuple(operator.in_words_of(old) for operator, old in pairs))

    @property
    def operator_texts(self) -> tuple[str, ...]:
        """Return the operators, and the rules that made them, as texts that can be shown."""
        operators = (f"state {n}: {operator}" for n, operator in enumerate(self.operators))
        return (*operators, *(f"rule {rewrite}" for rewrite in dict.fromkeys(self.rewrites)))

    @property
    def flow_texts(self) -> tuple[str, ...]:
        """Return which operator reads what, as texts that can be shown; empty if it is not known of each operator."""
        if not self.operators or not self.result_inputs or not all(each.inputs for each in self.operators):
            return ()
        reads = [(f"state {number}", each.inputs) for number, each in enumerate(self.operators)]
        names = (*reads, ("result", self.result_inputs))
        return tuple(f"{name} reads {', '.join(inputs)}" for name, inputs in names)

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Return what must stay the same for the state to stay valid, as texts that can be shown."""
        if not self.streaming:
            return ()
        read = (f"source {n}: {each.format} {each.name} {each.location}" for n, each in enumerate(self.sources))
        return (*read, *self.operator_texts)
