"""`jetsql apply` on an engine in memory: plans, their order, and what is run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.openlineage.parent_runs import parse_parent
from jetsql.sqlfiles.apply.apply_folder import ApplyOptions, ApplyStatus, FolderApply
from jetsql.sqlfiles.read_sql_files import SqlFile
from tests.support.engines.declared_engine import DeclaredEngine

TABLES = """CREATE TABLE orders (id BIGINT, customer STRING) USING json;
CREATE TABLE IF NOT EXISTS totals (customer STRING, n BIGINT) USING parquet;
"""
JOBS = """-- counts
CREATE OR REPLACE JOB totals OPTIONS ('snapshotIntervalMillis' = '500')
AS INSERT OVERWRITE totals SELECT customer, count(*) FROM STREAM orders GROUP BY customer;
"""


class Output:
    """A console that keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.errors: list[str] = []

    def write_line(self, line: str) -> None:
        self.lines += line.split("\n")

    def show_error(self, text: str) -> None:
        self.errors.append(text)

    def flush(self) -> None:
        pass

    @contextmanager
    def show_waiting(self, what: str) -> Iterator[None]:
        yield


class Folder:
    """A folder and an engine."""

    def __init__(self) -> None:
        self.engine = DeclaredEngine()
        self.files: dict[str, str] = {}
        self.output = Output()
        self.questions: list[str] = []
        self.consents = True

    @property
    def catalog(self) -> object:
        return self.engine.catalog

    def apply(self, **options: object) -> ApplyStatus:
        """Apply the files, and return the outcome. The output is that of this run alone."""
        self.output = Output()
        values = options.pop("values", {})
        command = FolderApply(ApplyOptions(**options), self.output, self._confirm)  # type: ignore[arg-type]
        files = [SqlFile(name, text) for name, text in sorted(self.files.items())]
        if not command.check(files, values):  # type: ignore[arg-type]
            return ApplyStatus.NOT_POSSIBLE
        self.engine.catalog.ran.clear()
        status = command.run(self.engine)
        assert self.engine.catalog.open_sessions == 0
        return status

    def _confirm(self, question: str) -> bool:
        self.questions.append(question)
        return self.consents

    @property
    def plan(self) -> list[str]:
        """Return the first words of the steps in the output."""
        return [line.split("  ")[0] for line in self.output.lines if line[:2] in ("+ ", "~ ", "- ", "= ")]

    @property
    def error(self) -> str:
        return "\n".join(self.output.errors)


@pytest.fixture
def folder() -> Folder:
    result = Folder()
    result.files = {"jobs.sql": JOBS, "tables.sql": TABLES}
    result.engine.catalog.tables[("default", "spares")] = (
        "CREATE TABLE spares (customer STRING, n BIGINT) USING parquet"
    )
    return result


def test_missing_objects_are_created_once_in_order(folder: Folder) -> None:
    assert folder.apply(only_plan=True) is ApplyStatus.PLANNED
    plan = ["+ create table orders", "+ create table totals", "+ create job totals"]
    assert folder.plan == plan and folder.engine.catalog.ran == []
    assert folder.output.lines[0] == "+ create table orders  tables.sql:1:14"
    assert "    not checked: the plan creates table orders, table totals first" in folder.output.lines
    assert folder.apply() is ApplyStatus.APPLIED
    ran = folder.engine.catalog.ran
    assert [text.split("(")[0].strip() for text in ran] == [
        *("CREATE TABLE orders", "CREATE TABLE totals", "CREATE JOB totals OPTIONS"),
    ]
    assert folder.output.lines[-3:] == ["created table orders", "created table totals", "created job totals: Created."]
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    assert folder.output.lines == ["Nothing to do: 3 left as it is."] and folder.questions == []


@pytest.mark.parametrize(
    "text",
    [
        JOBS.replace("OR REPLACE ", ""),
        JOBS.replace("OR REPLACE JOB", "JOB IF NOT EXISTS"),
        JOBS.replace("SELECT customer,", "select\n  customer, -- a comment\n "),
    ],
)
def test_the_spelling_of_a_statement_changes_nothing(folder: Folder, text: str) -> None:
    folder.apply()
    folder.files["jobs.sql"] = text
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO


