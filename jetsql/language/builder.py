"""Build statements from the trees of the grammar, with one function for each rule.

The functions do not walk a tree: within one statement, the terminal of a token determines its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jetsql.errors import Span, StatementError
from jetsql.language import statement as st
from jetsql.language.body.expectations import read_expectations, with_expectations
from jetsql.language.body.named_tokens import name_of, token_place
from jetsql.language.body.new_table import TableStart, is_new_table, read_new_table, read_table_body
from jetsql.language.body.several_inserts import read_body
from jetsql.language.body.start_modes import read_start_mode
from jetsql.language.objects import alert_statement as alerts
from jetsql.language.objects import connection_statement as connections
from jetsql.language.objects import rights_statement as rights
from jetsql.language.tokens import Kind, tokens, unquote

if TYPE_CHECKING:
    from lark import Token, Tree

_ID: Final = re.compile(r"[0-9a-fA-F]{4}(-[0-9a-fA-F]{4}){3}")
_NUMBER_DIGITS: Final = 18
_TIMEOUT_DIGITS: Final = 9


def build(text: str, tree: Tree[Any]) -> st.Statement:
    """Return the statement of a parsed text. Raises StatementError for a value that the grammar cannot check."""
    rule = tree.children[0]
    parts = _StatementTokens(text, list(rule.scan_values(lambda _: True)))
    return RULES[rule.data](parts)


class _StatementTokens:
    """The tokens of a statement, found by their terminals."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens

    def has(self, terminal: str) -> bool:
        return any(token.type == terminal for token in self.tokens)

    def all(self, terminal: str) -> list[Token]:
        return [token for token in self.tokens if token.type == terminal]

    def before(self, terminal: str) -> list[Token]:
        """Return the tokens directly before those of a terminal."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return [token for token, following in pairs if following.type == terminal]

    def one(self, *terminals: str) -> Token:
        return next(token for token in self.tokens if token.type in terminals)

    @property
    def job(self) -> st.Name:
        token = self.one("JOB_NAME", "JOB_ID")
        return _job_id(token) if token.type == "JOB_ID" else name_of(token)

    @property
    def table(self) -> st.TableIdentifier:
        names = self.all("TABLE_NAME")
        parts = tuple(unquote(name) if name.startswith("`") else str(name) for name in names)
        return st.TableIdentifier(parts, Span(token_place(names[0]).start, token_place(names[-1]).stop))

    @property
    def kind(self) -> st.TableKind:
        return st.TableKind.STREAMING_TABLE if self.has("STREAMING") else st.TableKind.MATERIALIZED_VIEW

    def rest(self, terminal: str) -> st.Rest:
        """Return the rest of the statement without closing semicolons."""
        place = token_place(self.one(terminal))
        found = [token for token in tokens(self.text, place.start)]
        while found[-1].text == ";":
            found.pop()
        stop = found[-1].stop
        return st.Rest(self.text[place.start : stop], Span(place.start, stop))

    @property
    def options(self) -> tuple[st.OptionText, ...]:
        pairs = zip(self.all("OPTION_KEY"), self.all("OPTION_VALUE"), strict=True)
        return tuple(
            st.OptionText(unquote(key), unquote(value), token_place(key), token_place(value)) for key, value in pairs
        )


def _create_job(parts: _StatementTokens) -> st.CreateJob:
    _refuse_with_if_not_exists(parts, "REPLACE")
    name = name_of(parts.one("NEW_JOB"))
    start = token_place(parts.one("BODY")).start
    expectations = read_expectations(parts.tokens)
    table = None
    if is_new_table(parts.text, start):
        body, table = with_expectations(*read_table_body(parts.text, start), expectations)
    else:
        body = replace(read_body(parts.text, start), expectations=expectations)
    return st.CreateJob(
        name=name,
        body=body,
        text=parts.text[token_place(parts.one("CREATE")).start : body.place.stop],
        or_replace=parts.has("REPLACE"),
        if_not_exists=parts.has("IF"),
        comment=unquote(parts.one("COMMENT_TEXT")) if parts.has("COMMENT_TEXT") else None,
        options=parts.options,
        start_mode=read_start_mode(parts.tokens),
        table=table,
    )


def _refuse_with_if_not_exists(parts: _StatementTokens, clause: str) -> None:
    """Refuse IF NOT EXISTS together with OR REPLACE or OR REFRESH. clause: its last word."""
    if parts.has(clause) and parts.has("IF"):
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            f"OR {clause} and IF NOT EXISTS cannot be combined.",
            place=token_place(parts.one("IF")),
            hint=f"Leave out OR {clause} or IF NOT EXISTS.",
        )


def _create_streaming_table(parts: _StatementTokens) -> st.CreateStreamingTable:
    _refuse_with_if_not_exists(parts, "REFRESH")
    kind, create = parts.kind, token_place(parts.one("CREATE"))
    start = TableStart(create.start, parts.table, parts.has("IF"), token_place(parts.one("TABLE_CLAUSES")).start)
    body, table = with_expectations(*read_new_table(parts.text, start), read_expectations(parts.tokens))
    return st.CreateStreamingTable(
        st.CreateJob(
            name=st.Name(str(table.name), table.name.place),
            body=body,
            text=parts.text[create.start : body.place.stop],
            or_replace=parts.has("OR"),
            if_not_exists=parts.has("IF"),
            options=parts.options,
            start_mode=read_start_mode(parts.tokens),
            table=table,
            kind=kind,
        ),
        kind,
    )


def _alter_streaming_table(parts: _StatementTokens) -> st.AlterStreamingTable:
    action = next(action for action in st.TableAction if parts.has(action.value))
    return st.AlterStreamingTable(parts.table, parts.kind, action, parts.options)


def _drop_job(parts: _StatementTokens) -> st.DropJob:
    snapshot = name_of(parts.one("SNAPSHOT_NAME")) if parts.has("SNAPSHOT_NAME") else None
    return st.DropJob(parts.job, if_exists=parts.has("IF"), with_snapshot=snapshot)


def _wait_for_job(parts: _StatementTokens) -> st.WaitForJob:
    goal = next((goal for goal in st.WaitGoal if parts.has(goal.value)), None)
    numbers = parts.all("WHOLE_NUMBER")
    batch = _number(numbers[0], _NUMBER_DIGITS) if goal is st.WaitGoal.BATCH else None
    timeout = _number(numbers[-1], _TIMEOUT_DIGITS) if parts.has("TIMEOUT") else None
    return st.WaitForJob(parts.job, goal, batch, timeout)


def _pattern(parts: _StatementTokens) -> str | None:
    return unquote(parts.one("PATTERN_TEXT")) if parts.has("PATTERN_TEXT") else None


def _create_function(parts: _StatementTokens) -> st.CreateFunction:
    _refuse_with_if_not_exists(parts, "REPLACE")
    for clause in ("LANGUAGE", "DETERMINISTIC", "HANDLER", "PARAMETER"):
        if len(parts.all(clause)) > 1:
            raise _syntax_error(f"{clause} is written twice.", parts.all(clause)[1])
    name, source = parts.one("NEW_FUNCTION"), parts.one("SOURCE")
    if not parts.has("LANGUAGE"):
        raise _syntax_error("The language of the function is missing.", source, "Write LANGUAGE PYTHON before AS.")
    if parts.has("PARAMETER") and not parts.has("HANDLER"):
        raise _syntax_error(
            "PARAMETER STYLE needs a HANDLER.",
            parts.one("PARAMETER"),
            "Write HANDLER 'name' with the name of a function that takes an iterator of batches and yields batches.",
        )
    columns, comment = _columns(parts)
    returns_at = token_place(parts.one("RETURNS")).start
    handler = parts.one("HANDLER_NAME") if parts.has("HANDLER_NAME") else None
    style = parts.one("PANDAS", "ARROW") if parts.has("PARAMETER") else None
    return st.CreateFunction(
        name=_qualified_name(name),
        place=token_place(name),
        parameters=tuple(column for column in columns if column.type_place.start < returns_at),
        returns=tuple(column for column in columns if column.type_place.start > returns_at),
        returns_table=parts.has("TABLE"),
        source=unquote(source),
        source_place=_content_place(source),
        handler=None if handler is None else unquote(handler),
        handler_place=None if handler is None else token_place(handler),
        style=None if style is None else st.ParameterStyle(style.type),
        style_place=None if style is None else token_place(style),
        deterministic=not any(before.type == "NOT" for before in parts.before("DETERMINISTIC")),
        comment=comment,
        or_replace=parts.has("REPLACE"),
        if_not_exists=parts.has("IF"),
    )


def _columns(parts: _StatementTokens) -> tuple[list[st.ColumnText], str | None]:
    """Return the parameters and returned columns of a function in their order, and the function's comment."""
    columns: list[st.ColumnText] = []
    comment: str | None = None
    name: Token | None = None
    depth = 0  # of parentheses: a comment within them belongs to a column
    for token in parts.tokens:
        depth += {"LPAR": 1, "RPAR": -1}.get(token.type, 0)
        if token.type == "COLUMN_NAME":
            name = token
        elif token.type == "DATA_TYPE":
            columns.append(_column(name if depth else None, token))
        elif token.type == "DEFAULT_VALUE":
            columns[-1] = replace(columns[-1], default=str(token), default_place=token_place(token))
        elif token.type == "COMMENT_TEXT" and depth:
            columns[-1] = replace(columns[-1], comment=unquote(token))
        elif token.type == "COMMENT_TEXT":
            if comment is not None:
                raise _syntax_error("COMMENT is written twice.", token)
            comment = unquote(token)
    return columns, comment


