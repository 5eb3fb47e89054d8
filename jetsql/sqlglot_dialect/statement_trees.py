"""Make expressions of sqlglot from JetSQL's statements. docs/reference/sqlglot.md describes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_args

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from jetsql.language import statement as st
from jetsql.language.body.expectations import rule_text
from jetsql.language.objects.alert_statement import AlertStatement
from jetsql.language.objects.connection_statement import ConnectionStatement
from jetsql.language.objects.rights_statement import RightsStatement
from jetsql.language.tokens import tokens
from jetsql.sqlglot_dialect.body_trees import BodyTrees
from jetsql.sqlglot_dialect.generate_sql import EXPECTATIONS, JOB, SNAPSHOT, START_MODE, WAIT
from jetsql.sqlglot_dialect.sqlglot_tokens import Place


class StatementTrees:
    """Make the expression of one statement."""

    def __init__(self, spark: Dialect, text: str, place: Place, script: str) -> None:
        """Create it. text: the statement. place: of the statement in the script."""
        self._text = text
        self._bodies = BodyTrees(spark, text, place, script)

    def tree(self, statement: st.Statement) -> exp.Expression:
        """Return the expression of a statement."""
        return _TREES[type(statement)](self, statement)

    def _name(self, name: st.Name) -> exp.Expression:
        if name.is_id:
            return exp.Literal.string(name.text)
        return exp.Identifier(this=name.text, quoted=self._text[name.place.start] == "`")

    def _table(self, table: st.TableIdentifier) -> exp.Table:
        written = self._text[table.place.start : table.place.stop]
        quoted = "`" in written
        names = [exp.Identifier(this=part, quoted=quoted) for part in table.parts]
        parts = dict(zip(("this", "db", "catalog"), reversed(names), strict=False))
        return exp.Table(**parts)

    def _create_job(self, statement: st.CreateJob) -> exp.Expression:
        properties: list[exp.Expression] = []
        if statement.comment is not None:
            properties.append(exp.SchemaCommentProperty(this=exp.Literal.string(statement.comment)))
        properties += _options(statement.options)
        return exp.Create(
            this=self._name(statement.name),
            kind=JOB,
            replace=statement.or_replace,
            exists=statement.if_not_exists,
            properties=exp.Properties(expressions=properties) if properties else None,
            expression=self._bodies.tree(statement.body),
            **_expectations(statement.body),
            **_start_mode(statement),
        )

    def _create_streaming_table(self, statement: st.CreateStreamingTable) -> exp.Expression:
        create = statement.create
        table = create.table
        assert table is not None
        tree = self._bodies.clauses_tree(table)
        tree.set("this", self._table(table.name))
        tree.set("kind", statement.kind.value)
        tree.set("refresh", create.or_replace)
        tree.set("exists", create.if_not_exists)
        tree.set("job_options", _options(create.options) or None)
        for name, part in {**_expectations(create.body), **_start_mode(create)}.items():
            tree.set(name, part)
        return tree

    def _create_function(self, statement: st.CreateFunction) -> exp.Expression:
        properties: list[exp.Expression] = [self._returns(statement), exp.LanguageProperty(this=exp.Var(this="PYTHON"))]
        if not statement.deterministic:
            properties.append(exp.StabilityProperty(this=exp.Literal.string("VOLATILE")))
        if statement.comment is not None:
            properties.append(exp.SchemaCommentProperty(this=exp.Literal.string(statement.comment)))
        if statement.handler is not None:
            properties.append(_property("HANDLER", statement.handler))
        if statement.style is not None:
            properties.append(_property("PARAMETER STYLE", statement.style.value))
        name = self._table(st.TableIdentifier(statement.name, statement.place))
        parameters = [self._column(column) for column in statement.parameters]
        return exp.Create(
            this=exp.UserDefinedFunction(this=name, expressions=parameters, wrapped=True),
            kind="FUNCTION",
            replace=statement.or_replace,
            exists=statement.if_not_exists,
            properties=exp.Properties(expressions=properties),
            expression=exp.Heredoc(this=statement.source),
        )

    def _returns(self, statement: st.CreateFunction) -> exp.Expression:
        if not statement.returns_table:
            return exp.ReturnsProperty(this=exp.Var(this=statement.returns[0].type))
        columns = [self._column(column) for column in statement.returns]
        return exp.ReturnsProperty(this=exp.Schema(expressions=columns), is_table=True)

    def _column(self, column: st.ColumnText) -> exp.Expression:
        quoted = self._text[column.place.start] == "`"
        tree = exp.ColumnDef(this=exp.Identifier(this=column.name, quoted=quoted), kind=exp.Var(this=column.type))
        if column.default is not None:
            tree.set("default", exp.Var(this=column.default))
        if column.comment is not None:
            tree.set("comment", exp.Literal.string(column.comment))
        return tree

    def _alter(self, job: st.Name, *actions: str) -> exp.Expression:
        return exp.Alter(this=self._name(job), kind=JOB, actions=[exp.Var(this=action) for action in actions])

    def _alter_options(self, statement: st.AlterJobOptions) -> exp.Expression:
        tree = self._alter(statement.name, *(["RESUME"] if statement.resume else []))
        tree.set("actions", [exp.Properties(expressions=_options(statement.options)), *tree.args["actions"]])
        return tree

    def _alter_table(self, statement: st.AlterStreamingTable) -> exp.Expression:
        action: exp.Expression = exp.Var(this=statement.action.value)
        if statement.action is st.TableAction.OPTIONS:
            action = exp.Properties(expressions=_options(statement.options))
        return exp.Alter(this=self._table(statement.table), kind=statement.kind.value, actions=[action])

    def _drop_job(self, statement: st.DropJob) -> exp.Expression:
        tree = exp.Drop(this=self._name(statement.name), kind=JOB, exists=statement.if_exists)
        if statement.with_snapshot is not None:
            tree.set("snapshot", self._name(statement.with_snapshot))
        return tree

    def _wait(self, statement: st.WaitForJob) -> exp.Expression:
        tree = exp.Command(this=WAIT, expression=self._name(statement.name))
        if statement.goal is not None:
            tree.set("goal", exp.Var(this=statement.goal.value))
        if statement.batch is not None:
            tree.set("batch", exp.Literal.number(statement.batch))
        if statement.timeout is not None:
            tree.set("timeout", exp.Literal.number(statement.timeout))
        return tree

    def _create_snapshot(self, statement: st.CreateSnapshot) -> exp.Expression:
        tree = exp.Create(this=self._name(statement.snapshot), kind=SNAPSHOT, replace=statement.or_replace)
        tree.set("job", self._name(statement.job))
        return tree

    def _show(self, what: str, target: exp.Expression | None = None, pattern: str | None = None) -> exp.Expression:
        tree = exp.Show(this=what, jetsql=True)
        if target is not None:
            tree.set("target", target)
        if pattern is not None:
            tree.set("like", exp.Literal.string(pattern))
        return tree

    def _show_jobs(self, statement: st.ShowJobs) -> exp.Expression:
        tree = self._show("JOBS", pattern=statement.pattern)
        if statement.all_jobs:
            tree.set("full", True)
        return tree

    def _show_snapshots(self, statement: st.ShowSnapshots) -> exp.Expression:
        if statement.job is None:
            return self._show("SNAPSHOTS")
        return self._show("SNAPSHOTS FOR JOB", self._name(statement.job))

    def _explain(self, statement: st.ExplainCreateJob | st.ExplainCreateStreamingTable) -> exp.Expression:
        style = "FORMATTED" if statement.formatted else None
        return exp.Describe(this=self.tree(statement.create), style=style)

    def _describe(self, statement: st.DescribeJob) -> exp.Expression:
        style = "EXTENDED" if statement.extended else None
        return exp.Describe(this=self._name(statement.name), kind=JOB, style=style)

    def _as_text(self, statement: st.Statement) -> exp.Expression:
        """Return a statement about rights, connections, alerts or of a test file with its text: tools leave them."""
        first = next(tokens(self._text))
        text = self._text[first.start :]
        verb, rest = text[: len(first.text)], text[len(first.text) :]
        return exp.Command(this=verb.upper(), expression=rest.rstrip("; \t\r\n"))


def _expectations(body: st.Body) -> dict[str, list[exp.Expression]]:
    """Return the rules of a statement by the name of their argument; empty for a statement without rules."""
    return {EXPECTATIONS: [exp.Var(this=rule_text(rule)) for rule in body.expectations]} if body.expectations else {}


def _start_mode(statement: st.CreateJob) -> dict[str, exp.Expression]:
    """Return the value of START_MODE by the name of its argument; empty for a statement without the clause."""
    return {} if statement.start_mode is None else {START_MODE: exp.Var(this=statement.start_mode.text)}


def _options(options: Iterable[st.OptionText]) -> list[exp.Expression]:
    return [_property(option.key, option.value) for option in options]


def _property(key: str, value: str) -> exp.Expression:
    return exp.Property(this=exp.Literal.string(key), value=exp.Literal.string(value))


_TREES: Final[Mapping[type, Callable[[StatementTrees, Any], exp.Expression]]] = {
    st.CreateJob: StatementTrees._create_job,
    st.SuspendJob: lambda trees, statement: trees._alter(statement.name, "SUSPEND"),
    st.ResumeJob: lambda trees, statement: trees._alter(statement.name, "RESUME"),
    st.RestartJob: lambda trees, statement: trees._alter(statement.name, "RESTART"),
    st.AlterJobOptions: StatementTrees._alter_options,
    st.DropJob: StatementTrees._drop_job,
    st.WaitForJob: StatementTrees._wait,
    st.CreateSnapshot: StatementTrees._create_snapshot,
    st.DropSnapshot: lambda trees, statement: exp.Drop(
        this=trees._name(statement.snapshot), kind=SNAPSHOT, exists=statement.if_exists
    ),
    st.ShowSnapshots: StatementTrees._show_snapshots,
    st.ShowJobs: StatementTrees._show_jobs,
    st.ShowMembers: lambda trees, statement: trees._show("MEMBERS"),
    st.ShowEngines: lambda trees, statement: trees._show("ENGINES"),
    st.DescribeJob: StatementTrees._describe,
    st.ShowCreateJob: lambda trees, statement: trees._show("CREATE JOB", trees._name(statement.name)),
    st.ShowJobHistory: lambda trees, statement: trees._show("JOB HISTORY", trees._name(statement.name)),
    st.ExplainCreateJob: StatementTrees._explain,
    st.CreateFunction: StatementTrees._create_function,
    st.CreateStreamingTable: StatementTrees._create_streaming_table,
    st.DropStreamingTable: lambda trees, statement: exp.Drop(
        this=trees._table(statement.table), kind=statement.kind.value, exists=statement.if_exists
    ),
    st.RefreshStreamingTable: lambda trees, statement: exp.Refresh(
        this=trees._table(statement.table), kind=statement.kind.value
    ),
    st.AlterStreamingTable: StatementTrees._alter_table,
    st.ShowStreamingTables: lambda trees, statement: trees._show(f"{statement.kind.value}S", pattern=statement.pattern),
    st.ShowCreateStreamingTable: lambda trees, statement: trees._show(
        f"CREATE {statement.kind.value}", trees._table(statement.table)
    ),
    st.ExplainCreateStreamingTable: StatementTrees._explain,
    **dict.fromkeys(
        (*get_args(RightsStatement), *get_args(ConnectionStatement), *get_args(AlertStatement)),
        StatementTrees._as_text,
    ),
    **dict.fromkeys(get_args(st.TestStatement), StatementTrees._as_text),
}