def test_run_is_the_parent_of_the_jobs_that_it_creates(folder: Folder) -> None:
    folder.apply(only_plan=True)
    assert [text for text in folder.engine.catalog.settings if "openlineage" in text] == []
    folder.apply()
    parents = {text for text in folder.engine.catalog.settings if "openlineage" in text}
    [parent] = (text.partition("=")[2] for text in parents)
    found = parse_parent(parent)
    assert found is not None and (found.namespace, found.name) == ("jetsql", "apply")


def test_differing_job_is_replaced_with_verdict_and_difference(folder: Folder) -> None:
    folder.apply()
    folder.files["jobs.sql"] = JOBS.replace("count(*)", "count(id)")
    assert folder.apply(only_plan=True) is ApplyStatus.PLANNED
    assert folder.output.lines == [
        "~ replace job totals  jobs.sql:2:23",
        "    the state is kept (committed so far: batch 4)",
        "    --- engine",
        "    +++ jobs.sql:2:23",
        "    @@ -4,5 +4,5 @@",
        "     SELECT",
        "       customer,",
        "    -  count(*)",
        "    +  count(id)",
        "     FROM STREAM orders",
        "     GROUP BY",
        "1 to replace, 2 left as it is.",
    ]
    folder.consents = False
    assert folder.apply() is ApplyStatus.DECLINED and folder.engine.catalog.ran == []
    folder.consents = True
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.questions == ["1 to replace, 2 left as it is. Continue?"] * 2
    assert folder.engine.catalog.ran[0].startswith("CREATE OR REPLACE JOB totals")


def test_job_with_incompatible_state_prevents_the_plan(folder: Folder) -> None:
    folder.apply()
    folder.engine.catalog.refusals["totals"] = "the stateful operators differ"
    folder.files["jobs.sql"] = JOBS.replace("count(*)", "count(id)")
    folder.files["more.sql"] = "CREATE TABLE more (id INT) USING json;"
    assert folder.apply() is ApplyStatus.NOT_POSSIBLE and folder.engine.catalog.ran == []
    assert folder.plan == ["+ create table more", "~ replace job totals"]
    assert "jobs.sql:3:4: [JETSQL.STATE_NOT_COMPATIBLE] The job totals cannot continue" in folder.error
    assert (
        "the stateful operators differ." in folder.error
        and "run DROP JOB `totals`, delete the rows of its table, and apply" in folder.error
    )
    assert folder.error.endswith("1 error in 3 files. Nothing was changed.")


def test_engine_error_has_its_place_in_the_file(folder: Folder) -> None:
    folder.apply()
    folder.files["more.sql"] = "\n  CREATE JOB more AS\n    INSERT INTO spares SELECT ${x}, 1 FROM STREAM orders;"
    assert folder.apply(values={"x": "nothing"}) is ApplyStatus.NOT_POSSIBLE
    assert "more.sql:3:31: [UNRESOLVED_COLUMN] There is no column nothing." in folder.error


def test_a_statement_of_spark_is_checked_before_the_first_change(folder: Folder) -> None:
    folder.files["more.sql"] = """CREATE SCHEMA shop;
CREATE TABLE shop.more (id WRONG_TYPE) USING json;
CREATE VIEW seen AS SELECT * FROM orders;
CREATE VIEW wrong AS SELECT * FROM missing;"""
    assert folder.apply() is ApplyStatus.NOT_POSSIBLE and folder.engine.catalog.ran == []
    assert "more.sql:2:28: [UNSUPPORTED_DATATYPE]" in folder.error
    assert "more.sql:4:36: [TABLE_OR_VIEW_NOT_FOUND]" in folder.error
    assert folder.error.endswith("2 errors in 3 files. Nothing was changed.")
    assert "    not checked: the plan creates table orders first" in folder.output.lines