def _column(name: Token | None, kind: Token) -> st.ColumnText:
    """Return a column; without a name, it is the single value that a function returns."""
    if name is None:
        return st.ColumnText("", str(kind), token_place(kind), token_place(kind))
    return st.ColumnText(name_of(name).text, str(kind), token_place(name), token_place(kind))


def _qualified_name(token: Token) -> tuple[str, ...]:
    parts = [part for part in tokens(str(token)) if part.text != "."]
    if len(parts) > 3:
        raise StatementError(
            "INVALID_NAME",
            "A function's name has at most three parts: catalog, schema and name.",
            place=token_place(token),
        )
    return tuple(unquote(part.text) if part.kind is Kind.QUOTED else part.text for part in parts)


def _content_place(source: Token) -> Span:
    """Return the span of a string's content, without its quotes."""
    place = token_place(source)
    tag = source.index("$", 1) + 1 if source.startswith("$") else 2 if source[0] in "rR" else 1
    return Span(place.start + tag, place.stop - (tag if source.startswith("$") else 1))


def _syntax_error(message: str, token: Token, hint: str = "") -> StatementError:
    return StatementError("PARSE_SYNTAX_ERROR", message, place=token_place(token), hint=hint)


def _run_file(parts: _StatementTokens) -> st.RunFile:
    files = parts.all("FILE_NAME")
    return st.RunFile(tuple(map(unquote, files)), tuple(map(token_place, files)))


