"""Alerts in a folder: their order, how they are compared with the engine, their group, and what the plan checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jetsql.jobs.alerts.alert_commands import AlertSettings, parse_commands
from jetsql.sqlfiles.apply.apply_folder import ApplyOptions, ApplyStatus, FolderApply
from jetsql.sqlfiles.apply.statement_edits import creating, replacing
from jetsql.sqlfiles.read_sql_files import SqlFile
from tests.sqlfiles.apply.test_apply_folder import Output
from tests.sqlfiles.apply.test_declarations import names, ordered, read, shown
from tests.support.engines.declared_engine import JOB_COLUMNS, Result, rows
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users
from tests.support.engines.users_engine import UsersEngine

ALERT = "CREATE ALERT a ON JOB j STATUS FAILED, SUSPENDED CALL 'https://hooks.example.com/canary'"
JOB = "CREATE JOB j (CONSTRAINT positive EXPECT (a > 0)) AS INSERT INTO t SELECT * FROM STREAM s"


class Engine(UsersEngine):
    """An engine in memory with the job j."""

    def run(self, text: str) -> Result:
        if "jetsql.jobs" in text:
            return rows(JOB_COLUMNS, [("j", "RUNNING", "t", "streaming", None, JOB)])
        return super().run(text)


@dataclass
class Folder:
    """A folder with one file."""

    engine: Engine
    output: Output = field(default_factory=Output)

    def apply(self, text: str, group: str = "", **options: bool) -> ApplyStatus:
        self.output = Output()
        self.engine.ran.clear()
        command = FolderApply(ApplyOptions(group, **options), self.output, lambda question: True)
        if not command.check([SqlFile("alerts.sql", text)], {}):
            return ApplyStatus.NOT_POSSIBLE
        return command.run(self.engine)

    @property
    def plan(self) -> list[str]:
        return [line.split("  ")[0] for line in self.output.lines if line[:2] in ("+ ", "- ", "= ", "~ ")]

    @property
    def error(self) -> str:
        return "\n".join(self.output.errors)

    def created(self) -> str:
        [row] = self.engine.users.run("SHOW CREATE ALERT a")
        return str(row["create_statement"])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with run_manager(tmp_path, alerts=AlertSettings(parse_commands(["page=/bin/true"]))) as jobs:
        jobs.make()
        jobs.sql("CREATE SECRET hook FROM ENV 'HOOK_URL'")
        yield Folder(Engine(Users(jobs)))


def test_alerts_come_after_what_they_name() -> None:
    alert = "CREATE ALERT a ON JOB j STATUS FAILED CALL 'secret:hook' OPTIONS ('secret' = 'secret:key');"
    secrets = "CREATE SECRET key FROM ENV 'K'; CREATE SECRET hook FROM ENV 'H';"
    grant = "GRANT OPERATE ON JOB j TO u; CREATE USER u;"
    assert names(alert, f"{JOB};", secrets, grant) == ["u", "key", "hook", "j", "a", "OPERATE ON JOB j TO u"]
    table = "CREATE STREAMING TABLE s.t AS SELECT 1 FROM STREAM x;"
    found = ordered("CREATE ALERT a ON JOB `s.t` STATUS FAILED CALL COMMAND page;", table)
    assert [item.name for item in found.items] == ["s.t", "a"] and found.needed_by(found.items[1]) == (found.items[0],)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{ALERT}; {ALERT.replace('ALERT a', 'ALERT A')};", "a.sql:1:104 DECLARED_TWICE"),
        (ALERT.replace("JOB j", "JOB '0401-9f77-b9c0-0001'"), "a.sql:1:23 NOT_A_DECLARATION"),
        ("ALTER ALERT a DISABLE", "a.sql:1:1 NOT_A_DECLARATION"),
        ("DROP ALERT a", "a.sql:1:1 NOT_A_DECLARATION"),
    ],
)
def test_other_statements_about_alerts_are_refused(text: str, problem: str) -> None:
    [found] = read(text).problems
    assert shown(found) == problem


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (ALERT.replace("FAILED, ", "BROKEN, "), "1:32: [JETSQL.INVALID_ALERT]"),
        (ALERT.replace("https", "ftp"), "1:55: [JETSQL.INVALID_ALERT]"),
        (f"{ALERT} OPTIONS ('evry' = '1 day')", "1:99: [JETSQL.UNKNOWN_OPTION]"),
        (f"{ALERT} OPTIONS ('secret' = 'canary')", "1:110: [JETSQL.INVALID_OPTION_VALUE]"),
        (ALERT.replace("JOB j", "JOB missing"), "1:23: [JETSQL.JOB_NOT_FOUND]"),
        (ALERT.replace("STATUS FAILED, SUSPENDED", "EXPECTATION x"), "1:37: [JETSQL.OBJECT_NOT_FOUND]"),
        ("CREATE ALERT a ON JOB j STATUS FAILED CALL 'secret:none'", "1:44: [JETSQL.OBJECT_NOT_FOUND]"),
        (f"{ALERT}\nOPTIONS ('secret' = 'secret:none')", "2:21: [JETSQL.OBJECT_NOT_FOUND]"),
    ],
)
def test_wrong_alerts_are_errors_before_the_first_change(folder: Folder, text: str, place: str) -> None:
    other = ALERT.replace("ALERT a", "ALERT other")
    assert folder.apply(f"{text};\n{other};") is ApplyStatus.NOT_POSSIBLE
    assert f"alerts.sql:{place}" in folder.error and folder.engine.ran == []


def test_second_run_changes_nothing(folder: Folder) -> None:
    assert folder.apply(f"{ALERT};", only_plan=True) is ApplyStatus.PLANNED
    assert folder.output.lines[0] == "+ create alert a  alerts.sql:1:14" and folder.engine.ran == []
    assert folder.apply(f"{ALERT};") is ApplyStatus.APPLIED, folder.error
    assert folder.output.lines[-1] == "created alert a: Created."
    assert folder.apply(f"{ALERT};") is ApplyStatus.NOTHING_TO_DO
    assert folder.output.lines == ["Nothing to do: 1 left as it is."] and folder.engine.ran == []


@pytest.mark.parametrize(
    "text",
    [
        ALERT.lower().replace("failed, suspended", "suspended, /* or */ failed"),
        ALERT.replace("CREATE", "CREATE OR REPLACE").replace("ALERT a", "ALERT\n  `A`").replace("JOB j", "JOB `J`"),
        f"{ALERT} OPTIONS ('every' = '5 minutes', 'format' = 'Webhook', 'secret' = '')",
        f"{ALERT} OPTIONS ('EVERY' = '300 seconds', 'applyGroup' = '')",
    ],
)
def test_layout_and_defaults_are_no_change(folder: Folder, text: str) -> None:
    folder.apply(f"{ALERT};")
    assert folder.apply(f"{text};") is ApplyStatus.NOTHING_TO_DO, folder.output.lines


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (ALERT.replace("JOB j", "JOB ALL"), "another job"),
        (ALERT.replace("STATUS FAILED, SUSPENDED", "STATUS FAILED"), "another condition"),
        (ALERT.replace("STATUS FAILED, SUSPENDED", "LAG > 5 MINUTES"), "another condition"),
        (ALERT.replace("canary", "other"), "another receiver"),
        (ALERT.replace("'https://hooks.example.com/canary'", "COMMAND page"), "another receiver"),
        (ALERT.replace("'https://hooks.example.com/canary'", "'secret:hook'"), "another receiver"),
        (f"{ALERT} OPTIONS ('every' = '1 hour')", "other options"),
        (f"{ALERT} OPTIONS ('secret' = 'secret:hook')", "other options"),
        (f"{ALERT} COMMENT 'on call'", "another comment"),
        (f"{ALERT} DISABLE", "no DISABLE"),
    ],
)
def test_changed_alert_is_replaced_once(folder: Folder, text: str, note: str) -> None:
    folder.apply(f"{ALERT};")
    assert folder.apply(f"{text};") is ApplyStatus.APPLIED, folder.error
    assert folder.plan == ["~ replace alert a"] and f"    it has {note}" in folder.output.lines
    assert "canary" not in str(folder.output.lines) and "/other" not in str(folder.output.lines)
    assert folder.apply(f"{text};") is ApplyStatus.NOTHING_TO_DO, folder.output.lines


def test_plan_shows_the_difference(folder: Folder) -> None:
    folder.apply(f"{ALERT};")
    folder.apply(ALERT.replace("FAILED, SUSPENDED", "FAILED") + " OPTIONS ('every' = '1 hour');", only_plan=True)
    assert folder.output.lines == [
        "~ replace alert a  alerts.sql:1:14",
        "    it has another condition, other options",
        "    --- engine",
        "    +++ alerts.sql:1:14",
        "    @@ -1,4 +1,7 @@",
        "     CREATE ALERT `a`",
        "     ON JOB `j`",
        "    -STATUS FAILED, SUSPENDED",
        "    +STATUS FAILED",
        "     CALL '***'",
        "    +OPTIONS (",
        "    +  'every' = '1 hour'",
        "    +)",
        "1 to replace.",
    ]


def test_silenced_alert_stays_disabled(folder: Folder) -> None:
    folder.apply(f"{ALERT};")
    folder.engine.users.run("ALTER ALERT a DISABLE")
    assert folder.apply(f"{ALERT};") is ApplyStatus.NOTHING_TO_DO
    assert folder.plan == ["= leave alert a"] and "it is disabled" in folder.output.lines[1]
    assert folder.apply(f"{ALERT} COMMENT 'x';") is ApplyStatus.APPLIED
    assert "    the alert is disabled, and the replacement enables it" in folder.output.lines
    assert not folder.created().endswith("DISABLE")


def test_alert_of_a_dropped_job_stays(folder: Folder) -> None:
    folder.apply(f"{ALERT};")
    folder.engine.users.run("DROP JOB j")
    assert folder.apply(f"{ALERT};") is ApplyStatus.NOTHING_TO_DO, folder.error


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ["", " OPTIONS ('every' = '1 hour')", " COMMENT 'x' DISABLE"])
def test_group_is_noted_in_the_alert(folder: Folder, options: str) -> None:
    assert folder.apply(f"{ALERT}{options};", "shop") is ApplyStatus.APPLIED, folder.error
    assert "'applyGroup' = 'shop'" in folder.created()
    assert folder.engine.users.names("SHOW ALERTS", "owner", "apply_group") == ["shop"]
    assert folder.apply(f"{ALERT}{options};", "shop") is ApplyStatus.NOTHING_TO_DO, folder.output.lines
    [declaration] = ordered(f"{ALERT}{options}").items
    for edited in (creating(declaration, "shop"), replacing(declaration, "shop")):
        assert edited.filled.original(edited.text.index("CALL")) == ALERT.index("CALL")


def test_prune_drops_only_alerts_of_the_group(folder: Folder) -> None:
    other, own = ALERT.replace("ALERT a", "ALERT other"), ALERT.replace("ALERT a", "ALERT `my own`")
    folder.apply(f"{ALERT}; {own};", "shop")
    folder.engine.users.run(other)
    assert folder.apply(f"{ALERT};", "shop") is ApplyStatus.NOTHING_TO_DO
    assert folder.output.lines[1] == "    no file declares it; --prune would drop it"
    assert folder.apply(f"{ALERT};", "shop", prune=True) is ApplyStatus.APPLIED
    assert folder.plan == ["- drop alert my own"] and folder.engine.ran == ["DROP ALERT `my own`"]
    assert "dropped alert my own: Dropped." in folder.output.lines
    assert folder.engine.users.names("SHOW ALERTS", "owner") == ["a", "other"]
    assert folder.apply(f"{ALERT};", "shop", prune=True) is ApplyStatus.NOTHING_TO_DO


def test_alert_of_another_group_is_never_changed(folder: Folder) -> None:
    folder.apply(f"{ALERT};", "shop")
    for group in ("other", ""):
        assert folder.apply(f"{ALERT} COMMENT 'x';", group) is ApplyStatus.NOT_POSSIBLE
        found = "alerts.sql:1:14: [JETSQL.ALERT_OF_ANOTHER_GROUP] The alert a belongs to the group 'shop'"
        assert found in folder.error and "--group shop" in folder.error
    assert folder.apply(f"{ALERT} OPTIONS ('applyGroup' = 'shop');", "other") is ApplyStatus.NOT_POSSIBLE
    assert "The file puts the alert a into the group 'shop', not 'other'." in folder.error
