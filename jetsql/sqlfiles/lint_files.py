"""Check the statements of SQL files without an engine: each by itself, and together in the order of the files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from jetsql.errors import Span
from jetsql.jobs.model.job import name_key
from jetsql.language import Fragment
from jetsql.language import statement as st
from jetsql.language.tokens import Kind, quoted_name, scan, tokens
from jetsql.language.variables import escaped_variables
from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.script import PreparedStatement, prepare_with_all_errors
from jetsql.sqlfiles.lint_problems import NO_TABLE, PREFIX, LintProblem, ProblemLevel
from jetsql.sqlfiles.lint_statement import CheckedStatement, Found
from jetsql.sqlfiles.overwritten_tables import OverwrittenTables
from jetsql.sqlfiles.read_sql_files import SqlFile
from jetsql.sqlfiles.statement_names import created_by_spark, is_same_name, job_targets, lower_parts

_SYSTEM_SCHEMAS: Final = ("jetsql", "information_schema")
_IGNORE: Final = "jetsql lint: ignore"


@dataclass(frozen=True)
class LintedStatement:
    """A statement of a file, as an engine would get it."""

    prepared: PreparedStatement
    checked: CheckedStatement

    @property
    def fragment(self) -> Fragment:
        """Return the statement as written."""
        return self.prepared.fragment


class LintRun:
    """The check of some files."""

    def __init__(
        self,
        values: Mapping[str, str],
        schema: Sequence[SqlFile] | None = None,
        check_statement: Callable[[str], CheckedStatement] = CheckedStatement,
    ) -> None:
        """Create a run.

        values: the variables of the files.
        schema: files that create the other tables that exist. Without it, missing tables are not reported.
        check_statement: checks a statement, or returns the check of the same text.
        """
        self._values = values
        self._check_statement = check_statement
        self._checks_tables = schema is not None
        self._tables: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)  # by their last part
        self._views: dict[tuple[str, ...], CheckedStatement] = {}  # by their names in lower case
        self._functions: set[str] = set()
        self.problems: list[LintProblem] = []
        self.statements: list[LintedStatement] = []  # without those whose text has an error
        for file in schema or ():
            if file.problem is not None:
                self.problems.append(file.problem)
                continue
            for step in self._steps(file.script):
                if isinstance(step, PreparedStatement):
                    self._note_created(self._check_statement(step.filled.text))

    def check(self, files: Sequence[SqlFile]) -> list[LintProblem]:
        """Return the problems of the files, in the order of their places."""
        for file in files:
            self._read(file)
        for linted in self.statements:
            self._note_created(linted.checked)
        jobs, written, overwritten = _CreatedJobs(), _WrittenTables(), OverwrittenTables()
        for linted in self.statements:
            self._report(linted, linted.checked.problems)
            self._report(linted, linted.checked.foreign_functions(self._functions))
            self._report(linted, jobs.check(linted))
            self._report(linted, written.check(linted))
            script, line = linted.prepared.script, linted.fragment.line
            found = list(tokens(linted.checked.text))
            self._report(linted, overwritten.check(linted.checked, found, script.name, line))
            self._report(linted, _own_rows(linted.checked))
            self._report_escapes(linted)
            self._report(linted, self._missing_stream(linted.checked))
            if self._checks_tables:
                self._report(linted, self._missing_tables(linted.checked))
        order = {id(file.text): number for number, file in enumerate(files)}
        self.problems.sort(key=lambda each: (order.get(id(each.script.text), 0), each.offset))
        return self.problems

    def _read(self, file: SqlFile) -> None:
        if file.problem is not None:
            self.problems.append(file.problem)
            return
        for step in self._steps(file.script):
            if isinstance(step, Diagnostic):
                self._add_diagnostic(step)
            else:
                self.statements.append(LintedStatement(step, self._check_statement(step.filled.text)))

    def _steps(self, script: Script) -> Iterator[PreparedStatement | Diagnostic]:
        return prepare_with_all_errors(script, self._values)

    def _add_diagnostic(self, error: Diagnostic) -> None:
        script, offset = error.script, error.offset
        level = ProblemLevel.ERROR
        stop = offset + 1 if error.stop is None else error.stop
        found = LintProblem(script, offset, stop, level, error.condition, error.message, error.hint, error.correction)
        self.problems.append(found)

    def _report(self, linted: LintedStatement, found: Iterator[Found] | Sequence[Found]) -> None:
        is_quiet = _IGNORE in linted.fragment.text and is_ignored(linted.fragment.text)
        kept = (each for each in found if not is_quiet or each.level is ProblemLevel.ERROR)
        self.problems += (placed(linted.prepared, each) for each in kept)

    def _report_escapes(self, linted: LintedStatement) -> None:
        """Note each `$${name}`, which stands for the text `${name}` and not for a value."""
        script, start, text = linted.prepared.script, linted.prepared.start, linted.fragment.text
        for name, place in () if is_ignored(text) else escaped_variables(text):
            message = f"$${{{name}}} stands for the text ${{{name}}}: no value is filled in."
            hint = f"For the value of the variable, write ${{{name}}}."
            level, condition = ProblemLevel.NOTE, f"{PREFIX}VARIABLE_ESCAPED"
            self.problems.append(
                LintProblem(script, start + place.start, start + place.stop, level, condition, message, hint)
            )

    def _note_created(self, checked: CheckedStatement) -> None:
        """Note the tables, views and functions that a statement creates."""
        job = checked.job
        if job is not None and job.table is not None:
            self._note_table(lower_parts(job.table.name.parts))
        if isinstance(checked.statement, st.CreateFunction):
            self._functions.add(checked.statement.name[-1].lower())
        if checked.statement is None:
            created = created_by_spark(list(tokens(checked.text)))
            if created is not None and created.kind == "FUNCTION":
                self._functions.add(created.key[-1])
            elif created is not None and created.kind != "SCHEMA":
                self._note_table(created.key)
                if created.kind == "VIEW":
                    self._views[created.key] = checked

    def _note_table(self, key: tuple[str, ...]) -> None:
        self._tables[key[-1]].add(key)

    def _missing_tables(self, checked: CheckedStatement) -> Iterator[Found]:
        targets = [] if checked.job is None or checked.job.table is not None else job_targets(checked.job, checked.text)
        for use in [*targets, *checked.query.reads]:
            key = lower_parts(use.parts)
            if key[0] in _SYSTEM_SCHEMAS or any(is_same_name(key, known) for known in self._tables[key[-1]]):
                continue
            name = ".".join(use.parts)
            message = f"No file creates the table or view {name}."
            hint = "Correct the name, or give the file that creates it with --schema."
            yield Found(ProblemLevel.ERROR, NO_TABLE, message, use.place, hint)

    def _missing_stream(self, checked: CheckedStatement) -> Iterator[Found]:
        """Yield the warning of a job that reads tables, but no stream."""
        job = checked.job
        reads = [use for use in checked.query.reads if lower_parts(use.parts)[0] not in _SYSTEM_SCHEMAS]
        if job is None or job.kind is st.TableKind.MATERIALIZED_VIEW or not reads or self._reads_stream(checked):
            return
        written = checked.text[reads[0].place.start : reads[0].place.stop]
        if job.kind is st.TableKind.STREAMING_TABLE:
            message = f"The query of a streaming table reads a stream; this one reads {written} as it is now."
            hint = "Write CREATE MATERIALIZED VIEW for rows that are computed once, and again with REFRESH"
        else:
            message = f"The job reads {written} once and then ends."
            hint = f"If it is a batch job, or {written} a view of a stream, write /* {_IGNORE} */ into the statement"
        stream = f"STREAM {written}"
        hint = f"Write {stream} to read new rows as they arrive. {hint}."
        yield Found(ProblemLevel.WARNING, f"{PREFIX}STREAM_MISSING", message, reads[0].place, hint, stream)

    def _reads_stream(self, checked: CheckedStatement, seen: frozenset[tuple[str, ...]] = frozenset()) -> bool:
        """Return whether a statement, or a view that it reads, has the word STREAM. seen: the views on the way."""
        found = list(tokens(checked.text))
        words = [token.word or token.text for token in found]
        if any(_names_stream(words, at) for at, word in enumerate(words) if word == "STREAM"):
            return True
        keys = [lower_parts(use.parts) for use in checked.query.reads]
        read = {name for name in self._views if name not in seen and any(is_same_name(key, name) for key in keys)}
        return any(self._reads_stream(self._views[name], seen | read) for name in read)


def _names_stream(words: Sequence[str], at: int) -> bool:
    """Return whether STREAM is the keyword before a relation, and no name."""
    return words[at - 1] in ("FROM", "JOIN", ",", "(", "LATERAL") and words[at + 1 : at + 2] not in ([], [","], [")"])


def is_ignored(text: str) -> bool:
    """Return whether a comment in a statement asks for no warnings and notes about it."""
    return any(token.kind is Kind.COMMENT and _IGNORE in token.text for token in scan(text))


def placed(prepared: PreparedStatement, found: Found) -> LintProblem:
    """Return a problem of a statement at its place in the file."""

    def origin(offset: int) -> int:
        return prepared.start + prepared.filled.original(offset)

    start = origin(found.place.start)
    stop = max(origin(max(found.place.stop - 1, found.place.start)) + 1, start)
    # In a value that a variable has, there is nothing to correct.
    is_written = prepared.script.text[start:stop] == prepared.filled.text[found.place.start : found.place.stop]
    correction = found.correction if is_written else ""
    return LintProblem(
        prepared.script, start, stop, found.level, found.condition, found.message, found.hint, correction
    )


class _CreatedJobs:
    """The jobs that the statements before have created."""

    def __init__(self) -> None:
        self._jobs: dict[str, LintedStatement] = {}

    def check(self, linted: LintedStatement) -> Iterator[Found]:
        """Take the next statement, and yield the error of a job that exists already."""
        statement = linted.checked.statement
        if isinstance(statement, (st.DropJob, st.DropStreamingTable)):
            name = statement.name.text if isinstance(statement, st.DropJob) else str(statement.table)
            self._jobs.pop(name_key(name), None)
        create = statement.create if isinstance(statement, st.CreateStreamingTable) else statement
        if not isinstance(create, st.CreateJob):
            return
        before = self._jobs.setdefault(name_key(create.name.text), linted)
        if before is linted or create.or_replace or create.if_not_exists:
            return
        place = f"{before.prepared.script.name}:{before.fragment.line}"
        yield Found(
            ProblemLevel.ERROR,
            f"{PREFIX}JOB_ALREADY_EXISTS",
            f"The job {create.name.text} is created twice: also at {place}.",
            create.name.place,
            "Use another name, DROP JOB first, CREATE JOB IF NOT EXISTS or CREATE OR REPLACE JOB.",
        )


@dataclass(frozen=True)
class _Writer:
    """A table that a job writes."""

    job: str
    table: tuple[str, ...]  # in lower case
    replaces_rows: bool  # each result replaces the table
    kind: str  # of a table that belongs to the job, in lower case; otherwise empty


class _WrittenTables:
    """The tables that the jobs of the statements before write."""

    def __init__(self) -> None:
        self._writers: list[_Writer] = []

    def check(self, linted: LintedStatement) -> Iterator[Found]:
        """Take the next statement, and yield the error of a job that cannot share its table with another one."""
        checked = linted.checked
        statement = checked.statement
        if isinstance(statement, (st.DropJob, st.DropStreamingTable)):
            dropped = statement.name.text if isinstance(statement, st.DropJob) else str(statement.table)
            self._forget(dropped)
        create = statement.create if isinstance(statement, st.CreateStreamingTable) else statement
        if not isinstance(create, st.CreateJob):
            return
        kind = statement.kind.value.lower() if isinstance(statement, st.CreateStreamingTable) else ""
        self._forget(create.name.text)
        # The verb of a job with a new table is chosen by the engine; a part of a table can be replaced.
        replaces_rows = create.table is None and create.body.verb is st.Verb.INSERT_OVERWRITE
        replaces_rows = replaces_rows and not _has_partition(create.body.text)
        for target in job_targets(create, checked.text):
            table = lower_parts(target.parts)
            other = next((each for each in self._writers if is_same_name(each.table, table)), None)
            if other is not None and (other.kind or other.replaces_rows or replaces_rows):
                yield _shared(other, ".".join(target.parts), target.place)
            self._writers.append(_Writer(create.name.text, table, replaces_rows, kind))

    def _forget(self, job: str) -> None:
        self._writers = [each for each in self._writers if name_key(each.job) != name_key(job)]


def _shared(other: _Writer, table: str, place: Span) -> Found:
    if other.kind:
        message = f"Cannot write to the {other.kind} {table}: only its own job writes it."
        hint = f"Write to another table, or change its query with CREATE OR REFRESH {other.kind.upper()}."
        return Found(ProblemLevel.ERROR, f"{PREFIX}RELATION_READ_ONLY", message, place, hint)
    if other.replaces_rows:
        message = f"Cannot write to {table}: the job {other.job} replaces the rows of the table with each result."
    else:
        message = f"Cannot replace the rows of {table}: the job {other.job} writes the table as well."
    hint = f"Write to another table, or run DROP JOB {quoted_name(other.job)} first."
    return Found(ProblemLevel.ERROR, f"{PREFIX}TABLE_IN_USE", message, place, hint)


def _has_partition(body: str) -> bool:
    """Return whether INSERT OVERWRITE names partitions. Spark's mode `dynamic` is not known here."""
    return any(token.word == "PARTITION" for token in islice(tokens(body), 12))


def _own_rows(checked: CheckedStatement) -> Iterator[Found]:
    """Yield the error of a job that reads a table that it writes."""
    job = checked.job
    if job is None:
        return
    targets = job_targets(job, checked.text)
    read = {lower_parts(use.parts) for use in checked.query.reads}
    for target in targets:
        if lower_parts(target.parts) in read:
            name = ".".join(target.parts)
            message = f"The job would read its own rows: {name} is both its source and its sink."
            condition = f"{PREFIX}UNSUPPORTED_QUERY"
            yield Found(ProblemLevel.ERROR, condition, message, target.place, "Write another table.")