def _start_test(parts: _StatementTokens) -> st.StartTest:
    comment = unquote(parts.one("COMMENT_TEXT")) if parts.has("COMMENT_TEXT") else None
    return st.StartTest(name_of(parts.one("NEW_TEST")), comment)


def _expect_job(parts: _StatementTokens) -> st.ExpectJob:
    measure = st.JobMeasure.WATERMARK if parts.has("WATERMARK") else st.JobMeasure.LATE_ROWS
    return st.ExpectJob(parts.job, measure, parts.rest("TEST_VALUE"))


def _expect_error(parts: _StatementTokens) -> st.ExpectError:
    condition = parts.one("CONDITION_TEXT")
    if parts.has("TEST_STATEMENT"):
        return st.ExpectError(unquote(condition), token_place(condition), statement=parts.rest("TEST_STATEMENT"))
    return st.ExpectError(unquote(condition), token_place(condition), job=parts.job)


def _alter_user(parts: _StatementTokens) -> rights.AlterUser:
    user = name_of(parts.one("USER_NAME"))
    if not parts.has("SET") and not parts.has("RESET"):
        return rights.AlterUser(user, disable=parts.has("DISABLE"))
    names = parts.all("LIMIT_NAME")
    values: list[int | None] = [_number(token, _TIMEOUT_DIGITS) for token in parts.all("WHOLE_NUMBER")]
    seen: set[str] = set()
    for token in names:
        name = name_of(token).text.lower()
        if name in seen:
            raise _syntax_error(f"The limit {name} is written twice.", token, "Write it once.")
        seen.add(name)
    limits = tuple(zip(map(name_of, names), values or [None] * len(names), strict=True))
    return rights.AlterUser(user, limits=limits, reset_all=parts.has("ALL"))