def test_second_run_completes_a_failed_one(folder: Folder) -> None:
    folder.files["jobs.sql"] = JOBS + "CREATE JOB wrong AS INSERT INTO spares SELECT nothing, 1 FROM STREAM orders;\n"
    folder.files["later.sql"] = "CREATE JOB later AS INSERT INTO spares SELECT customer, 1 FROM STREAM orders;"
    assert folder.apply() is ApplyStatus.FAILED
    assert folder.output.lines[-1] == "created job totals: Created."
    assert "jobs.sql:4:47: [UNRESOLVED_COLUMN] There is no column nothing." in folder.output.errors[0]
    assert folder.output.errors[1].split("\n") == [
        "Done: create table orders, create table totals, create job totals.",
        "Failed: create job wrong.",
        "Not done: create job later.",
        "Run `jetsql apply` again to do the rest: what is done is left as it is.",
    ]
    folder.files["jobs.sql"] = folder.files["jobs.sql"].replace("nothing", "customer")
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.plan == ["+ create job wrong", "+ create job later"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), EngineError("CONNECTION_LOST", "Lost.")])
def test_an_interruption_reports_what_was_done(folder: Folder, error: BaseException) -> None:
    def interrupt(text: str) -> None:
        if "totals" in text:
            raise error

    folder.engine.catalog.before = interrupt
    if isinstance(error, EngineError):
        with pytest.raises(EngineError):
            folder.apply()
    else:
        assert folder.apply() is ApplyStatus.INTERRUPTED
    assert folder.error.split("\n")[:3] == [
        "Done: create table orders.",
        "Interrupted, and perhaps done: create table totals.",
        "Not done: create job totals.",
    ]
    folder.engine.catalog.before = lambda text: None
    assert folder.apply() is ApplyStatus.APPLIED and folder.plan == ["+ create table totals", "+ create job totals"]


def test_object_created_meanwhile_is_an_error_of_the_statement(folder: Folder) -> None:
    def create_first(text: str) -> None:
        folder.engine.catalog.before = lambda text: None
        DeclaredEngine(folder.engine.catalog).run(TABLES.split(";")[0])

    folder.engine.catalog.before = create_first
    assert folder.apply() is ApplyStatus.FAILED
    assert "tables.sql:1:14: [TABLE_OR_VIEW_ALREADY_EXISTS]" in folder.error
    assert "Another program has created it since the plan was made. Run `jetsql apply` again." in folder.error
    assert folder.apply() is ApplyStatus.APPLIED


def test_the_jobs_of_a_group_are_pruned(folder: Folder) -> None:
    extra = "CREATE JOB old AS INSERT INTO spares SELECT customer, 1 FROM STREAM orders;\n"
    view = "CREATE STREAMING TABLE names AS SELECT customer FROM STREAM orders;\n"
    DeclaredEngine(folder.engine.catalog)
    folder.files["old.sql"] = extra + view
    assert folder.apply(group="shop") is ApplyStatus.APPLIED
    assert "OPTIONS ('applyGroup' = 'shop') AS INSERT" in folder.engine.catalog.ran[3]
    assert "OPTIONS ('applyGroup' = 'shop', 'snapshotIntervalMillis' = '500')" in folder.engine.catalog.ran[2]
    assert "names JOB OPTIONS ('applyGroup' = 'shop') AS SELECT" in folder.engine.catalog.ran[4]
    DeclaredEngine(folder.engine.catalog).run(extra.replace("old", "foreign").rstrip(";\n"))
    del folder.files["old.sql"]
    assert folder.apply(group="shop") is ApplyStatus.NOTHING_TO_DO
    assert folder.output.lines[:4] == [
        "= leave job old",
        "    no file declares it; --prune would drop it",
        "= leave streaming table default.names",
        "    no file declares it; it has rows, so only DROP STREAMING TABLE drops it",
    ]
    assert folder.apply(group="shop", prune=True) is ApplyStatus.APPLIED
    assert folder.plan[0] == "- drop job old" and folder.engine.catalog.ran == ["DROP JOB `old`"]
    assert "its state is lost; its table is kept" in "\n".join(folder.output.lines)
    assert [job.name for job in folder.engine.catalog.jobs if job.status == "RUNNING"] == [
        *("totals", "default.names", "foreign")
    ]


def test_renamed_job_is_dropped_before_its_successor_starts(folder: Folder) -> None:
    folder.apply(group="shop")
    folder.files["jobs.sql"] = JOBS.replace("JOB totals", "JOB counts")
    folder.files["more.sql"] = "CREATE JOB more AS INSERT INTO orders SELECT 1, 'x' FROM STREAM totals;"
    assert folder.apply(group="shop", prune=True, only_plan=True) is ApplyStatus.PLANNED
    assert folder.plan == ["- drop job totals", "+ create job counts", "+ create job more"]


