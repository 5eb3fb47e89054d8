"""Users, roles and rights in a folder: their order, how they are compared with the engine, and what --prune takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jetsql.errors import ReportedError, StatementError
from jetsql.jobs.lifecycle.runtime import JobTable
from jetsql.sqlfiles.apply.apply_folder import ApplyOptions, ApplyStatus, FolderApply
from jetsql.sqlfiles.read_sql_files import SqlFile
from tests.sqlfiles.apply.test_apply_folder import Output
from tests.sqlfiles.apply.test_declarations import names, read
from tests.support.engines.declared_engine import Result, rows
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users
from tests.support.engines.users_engine import UsersEngine

FOLDER = """CREATE USER ann;
CREATE USER IF NOT EXISTS `bob@example.com`;
CREATE ROLE analysts;
GRANT analysts TO ann;
GRANT SELECT, INSERT ON TABLE t TO analysts;
GRANT SELECT ON VIEW v TO `bob@example.com` WITH GRANT OPTION;
GRANT OPERATE ON JOBS IN SCHEMA s TO ann;
GRANT MONITOR TO ann;
GRANT SELECT ON ALL SCHEMAS TO ann;
GRANT USAGE ON LOCATION 's3a://b/in' TO ann;
"""


class Engine(UsersEngine):
    """An engine in memory with the tables t and v, which is a view, and no jobs."""

    def run(self, text: str) -> Result:
        words = text.split()
        if "jetsql.jobs" in text or words[0] == "USE":
            return rows((), [])
        if words[:2] == ["SHOW", "CREATE"]:
            kind = "VIEW" if words[-1].endswith("`v`") else "TABLE"
            return rows(("createtab_stmt",), [(f"CREATE {kind} default.x AS SELECT 1",)])
        try:
            return super().run(text)
        except StatementError as error:
            # The client of an engine raises the report instead of the error.
            raise ReportedError(error.report(text)) if words[0] == "REVOKE" else error from None


@dataclass
class Folder:
    """A folder with one file."""

    engine: Engine
    text: str = FOLDER
    output: Output = field(default_factory=Output)

    def apply(self, **options: bool) -> ApplyStatus:
        self.output = Output()
        self.engine.ran.clear()
        group = "g" if options.get("prune") else ""
        command = FolderApply(ApplyOptions(group, **options), self.output, lambda question: True)
        if not command.check([SqlFile("rights.sql", self.text)], {}):
            return ApplyStatus.NOT_POSSIBLE
        return command.run(self.engine)

    def plan_of(self, text: str, **options: bool) -> list[str]:
        self.text = text
        self.apply(only_plan=True, **options)
        return [line.split("  ")[0] for line in self.output.lines if line[:2] in ("+ ", "- ", "= ", "~ ")]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with run_manager(tmp_path) as jobs:
        for name, is_view in (("t", False), ("v", True)):
            table = f"spark_catalog.default.{name}"
            jobs.runtime.tables[table] = JobTable(table, "", "", is_view=is_view)
        yield Folder(Engine(Users(jobs)))


def test_users_come_first_and_grants_last() -> None:
    statements = ("GRANT SELECT ON TABLE t TO r", "CREATE TABLE t (a INT)", "GRANT r TO u", "CREATE ROLE r")
    assert names(*(f"{each};" for each in statements), "CREATE USER u;") == [
        *("u", "r", "t", "SELECT ON TABLE t TO r", "r TO u"),
    ]


def test_users_and_roles_have_one_name_space() -> None:
    assert len(read("CREATE USER a;", "CREATE ROLE A;").problems) == 1
    assert read("GRANT SELECT ON TABLE t TO a;", "GRANT SELECT ON TABLE t TO a;").problems == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE TOKEN FOR ann;", "A token is shown only when it is created"),
        ("REVOKE SELECT ON TABLE t FROM ann;", "REVOKE is not one of them"),
        ("ALTER USER ann DISABLE;", "no other change"),
        ("DROP ROLE analysts;", "DROP is not one of them"),
        ("REASSIGN OWNED BY ann TO bob;", "REASSIGN is not one of them"),
    ],
)
def test_other_statements_about_rights_are_refused(text: str, words: str) -> None:
    [problem] = read(text).problems
    assert words in problem.message and problem.hint


def test_second_run_changes_nothing(folder: Folder) -> None:
    assert folder.apply() is ApplyStatus.APPLIED, folder.output.errors
    assert len(folder.engine.ran) == 10 and folder.engine.ran[1] == "CREATE USER `bob@example.com`"
    assert "created grant MONITOR TO ann: Granted MONITOR." in folder.output.lines
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO, folder.output.lines
    assert folder.engine.ran == [] and folder.output.lines == ["Nothing to do: 10 left as it is."]


def test_limits_of_users(folder: Folder) -> None:
    limits = "ALTER USER ann SET (STATEMENTS_MOST = 4, rows_most = 10);\n"
    assert folder.plan_of(limits + "CREATE USER ann;") == ["+ create user ann", "+ create limits of user ann"]
    assert folder.apply() is ApplyStatus.APPLIED, folder.output.errors
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO, folder.output.lines
    users = folder.engine.users
    users.run("ALTER USER ann SET (statements_most = 5, statement_seconds = 7)")
    users.run("ALTER USER ann RESET (rows_most)")
    assert folder.plan_of(limits) == ["~ replace limits of user ann"]
    notes = ["    it has statements_most = 5", "    it has no rows_most of its own"]
    assert folder.output.lines[1:3] == notes, folder.output.lines
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.plan_of(limits) == ["= leave limits of user ann"]
    assert "    it has statement_seconds = 7, which no file declares" in folder.output.lines
    users.run("GRANT ADMIN TO ann")  # whose limits do not apply
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO


@pytest.mark.parametrize("limits", ["SET (rows = 1)", "RESET ALL", "RESET (rows_most)"])
def test_other_changes_of_users_are_refused(limits: str) -> None:
    [problem] = read(f"ALTER USER ann {limits};").problems
    assert ("no limit named rows" if limits.startswith("SET") else "and no other change") in problem.message


def test_missing_right_of_a_list_is_granted(folder: Folder) -> None:
    folder.apply()
    folder.engine.users.run("REVOKE INSERT ON TABLE t FROM analysts")
    assert folder.plan_of(FOLDER) == ["+ create grant SELECT, INSERT ON TABLE t TO analysts"]
    assert folder.apply() is ApplyStatus.APPLIED
    assert folder.apply() is ApplyStatus.NOTHING_TO_DO


def test_right_with_another_grant_option(folder: Folder) -> None:
    folder.apply()
    without = FOLDER.replace(" WITH GRANT OPTION", "")
    assert folder.plan_of(without) == ["= leave grant SELECT ON VIEW v TO `bob@example.com`"]
    assert "    it has WITH GRANT OPTION, which the file does not declare" in folder.output.lines
    with_option = FOLDER.replace("TABLE t TO analysts", "TABLE t TO analysts WITH GRANT OPTION")
    assert folder.plan_of(with_option) == ["+ create grant SELECT, INSERT ON TABLE t TO analysts WITH GRANT OPTION"]


@pytest.mark.parametrize("line", FOLDER.splitlines()[3:])
def test_right_that_no_file_grants_is_noted_and_pruned(folder: Folder, line: str) -> None:
    folder.apply()
    name = line.removeprefix("GRANT ").removesuffix(";").removesuffix(" WITH GRANT OPTION")
    name = name.replace("TABLE t", "TABLE default.t").replace("VIEW v", "VIEW default.v")
    shown = [name]
    if "SELECT, INSERT" in name:
        shown = [name.replace("SELECT, INSERT", right) for right in ("INSERT", "SELECT")]
    without = FOLDER.replace(f"{line}\n", "")
    assert folder.plan_of(without) == [f"= leave grant {each}" for each in shown]
    assert "    no file grants it; --prune would revoke it" in folder.output.lines
    assert folder.plan_of(without, prune=True) == [f"- drop grant {each}" for each in shown]
    assert folder.apply(prune=True) is ApplyStatus.APPLIED, folder.output.errors
    assert [each.split()[0] for each in folder.engine.ran] == ["REVOKE"] * len(shown)
    assert folder.apply(prune=True) is ApplyStatus.NOTHING_TO_DO


def test_rights_of_users_of_others_are_left(folder: Folder) -> None:
    folder.apply()
    folder.engine.users.run("CREATE USER eve")
    folder.engine.users.run("GRANT SELECT ON TABLE t TO eve")
    assert folder.plan_of(FOLDER, prune=True) == []


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("GRANT SELECT ON TABLE missing TO ann;", "JETSQL.TABLE_NOT_FOUND"),
        ("GRANT SELECT ON TABLE t TO missing;", "JETSQL.OBJECT_NOT_FOUND"),
        ("GRANT missing TO ann;", "JETSQL.OBJECT_NOT_FOUND"),
        ("GRANT OPERATE ON JOB missing TO ann;", "JETSQL.JOB_NOT_FOUND"),
    ],
)
def test_grant_on_what_is_missing_is_an_error(folder: Folder, text: str, condition: str) -> None:
    folder.apply()
    folder.text = f"{FOLDER}{text}\n"
    assert folder.apply() is ApplyStatus.NOT_POSSIBLE
    assert folder.engine.ran == []
    assert condition in folder.output.errors[0] and "rights.sql:11:" in folder.output.errors[0]