def _create_token(parts: _StatementTokens) -> rights.CreateToken:
    days = _number(parts.one("WHOLE_NUMBER"), _TIMEOUT_DIGITS) if parts.has("EXPIRES") else None
    if days == 0:
        raise _syntax_error("A token cannot expire in 0 days.", parts.one("WHOLE_NUMBER"), "Write a number from 1.")
    comment = unquote(parts.one("COMMENT_TEXT")) if parts.has("COMMENT_TEXT") else None
    return rights.CreateToken(name_of(parts.one("USER_NAME")), days, comment)


def _rights(parts: _StatementTokens) -> tuple[st.Name, ...]:
    """Return the rights before ON, TO or FROM."""
    end = next(at for at, token in enumerate(parts.tokens) if token.type in ("ON", "TO", "FROM"))
    return tuple(_right(token) for token in parts.tokens[1:end] if token.type != "COMMA")


def _right(token: Token) -> st.Name:
    return st.Name(token.upper(), token_place(token))


def _engine(token: Token) -> rights.GrantedObject:
    return rights.GrantedObject(rights.RightsObject.ENGINE, st.TableIdentifier((), token_place(token)))


def _object(parts: _StatementTokens) -> rights.GrantedObject:
    """Return the object after ON or ALTER; the engine without one."""
    start = next((at for at, token in enumerate(parts.tokens) if token.type in ("ON", "ALTER")), None)
    if start is None:
        return _engine(parts.tokens[0])
    first = parts.tokens[start + 1]
    kind = {"ALL": rights.RightsObject.ALL_SCHEMAS, "JOBS": rights.RightsObject.JOBS_IN_SCHEMA}.get(first.type)
    kind = kind or rights.RightsObject[first.type]
    if kind is rights.RightsObject.JOB:
        job = parts.job
        return rights.GrantedObject(kind, st.TableIdentifier((job.text,), job.place), job)
    if parts.has("TABLE_NAME"):
        return rights.GrantedObject(kind, parts.table)
    if kind is rights.RightsObject.ALL_SCHEMAS:
        return rights.GrantedObject(kind, st.TableIdentifier((), token_place(first)))
    token = parts.one("CATALOG_NAME", "OBJECT_NAME", "LOCATION_URL")
    name = _quoted(token) if token.type == "LOCATION_URL" else name_of(token)
    return rights.GrantedObject(kind, st.TableIdentifier((name.text,), name.place))


def _secret_source(parts: _StatementTokens) -> connections.SecretSource | None:
    if not parts.has("FROM"):
        return None
    kind = connections.SourceKind.FILE if parts.has("FILE_NAME") else connections.SourceKind.ENV
    name = _quoted(parts.one("FILE_NAME", "VARIABLE_NAME"))
    if not name.text:
        raise StatementError("INVALID_NAME", "A secret needs a file or a variable.", place=name.place)
    return connections.SecretSource(kind, name)