def test_jobs_of_another_group_are_not_touched(folder: Folder) -> None:
    folder.apply(group="shop")
    for group in ("other", ""):
        assert folder.apply(group=group) is ApplyStatus.NOT_POSSIBLE
        assert "jobs.sql:2:23: [JETSQL.JOB_OF_ANOTHER_GROUP] The job totals belongs to the group 'shop'" in folder.error
    folder.files["jobs.sql"] = JOBS.replace("OPTIONS (", "OPTIONS ('apply_group' = 'shop', ")
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    assert folder.apply(group="other") is ApplyStatus.NOT_POSSIBLE
    assert (
        "jobs.sql:2:55: [JETSQL.JOB_OF_ANOTHER_GROUP] The file puts the job totals into the group 'shop'"
        in folder.error
    )


def test_a_job_without_a_group_is_taken_into_the_group(folder: Folder) -> None:
    folder.apply()
    assert folder.apply(group="shop") is ApplyStatus.APPLIED
    assert folder.plan == ["~ replace job totals"] and "    +  'applyGroup' = 'shop'," in folder.output.lines


def test_views_are_replaced_and_their_readers_after_them(folder: Folder) -> None:
    folder.files["a.sql"] = """
CREATE VIEW outer_view AS SELECT * FROM inner_view;
CREATE JOB seen AS INSERT INTO spares SELECT customer, 1 FROM outer_view;
CREATE VIEW inner_view AS SELECT customer FROM orders;
"""
    folder.apply()
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    folder.files["a.sql"] = folder.files["a.sql"].replace("FROM orders;", "FROM orders WHERE id > 1;")
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.plan == ["~ replace view inner_view", "~ replace job seen"]
    assert "    the file has another query" in folder.output.lines
    assert "    not checked: the plan changes view outer_view first" in folder.output.lines
    assert [text.split(" AS ")[0] for text in folder.engine.catalog.ran] == [
        *("CREATE OR REPLACE VIEW inner_view", "CREATE OR REPLACE JOB seen"),
    ]


def test_schemas_are_created_before_what_is_in_them(folder: Folder) -> None:
    folder.files = {
        "a.sql": "USE shop;\nSET spark.sql.session.timeZone = 'UTC';\nCREATE TABLE t (a INT) USING json;",
        "b.sql": "CREATE JOB j AS INSERT INTO shop.t2 SELECT a FROM STREAM shop.t;",
        "c.sql": "CREATE TABLE shop.t2 (a INT) USING json;\nCREATE DATABASE shop;",
    }
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.plan == ["+ create schema shop", "+ create table t", "+ create table shop.t2", "+ create job j"]
    assert ("shop", "t") in folder.engine.catalog.tables
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    del folder.files["c.sql"]
    folder.engine.catalog.schemas.discard("shop")
    assert folder.apply() is ApplyStatus.NOT_POSSIBLE
    assert "a.sql:1:5: [SCHEMA_NOT_FOUND]" in folder.error


def test_functions_are_compared(folder: Folder) -> None:
    folder.files["f.sql"] = """CREATE FUNCTION plus(x int) RETURNS INT LANGUAGE PYTHON AS $$ return x + 1 $$;
CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2;"""
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    assert folder.output.lines[:2] == ["= leave function twice  f.sql:2:17", "    its definition was not compared"]
    folder.files["f.sql"] = folder.files["f.sql"].replace("x + 1", "x + 2")
    assert folder.apply() is ApplyStatus.APPLIED
    assert "    it has another source" in folder.output.lines
    assert folder.engine.catalog.ran[0].startswith("CREATE OR REPLACE FUNCTION plus")


def test_differing_table_is_an_error_with_a_statement(folder: Folder) -> None:
    folder.apply()
    folder.files["tables.sql"] = TABLES.replace("customer STRING)", "customer STRING, day DATE)")
    assert folder.apply() is ApplyStatus.NOT_POSSIBLE
    place = "tables.sql:1:50: [JETSQL.TABLE_DIFFERS] The table orders differs: it lacks the column day."
    assert place in folder.error and folder.output.lines == []
    assert "Run ALTER TABLE `orders` ADD COLUMNS (`day` DATE), or change the file." in folder.error
    folder.files["tables.sql"] = TABLES.replace("TABLE orders", "VIEW orders").replace(
        "(id BIGINT, customer STRING) USING json", "AS SELECT 1"
    )
    assert folder.apply() is ApplyStatus.NOT_POSSIBLE
    assert "orders exists, and is a table instead of a view." in folder.error


