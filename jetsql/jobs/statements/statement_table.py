"""The table of statements: the function that runs each kind, and the columns of its rows.

The columns of a statement never depend on data, because Spark and BI tools request them before it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar, get_args

from jetsql.errors import JetSQLError, StatementError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.lifecycle.runtime import UserSession
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements import control, describe, show
from jetsql.jobs.statements.access import connections, grants, show_access, users
from jetsql.jobs.statements.access.checks import Need, check_right
from jetsql.jobs.statements.alerts import alert_statements, show_alerts
from jetsql.jobs.statements.command_result import COMMAND_COLUMNS
from jetsql.jobs.statements.explain import PLAN_COLUMNS, explain
from jetsql.jobs.statements.function_statements import RESULT_COLUMNS, create_function
from jetsql.jobs.statements.lookup import visible_text
from jetsql.jobs.statements.show_cluster import ENGINE_COLUMNS, MEMBER_COLUMNS, show_engines, show_members
from jetsql.jobs.statements.snapshot import create_snapshot, drop_snapshot
from jetsql.jobs.statements.tables import streaming_tables as tables
from jetsql.jobs.statements.tables.table_creation import create_with_table
from jetsql.jobs.statements.wait import wait_for
from jetsql.language import statement as st
from jetsql.language.objects import alert_statement as al
from jetsql.language.objects import connection_statement as cn
from jetsql.language.objects import rights_statement as rights
from jetsql.resultset import Column, Table

S = TypeVar("S")
Columns = tuple[Column, ...]


@dataclass(frozen=True)
class StatementSpec:
    """The execution of a kind of statement."""

    kind: type
    columns: Columns
    run: Callable[..., Table]
    """Called with the manager, the statement and, if `needs_session`, the session of the user."""
    needs_session: bool
    needs: Need


def columns(statement: st.Statement) -> Columns:
    """Return the columns of the statement's rows, without executing it."""
    return SPECS[type(statement)].columns


def execute(manager: Manager, statement: st.Statement, session: Callable[[], UserSession]) -> Table:
    """Execute a statement and return its rows. session: called by the statements that need a session.

    Raises StatementError, also NOT_ALLOWED for a caller without the right that it needs; EngineError, and Spark's
    errors for a body that Spark cannot analyse.
    """
    spec = SPECS[type(statement)]
    try:
        check_right(manager, statement, spec.needs)
        table: Table = spec.run(manager, statement, session()) if spec.needs_session else spec.run(manager, statement)
    except JetSQLError as error:  # it can quote the last error of a job
        error.message, error.hint = visible_text(manager, error.message), visible_text(manager, error.hint)
        raise
    if table.columns == COMMAND_COLUMNS:
        rows = [(*row[:-1], visible_text(manager, str(row[-1]))) for row in table.rows]
        return Table(COMMAND_COLUMNS, tuple(rows))
    return table


def _refuse(manager: Manager, statement: st.TestStatement) -> Table:
    raise StatementError(
        "ONLY_IN_TEST_FILE",
        "RUN, START TEST, ADVANCE CLOCK and EXPECT are statements of test files. An engine does not run them.",
        hint="Write them into a file NAME.test.sql, and run `jetsql test NAME.test.sql`.",
    )


def _spec(
    needs: Need, kind: type[S], run: Callable[[Manager, S], Table], columns: Columns = COMMAND_COLUMNS
) -> StatementSpec:
    return StatementSpec(kind, columns, run, needs_session=False, needs=needs)


def _session_spec(
    needs: Need, kind: type[S], run: Callable[[Manager, S, UserSession], Table], columns: Columns = COMMAND_COLUMNS
) -> StatementSpec:
    return StatementSpec(kind, columns, run, needs_session=True, needs=needs)


_ANY: Final = Need(None)
_ADMIN: Final = Need(Right.ADMIN)
_MONITOR: Final = Need(Right.MONITOR)
_OPERATE: Final = Need(Right.OPERATE, job=lambda statement: statement.name)
_OWN: Final = Need(Right.OWNER, job=lambda statement: statement.name)