def _create_secret(parts: _StatementTokens) -> connections.CreateSecret:
    _refuse_with_if_not_exists(parts, "REPLACE")
    source = _secret_source(parts)
    assert source is not None
    return connections.CreateSecret(
        name_of(parts.one("NEW_SECRET")),
        source,
        tuple(map(_quoted, parts.all("HOST_URL"))),
        unquote(parts.one("COMMENT_TEXT")) if parts.has("COMMENT_TEXT") else None,
        or_replace=parts.has("REPLACE"),
        if_not_exists=parts.has("IF"),
    )


def _create_connection(parts: _StatementTokens) -> connections.CreateConnection:
    _refuse_with_if_not_exists(parts, "REPLACE")
    return connections.CreateConnection(
        name_of(parts.one("NEW_CONNECTION")),
        next(kind for kind in connections.ConnectionType if parts.has(kind.name)),
        parts.options,
        unquote(parts.one("COMMENT_TEXT")) if parts.has("COMMENT_TEXT") else None,
        or_replace=parts.has("REPLACE"),
        if_not_exists=parts.has("IF"),
    )


def _create_alert(parts: _StatementTokens) -> alerts.CreateAlert:
    _refuse_with_if_not_exists(parts, "REPLACE")
    condition, call = _alert_condition(parts), _alert_call(parts)
    assert condition is not None and call is not None
    return alerts.CreateAlert(
        name_of(parts.one("NEW_ALERT")),
        None if parts.has("ALL") else parts.job,
        condition,
        call,
        parts.options,
        unquote(parts.one("COMMENT_TEXT")) if parts.has("COMMENT_TEXT") else None,
        disable=parts.has("DISABLE"),
        or_replace=parts.has("REPLACE"),
        if_not_exists=parts.has("IF"),
    )


def _alter_alert(parts: _StatementTokens) -> alerts.AlterAlert:
    enable = parts.has("ENABLE") if parts.has("ENABLE") or parts.has("DISABLE") else None
    return alerts.AlterAlert(
        name_of(parts.one("ALERT_NAME")), _alert_condition(parts), _alert_call(parts), parts.options, enable
    )


def _alert_condition(parts: _StatementTokens) -> alerts.AlertCondition | None:
    if parts.has("STATUS"):
        statuses = parts.all("STATUS_NAME")
        names = tuple(dict.fromkeys(name_of(status).text.upper() for status in statuses))
        return alerts.AlertCondition(alerts.AlertTrigger.STATUS, names, place=token_place(statuses[0]))
    if parts.has("EXPECTATION"):
        limit = _number(parts.one("WHOLE_NUMBER"), _NUMBER_DIGITS) if parts.has("WHOLE_NUMBER") else 0
        rule = name_of(parts.one("RULE_NAME")) if parts.has("RULE_NAME") else st.Name("", Span(0, 0))
        return alerts.AlertCondition(alerts.AlertTrigger.EXPECTATION, limit=limit, rule=rule.text, place=rule.place)
    if not parts.has("LAG") and not parts.has("COMMIT"):
        return None
    number = parts.one("WHOLE_NUMBER")
    if parts.has("ROWS"):
        return alerts.AlertCondition(alerts.AlertTrigger.LAG_ROWS, limit=_number(number, _NUMBER_DIGITS))
    length = next(length for unit, length in alerts.UNITS.items() if parts.has(unit) or parts.has(f"{unit}S"))
    trigger = alerts.AlertTrigger.LAG_SECONDS if parts.has("LAG") else alerts.AlertTrigger.NO_COMMIT
    limit = _number(number, _TIMEOUT_DIGITS) * length
    if trigger is alerts.AlertTrigger.NO_COMMIT and limit == 0:
        raise _syntax_error("The time without a commit cannot be 0.", number, "Write a number from 1.")
    return alerts.AlertCondition(trigger, limit=limit)