def test_a_batch_job_runs_once(folder: Folder) -> None:
    folder.files["jobs.sql"] = "CREATE JOB load AS INSERT INTO totals SELECT customer, 1 FROM orders;"
    folder.apply()
    [job] = folder.engine.catalog.jobs
    job.status = "COMPLETED"
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    folder.files["jobs.sql"] = folder.files["jobs.sql"].replace("1", "2")
    assert folder.apply(only_plan=True) is ApplyStatus.PLANNED
    ended = "    the last job of this name is COMPLETED"
    warning = "    warning: the job reads orders once and then ends; write STREAM orders to read new rows"
    assert folder.output.lines[1:3] == [warning, ended]
    folder.files["jobs.sql"] = folder.files["jobs.sql"].replace("FROM", "FROM /* jetsql lint: ignore */")
    assert folder.apply(only_plan=True) is ApplyStatus.PLANNED
    assert folder.output.lines[1:3] == ["    a batch job: it runs once", ended]


def test_a_materialized_view_is_computed_again_when_its_query_differs(folder: Folder) -> None:
    folder.files["jobs.sql"] = "CREATE MATERIALIZED VIEW names AS SELECT customer FROM orders;"
    folder.apply()
    folder.engine.catalog.jobs[0].status = "COMPLETED"
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    folder.files["jobs.sql"] = "CREATE MATERIALIZED VIEW names AS SELECT customer FROM orders WHERE id > 1;"
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.output.lines[:2] == [
        "~ replace materialized view names  jobs.sql:1:26",
        "    its rows are computed again",
    ]
    assert "    +WHERE" in folder.output.lines and len(folder.questions) == 1
    assert folder.engine.catalog.ran[0].startswith("CREATE OR REFRESH MATERIALIZED VIEW names")


def test_a_suspended_job_stays_suspended(folder: Folder) -> None:
    folder.apply()
    [job] = folder.engine.catalog.jobs
    job.status, job.last_error = "SUSPENDED", "the disk is full"
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO
    assert folder.output.lines[1] == "    its status is SUSPENDED: the disk is full"
    folder.files["jobs.sql"] = JOBS.replace("count(*)", "count(id)")
    assert folder.apply(only_plan=True) is ApplyStatus.PLANNED
    assert "    the job is suspended, and the replacement starts it" in folder.output.lines


def test_the_report_for_programs(folder: Folder) -> None:
    folder.files["wrong.sql"] = "CREATE JOB wrong AS INSERT INTO spares SELECT nothing, 1 FROM STREAM orders;"
    assert folder.apply(as_json=True) is ApplyStatus.FAILED and folder.output.errors == []
    report = json.loads("\n".join(folder.output.lines))
    assert report["status"] == "failed" and report["summary"] == {"create": 4, "replace": 0, "drop": 0, "leave": 0}
    assert [(step["name"], step["outcome"]) for step in report["steps"]] == [
        *(("orders", "done"), ("totals", "done"), ("totals", "done"), ("wrong", "failed")),
    ]
    assert report["steps"][3]["error"] == {
        "file": "wrong.sql",
        "line": 1,
        "column": 47,
        "condition": "UNRESOLVED_COLUMN",
        "message": "There is no column nothing.",
        "hint": "",
    }
    assert report["steps"][0] | {"file": "tables.sql", "line": 1, "column": 14} == report["steps"][0]
    folder.files["wrong.sql"] = "DROP JOB x;"
    assert folder.apply(as_json=True) is ApplyStatus.NOT_POSSIBLE
    report = json.loads("\n".join(folder.output.lines))
    assert report["status"] == "not possible" and report["problems"][0]["condition"] == "JETSQL.NOT_A_DECLARATION"


def test_secrets_are_in_no_plan(folder: Folder) -> None:
    text = "CREATE STREAMING TABLE s OPTIONS ('password' = '{}') AS SELECT customer FROM STREAM orders;"
    folder.files["s.sql"] = text.format("first-secret")
    folder.apply()
    folder.files["s.sql"] = text.format("second-secret").replace("customer", "id")
    folder.apply(only_plan=True)
    assert "'***'" in "\n".join(folder.output.lines) and "second-secret" not in "\n".join(folder.output.lines)
