"""An engine in memory for `jetsql apply`: a catalogue and jobs that are the texts of their statements.

`tests/sqlfiles/apply/test_apply_on_spark.py` runs the same stories on a real engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jetsql.errors import ErrorReport, JetSQLError, ReportedError, StatementError
from jetsql.jobs.model.job import name_key
from jetsql.jobs.planning.options import parse_options
from jetsql.jobs.planning.update_verdict import EXISTING_TABLE, UpdateKind, UpdateVerdict, normalised_words
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.language.objects.alert_statement import ShowAlerts
from jetsql.language.statement_head import name_at
from jetsql.language.tokens import tokens
from jetsql.resultset import Column
from jetsql.sqlfiles.lint_statement import CheckedStatement
from jetsql.sqlfiles.statement_names import created_by_spark, job_targets, lower_parts

JOB_COLUMNS = ("name", "status", "sink", "kind", "last_error", "statement")


@dataclass(frozen=True)
class Result:
    columns: tuple[Column, ...]
    rows: Iterator[tuple[object, ...]]


@dataclass
class DeclaredJob:
    name: str
    statement: st.CreateJob
    text: str
    sink: str
    status: str = "RUNNING"
    last_error: str = ""

    @property
    def given(self) -> dict[str, str]:
        return dict(parse_options(self.statement.options).values.given)


@dataclass
class DeclaredCatalog:
    """The state that all sessions share."""

    schemas: set[str] = field(default_factory=lambda: {"default"})
    tables: dict[tuple[str, ...], str] = field(default_factory=dict)  # the statements that create tables and views
    functions: dict[tuple[str, ...], str] = field(default_factory=dict)
    jobs: list[DeclaredJob] = field(default_factory=list)  # oldest first
    refusals: dict[str, str] = field(default_factory=dict)  # the reason why a job cannot keep its state, by its name
    ran: list[str] = field(default_factory=list)  # statements that change something
    before: Callable[[str], None] = lambda text: None  # called before each statement that changes something
    settings: list[str] = field(default_factory=list)  # the SET statements of all sessions
    open_sessions: int = 0

    def live(self, name: str) -> DeclaredJob | None:
        found = (job for job in self.jobs if name_key(job.name) == name_key(name))
        return next((job for job in found if job.status not in ("FAILED", "COMPLETED", "DROPPED")), None)


def error(condition: str, message: str, text: str, at: str) -> ReportedError:
    """Return an error as an engine reports it, at a word of the text."""
    start = text.index(at)
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return ReportedError(ErrorReport(condition, "42000", message, "", line, column))


class DeclaredEngine:
    """A session."""

    def __init__(self, catalog: DeclaredCatalog | None = None) -> None:
        self.catalog = catalog or DeclaredCatalog()
        self.schema = "default"

    def open_session(self) -> DeclaredEngine:
        self.catalog.open_sessions += 1
        return DeclaredEngine(self.catalog)

    def close(self) -> None:
        self.catalog.open_sessions -= 1

    def error(self, exc: Exception, text: str) -> ErrorReport:
        if isinstance(exc, ReportedError):
            return exc.report
        assert isinstance(exc, JetSQLError)
        return exc.report(text)

    def run(self, text: str) -> Result:
        statement = parse(text)
        if statement is not None:
            return self._run_ours(statement, text)
        found = list(tokens(text))
        words = [token.word for token in found[:4]]
        match words:
            case ["SHOW", "CREATE", "TABLE", *_]:
                return rows(("createtab_stmt",), [(self._shown(text, found),)])
            case ["DESCRIBE", "SCHEMA", *_]:
                self._check_schema(text, found, 2)
            case ["DESCRIBE", "FUNCTION", *_]:
                name = name_at(found, 2)
                assert name is not None
                if self._key(name[0]) not in self.catalog.functions:
                    raise error("UNRESOLVED_ROUTINE", "There is no function.", text, found[2].text)
            case ["EXPLAIN", "CREATE", *_]:
                return rows(("plan",), [(line,) for line in self._explain(text).split("\n")])
            case ["SELECT", *_] if "jetsql.jobs" in text:
                return rows(JOB_COLUMNS, [self._job_row(job) for job in reversed(self.catalog.jobs)])
            case ["SELECT", *_] if "jetsql.functions" in text:
                return self._python_functions(text)
            case ["USE", *_]:
                self._check_schema(text, found, 1)
                self.schema = found[1].text.strip("`")
            case ["SET", *_]:
                self.catalog.settings.append(text)
            case ["CREATE", *_]:
                self._create(text)
            case _:
                raise AssertionError(f"unexpected statement: {text}")
        return rows((), [])

    def _check_schema(self, text: str, found: Sequence[Any], index: int) -> None:
        if found[index].text.strip("`") not in self.catalog.schemas:
            raise error("SCHEMA_NOT_FOUND", "There is no schema.", text, found[index].text)

    def _key(self, parts: Sequence[str]) -> tuple[str, ...]:
        key = lower_parts(parts)
        return key if len(key) > 1 else (self.schema, *key)

    def _shown(self, text: str, found: Sequence[Any]) -> str:
        name = name_at(found, 3)
        assert name is not None
        if self._key(name[0]) not in self.catalog.tables:
            raise error("TABLE_OR_VIEW_NOT_FOUND", "There is no table.", text, found[3].text)
        return self.catalog.tables[self._key(name[0])]

    def _change(self, text: str) -> None:
        self.catalog.before(" ".join(text.split()))
        self.catalog.ran.append(" ".join(text.split()))

    def _explain(self, text: str) -> str:
        """Return the plan of a statement of Spark, or its error as a text: Spark raises errors of the syntax only."""
        checked = CheckedStatement(text.replace("EXPLAIN", "       ", 1))
        if "WRONG_TYPE" in text:
            raise error("UNSUPPORTED_DATATYPE", "There is no type.", text, "WRONG_TYPE")
        created = created_by_spark(list(tokens(checked.text)))
        assert created is not None
        try:
            if self._key(created.parts)[0] not in self.catalog.schemas:
                name = text[created.place.start : created.place.stop]
                raise error("SCHEMA_NOT_FOUND", "There is no schema.", text, name)
            self._check_tables(checked, [], text)
        except ReportedError as failed:
            report = failed.report
            assert report.column is not None
            place = f"line {report.line} pos {report.column - 1}"
            words = f"[{report.condition}] {report.message} SQLSTATE: 42P01; {place};"
            return f"Error occurred during query planning: \n{words}\n'Project [*]\n+- 'UnresolvedRelation"
        return "== Physical Plan =="

    def _create(self, text: str) -> None:
        created = created_by_spark(list(tokens(text)))
        assert created is not None
        self._change(text)
        if created.kind == "SCHEMA":
            if created.parts[-1] in self.catalog.schemas:
                raise error("SCHEMA_ALREADY_EXISTS", "It exists.", text, created.parts[-1])
            self.catalog.schemas.add(created.parts[-1])
            return
        if created.kind != "FUNCTION":
            self._check_tables(CheckedStatement(text), [], text)
        place, key = (
            self.catalog.functions if created.kind == "FUNCTION" else self.catalog.tables,
            self._key(created.parts),
        )
        if key in place and "OR REPLACE" not in text:
            raise error(
                "TABLE_OR_VIEW_ALREADY_EXISTS", "It exists.", text, text[created.place.start : created.place.stop]
            )
        if key[0] not in self.catalog.schemas:
            raise error("SCHEMA_NOT_FOUND", "There is no schema.", text, text[created.place.start : created.place.stop])
        place[key] = f"CREATE {created.kind} {'.'.join(key)}{text[created.place.stop :]}"

    def _run_ours(self, statement: st.Statement, text: str) -> Result:
        match statement:
            case st.ExplainCreateJob() | st.ExplainCreateStreamingTable():
                return rows(("plan",), [(self._plan(statement.create, text),)])
            case st.CreateJob() | st.CreateStreamingTable():
                return self._create_job(statement, text)
            case st.DropJob():
                self._change(text)
                job = self.catalog.live(statement.name.text)
                assert job is not None
                job.status, job.last_error = "DROPPED", "cancelled by user"
                return rows(("id", "name", "status", "message"), [("1", job.name, "DROPPED", "Cancelled.")])
            case ShowAlerts():
                return rows(("name", "apply_group"), [])
            case st.CreateFunction():
                self._change(text)
                self.catalog.functions[self._key(statement.name)] = text
                return rows(("name", "message"), [(statement.name[-1], "Created.")])
        raise AssertionError(f"unexpected statement: {text}")

    def _python_functions(self, text: str) -> Result:
        found = []
        for key, source in self.catalog.functions.items():
            if f"'{key[-1]}'" not in text:
                continue
            function = parse(source)
            assert isinstance(function, st.CreateFunction)
            parameters = ", ".join(f"{each.name} {each.type.upper()}" for each in function.parameters)
            found.append(
                (
                    parameters,
                    function.returns[0].type.upper(),
                    function.source,
                    function.handler,
                    None,
                    function.deterministic,
                )
            )
        names = ("parameters", "returns", "source", "handler", "parameter_style", "deterministic", "comment")
        return rows(names, [(*row, None) for row in found])

    def _named(self, create: st.CreateJob | st.CreateStreamingTable) -> tuple[st.CreateJob, str]:
        if isinstance(create, st.CreateJob):
            return create, create.name.text
        assert create.create.table is not None
        return create.create, ".".join(self._key(create.create.table.name.parts))

    def _check_tables(self, checked: CheckedStatement, targets: Sequence[Any], text: str) -> None:
        for use in (*targets, *checked.query.reads):
            if self._key(use.parts) not in self.catalog.tables:
                name = text[use.place.start : use.place.stop]
                raise error("TABLE_OR_VIEW_NOT_FOUND", f"There is no table {name}.", text, name)
        if "nothing" in text:
            raise error("UNRESOLVED_COLUMN", "There is no column nothing.", text, "nothing")

    def _plan(self, create: st.CreateJob | st.CreateStreamingTable, text: str) -> str:
        job, name = self._named(create)
        checked = CheckedStatement(text)
        self._check_tables(checked, [] if job.table is not None else job_targets(job, text), text)
        live = self.catalog.live(name)
        kind = "streaming" if "STREAM " in job.body.text else "batch: runs once"
        read = "" if kind == "streaming" else "Read once:   orders; write STREAM orders to read new rows\n"
        line = ""
        if live is not None:
            line = self._verdict(live, job).line()
        elif (done := self._completed(name)) is not None and self._is_same(done, job):
            line = UpdateVerdict(UpdateKind.UNCHANGED, "the job had this statement, and has completed").line()
        exists = job.table is not None and self._key(job.table.name.parts) in self.catalog.tables
        table = f"Table:       {EXISTING_TABLE}: a int\n" if exists else ""
        return f"Job:         {kind}\n{table}{read}{line}\n== Physical Plan =="

    def _completed(self, name: str) -> DeclaredJob | None:
        newest = next((job for job in reversed(self.catalog.jobs) if name_key(job.name) == name_key(name)), None)
        return newest if newest is not None and newest.status == "COMPLETED" else None

    def _is_same(self, job: DeclaredJob, statement: st.CreateJob) -> bool:
        def words(each: st.CreateJob) -> object:
            return each.comment, normalised_words(each.table.clauses if each.table is not None else each.body.text)

        return words(job.statement) == words(statement) and job.given == dict(
            parse_options(statement.options).values.given
        )

    def _verdict(self, job: DeclaredJob, statement: st.CreateJob) -> UpdateVerdict:
        if self._is_same(job, statement):
            return UpdateVerdict(UpdateKind.UNCHANGED, f"the job has this statement, and is {job.status}")
        if job.name in self.catalog.refusals:
            return UpdateVerdict(UpdateKind.REFUSED, self.catalog.refusals[job.name])
        return UpdateVerdict(UpdateKind.POSSIBLE, "the state is kept (committed so far: batch 4)")

    def _create_job(self, create: st.CreateJob | st.CreateStreamingTable, text: str) -> Result:
        job, name = self._named(create)
        self._change(text)
        targets = [] if job.table is not None else job_targets(job, text)
        self._check_tables(CheckedStatement(text), targets, text)
        live = self.catalog.live(name)
        if live is not None and not job.or_replace:
            raise StatementError("JOB_ALREADY_EXISTS", f"A job named {name} already exists.", place=job.name.place)
        key = () if job.table is None else self._key(job.table.name.parts)
        if job.table is not None:
            kind = create.kind.value if isinstance(create, st.CreateStreamingTable) else "TABLE"
            self.catalog.tables[key] = f"CREATE {kind} {'.'.join(key)} {job.table.clauses}"
        sink = ".".join(key or self._key(targets[0].parts))
        created = DeclaredJob(name, replace(job, text=text), self._stored(create, name, job), sink)
        if live is not None:
            self.catalog.jobs[self.catalog.jobs.index(live)] = created
        else:
            self.catalog.jobs.append(created)
        message = "Updated." if live is not None else "Created."
        return rows(("id", "name", "status", "message"), [("1", name, "RUNNING", message)])

    def _stored(self, create: st.CreateJob | st.CreateStreamingTable, name: str, job: st.CreateJob) -> str:
        given = parse_options(job.options).values.given
        pairs = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        options = f"OPTIONS ({pairs})\n" if given else ""
        if isinstance(create, st.CreateStreamingTable):
            assert job.table is not None
            return f"CREATE {create.kind.value} {name}\n{options and f'JOB {options}'}{job.table.clauses}"
        return f"CREATE JOB `{name}`\n{options}AS {job.body.text}"

    def _job_row(self, job: DeclaredJob) -> tuple[object, ...]:
        return (job.name, job.status, job.sink, "streaming", job.last_error or None, job.text)


def rows(names: Sequence[str], found: Sequence[tuple[object, ...]]) -> Result:
    """Return a result."""
    return Result(tuple(Column(name) for name in names), iter(found))