def _alert_call(parts: _StatementTokens) -> alerts.AlertCall | None:
    if not parts.has("CALL"):
        return None
    if parts.has("COMMAND"):
        return alerts.AlertCall(name_of(parts.one("COMMAND_NAME")), is_command=True)
    return alerts.AlertCall(_quoted(parts.one("CALL_URL")))


# The function for each statement rule of the grammar.
RULES: Final[dict[str, Callable[[_StatementTokens], st.Statement]]] = {
    "create_job": _create_job,
    "suspend_job": lambda parts: st.SuspendJob(parts.job),
    "resume_job": lambda parts: st.ResumeJob(parts.job),
    "restart_job": lambda parts: st.RestartJob(parts.job),
    "alter_job_options": lambda parts: st.AlterJobOptions(parts.job, parts.options, resume=parts.has("RESUME")),
    "drop_job": _drop_job,
    "wait_for_job": _wait_for_job,
    "create_snapshot": lambda parts: st.CreateSnapshot(
        name_of(parts.one("NEW_SNAPSHOT")), parts.job, or_replace=parts.has("REPLACE")
    ),
    "drop_snapshot": lambda parts: st.DropSnapshot(name_of(parts.one("SNAPSHOT_NAME")), if_exists=parts.has("IF")),
    "show_snapshots": lambda parts: st.ShowSnapshots(parts.job if parts.has("JOB") else None),
    "show_jobs": lambda parts: st.ShowJobs(all_jobs=parts.has("ALL"), pattern=_pattern(parts)),
    "show_members": lambda parts: st.ShowMembers(),
    "show_engines": lambda parts: st.ShowEngines(),
    "describe_job": lambda parts: st.DescribeJob(parts.job, extended=parts.has("EXTENDED")),
    "show_create_job": lambda parts: st.ShowCreateJob(parts.job),
    "show_job_history": lambda parts: st.ShowJobHistory(parts.job),
    "explain_create_job": lambda parts: st.ExplainCreateJob(_create_job(parts), formatted=parts.has("FORMATTED")),
    "create_function": _create_function,
    "create_streaming_table": _create_streaming_table,
    "drop_streaming_table": lambda parts: st.DropStreamingTable(parts.table, parts.kind, if_exists=parts.has("IF")),
    "refresh_streaming_table": lambda parts: st.RefreshStreamingTable(parts.table, parts.kind),
    "alter_streaming_table": _alter_streaming_table,
    "show_streaming_tables": lambda parts: st.ShowStreamingTables(parts.kind, _pattern(parts)),
    "show_create_streaming_table": lambda parts: st.ShowCreateStreamingTable(parts.table, parts.kind),
    "explain_create_streaming_table": lambda parts: st.ExplainCreateStreamingTable(
        _create_streaming_table(parts), formatted=parts.has("FORMATTED")
    ),
    "create_user": lambda parts: rights.CreateUser(name_of(parts.one("NEW_USER")), if_not_exists=parts.has("IF")),
    "alter_user": _alter_user,
    "drop_user": lambda parts: rights.DropUser(name_of(parts.one("USER_NAME")), if_exists=parts.has("IF")),
    "create_role": lambda parts: rights.CreateRole(name_of(parts.one("NEW_ROLE")), if_not_exists=parts.has("IF")),
    "drop_role": lambda parts: rights.DropRole(name_of(parts.one("ROLE_NAME")), if_exists=parts.has("IF")),
    "create_token": _create_token,
    "drop_token": lambda parts: rights.DropToken(_quoted(parts.one("TOKEN_ID")), if_exists=parts.has("IF")),
    "grant_rights": lambda parts: rights.GrantRights(
        _rights(parts), _object(parts), name_of(parts.one("GRANTEE_NAME")), with_option=parts.has("OPTION")
    ),
    "grant_role": lambda parts: rights.GrantRole(name_of(parts.one("ROLE_NAME")), name_of(parts.one("GRANTEE_NAME"))),
    "revoke_rights": lambda parts: rights.RevokeRights(
        _rights(parts), _object(parts), name_of(parts.one("GRANTEE_NAME"))
    ),
    "revoke_role": lambda parts: rights.RevokeRole(name_of(parts.one("ROLE_NAME")), name_of(parts.one("GRANTEE_NAME"))),
    "alter_owner": lambda parts: rights.AlterOwner(_object(parts), name_of(parts.one("USER_NAME"))),
    "reassign_owned": lambda parts: rights.ReassignOwned(*map(name_of, parts.all("USER_NAME"))),
    "show_users": lambda parts: rights.ShowUsers(),
    "show_roles": lambda parts: rights.ShowRoles(),
    "show_tokens": lambda parts: rights.ShowTokens(name_of(parts.one("USER_NAME")) if parts.has("USER_NAME") else None),
    "show_grants": lambda parts: rights.ShowGrants(
        name_of(parts.one("GRANTEE_NAME")) if parts.has("GRANTEE_NAME") else None,
        _object(parts) if parts.has("ON") else None,
    ),
    "create_secret": _create_secret,
    "alter_secret": lambda parts: connections.AlterSecret(
        name_of(parts.one("OBJECT_NAME")), _secret_source(parts), tuple(map(_quoted, parts.all("HOST_URL")))
    ),
    "drop_secret": lambda parts: connections.DropSecret(name_of(parts.one("OBJECT_NAME")), if_exists=parts.has("IF")),
    "show_secrets": lambda parts: connections.ShowSecrets(),
    "create_connection": _create_connection,
    "alter_connection": lambda parts: connections.AlterConnection(name_of(parts.one("OBJECT_NAME")), parts.options),
    "drop_connection": lambda parts: connections.DropConnection(
        name_of(parts.one("OBJECT_NAME")), if_exists=parts.has("IF")
    ),
    "show_connections": lambda parts: connections.ShowConnections(),
    "describe_connection": lambda parts: connections.DescribeConnection(name_of(parts.one("OBJECT_NAME"))),
    "create_alert": _create_alert,
    "alter_alert": _alter_alert,
    "drop_alert": lambda parts: alerts.DropAlert(name_of(parts.one("ALERT_NAME")), if_exists=parts.has("IF")),
    "show_alerts": lambda parts: alerts.ShowAlerts(),
    "show_create_alert": lambda parts: alerts.ShowCreateAlert(name_of(parts.one("ALERT_NAME"))),
    "run_file": _run_file,
    "start_test": _start_test,
    "run_jobs": lambda parts: st.RunJobs(),
    "advance_clock": lambda parts: st.AdvanceClock(parts.rest("TEST_VALUE"), by_interval=parts.has("BY")),
    "expect_table": lambda parts: st.ExpectTable(
        parts.table, parts.rest("TEST_QUERY"), tuple(map(name_of, parts.all("COLUMN_NAME")))
    ),
    "expect_no_rows": lambda parts: st.ExpectNoRows(parts.rest("TEST_QUERY")),
    "expect_job": _expect_job,
    "expect_error": _expect_error,
}


def _quoted(token: Token) -> st.Name:
    return st.Name(unquote(token), token_place(token))


def _job_id(token: Token) -> st.Name:
    text = unquote(token)
    if not _ID.fullmatch(text):
        raise StatementError(
            "INVALID_NAME",
            f"{token} is not a job id such as '0401-9f77-b9c0-0001'; names are not written as strings.",
            place=token_place(token),
            hint="Write a name without quotes or in back quotes.",
        )
    return st.Name(text, token_place(token), is_id=True)


def _number(token: Token, digits: int) -> int:
    if len(token) > digits:
        raise StatementError(
            "PARSE_SYNTAX_ERROR", f"The number has more than {digits} digits.", place=token_place(token)
        )
    return int(token)