_ROWS: Final = (
    _session_spec(_ANY, st.CreateJob, create_with_table),
    _spec(_OPERATE, st.SuspendJob, control.suspend),
    _spec(_OPERATE, st.ResumeJob, control.resume),
    _spec(_OPERATE, st.RestartJob, control.restart),
    _spec(_OWN, st.AlterJobOptions, control.alter_options),
    _spec(_OWN, st.DropJob, control.drop),
    _spec(_OPERATE, st.WaitForJob, wait_for),
    _spec(Need(Right.OPERATE, job=lambda statement: statement.job), st.CreateSnapshot, create_snapshot),
    _spec(_ANY, st.DropSnapshot, drop_snapshot),
    _spec(_ANY, st.ShowSnapshots, show.show_snapshots, show.SNAPSHOT_COLUMNS),
    _spec(_ANY, st.ShowJobs, show.show_jobs, show.JOB_COLUMNS),
    _spec(_MONITOR, st.ShowMembers, show_members, MEMBER_COLUMNS),
    _spec(_MONITOR, st.ShowEngines, show_engines, ENGINE_COLUMNS),
    _spec(_ANY, st.DescribeJob, describe.describe, describe.FACT_COLUMNS),
    _spec(_OPERATE, st.ShowCreateJob, describe.show_create, describe.TEXT_COLUMNS),
    _spec(_ANY, st.ShowJobHistory, describe.show_history, describe.HISTORY_COLUMNS),
    _session_spec(_ANY, st.ExplainCreateJob, explain, PLAN_COLUMNS),
    _session_spec(Need(Right.FUNCTION), st.CreateFunction, create_function, RESULT_COLUMNS),
    _session_spec(_ANY, st.CreateStreamingTable, tables.create_streaming_table),
    _session_spec(_ANY, st.DropStreamingTable, tables.drop_streaming_table),
    _session_spec(_ANY, st.RefreshStreamingTable, tables.refresh_streaming_table),
    _session_spec(_ANY, st.AlterStreamingTable, tables.alter_streaming_table),
    _spec(_ANY, st.ShowStreamingTables, tables.show_streaming_tables, tables.TABLE_COLUMNS),
    _session_spec(_ANY, st.ShowCreateStreamingTable, tables.show_create_streaming_table, tables.CREATE_COLUMNS),
    _session_spec(_ANY, st.ExplainCreateStreamingTable, tables.explain_streaming_table, PLAN_COLUMNS),
    _spec(_ADMIN, rights.CreateUser, users.create_user, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.AlterUser, users.alter_user, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.DropUser, users.drop_user, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.CreateRole, users.create_role, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.DropRole, users.drop_role, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.CreateToken, users.create_token, users.TOKEN_COLUMNS),
    _spec(_ANY, rights.DropToken, users.drop_token, users.RESULT_COLUMNS),
    _session_spec(_ANY, rights.GrantRights, grants.grant_rights, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.GrantRole, grants.grant_role, users.RESULT_COLUMNS),
    _session_spec(_ANY, rights.RevokeRights, grants.revoke_rights, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.RevokeRole, grants.revoke_role, users.RESULT_COLUMNS),
    _session_spec(_ANY, rights.AlterOwner, grants.alter_owner, users.RESULT_COLUMNS),
    _spec(_ADMIN, rights.ReassignOwned, grants.reassign_owned, users.RESULT_COLUMNS),
    _spec(_ANY, rights.ShowUsers, show_access.show_users, show_access.USER_COLUMNS),
    _spec(_ANY, rights.ShowRoles, show_access.show_roles, show_access.ROLE_COLUMNS),
    _spec(_ANY, rights.ShowTokens, show_access.show_tokens, show_access.ACCESS_TOKEN_COLUMNS),
    _session_spec(_ANY, rights.ShowGrants, show_access.show_grants, show_access.GRANT_COLUMNS),
    _spec(_ADMIN, cn.CreateSecret, connections.create_secret, users.RESULT_COLUMNS),
    _spec(_ADMIN, cn.AlterSecret, connections.alter_secret, users.RESULT_COLUMNS),
    _spec(_ADMIN, cn.DropSecret, connections.drop_secret, users.RESULT_COLUMNS),
    _spec(_ANY, cn.ShowSecrets, connections.show_secrets, connections.SECRET_COLUMNS),
    _spec(_ADMIN, cn.CreateConnection, connections.create_connection, users.RESULT_COLUMNS),
    _spec(_ADMIN, cn.AlterConnection, connections.alter_connection, users.RESULT_COLUMNS),
    _spec(_ADMIN, cn.DropConnection, connections.drop_connection, users.RESULT_COLUMNS),
    _spec(_ANY, cn.ShowConnections, connections.show_connections, connections.CONNECTION_COLUMNS),
    _spec(_ANY, cn.DescribeConnection, connections.describe_connection, describe.FACT_COLUMNS),
    _spec(_ANY, al.CreateAlert, alert_statements.create_alert, users.RESULT_COLUMNS),
    _spec(_ANY, al.AlterAlert, alert_statements.alter_alert, users.RESULT_COLUMNS),
    _spec(_ANY, al.DropAlert, alert_statements.drop_alert, users.RESULT_COLUMNS),
    _spec(_ANY, al.ShowAlerts, show_alerts.show_alerts, show_alerts.ALERT_COLUMNS),
    _spec(_ANY, al.ShowCreateAlert, show_alerts.show_create_alert, describe.TEXT_COLUMNS),
    *(_spec(_ANY, kind, _refuse) for kind in get_args(st.TestStatement)),
)
SPECS: Final = {spec.kind: spec for spec in _ROWS}
"""The specification of each kind of statement."""
