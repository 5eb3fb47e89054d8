"""Generate the SQL of JetSQL's expressions: statements here, queries and bodies by sqlglot's generator for Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from jetsql.jobs.model.job import quoted_text
from jetsql.sqlglot_dialect.faithful_trees import WRITTEN, kept_text, with_texts
from jetsql.sqlglot_dialect.multiple_inserts import inserts_parts
from jetsql.sqlglot_dialect.sqlglot_calls import generate
from jetsql.sqlglot_dialect.stream_clauses import CLAUSES, lower_clauses

JOB: Final = "JOB"
SNAPSHOT: Final = "SNAPSHOT"
TABLE_KINDS: Final = ("STREAMING TABLE", "MATERIALIZED VIEW")
WAIT: Final = "WAIT FOR JOB"
EXPECTATIONS: Final = "expectations"
START_MODE: Final = "start_mode"
_KINDS: Final = (JOB, SNAPSHOT, *TABLE_KINDS)
# Marks the INSERT of a SINK INTO in the generated text. No statement has it: it is no character.
_SINK: Final = "\ue000SINK"


def generate_sql(spark: Dialect, tree: exp.Expression, copy: bool, opts: Mapping[str, Any]) -> str:
    """Return the SQL of an expression."""
    if isinstance(tree, exp.Describe) and _is_ours(tree.this):
        style = f" {tree.args['style']}" if tree.args.get("style") else ""
        return _commented(tree, f"EXPLAIN{style} {_statement(spark, tree.this, opts)}", opts)
    if _is_ours(tree):
        return _commented(tree, _statement(spark, tree, opts), opts)
    return body_sql(spark, tree, opts) if _has_clauses(tree) else generate(spark, tree, copy, **opts)


def body_sql(spark: Dialect, tree: exp.Expression, opts: Mapping[str, Any]) -> str:
    """Return the SQL of a body or a query. Raises UnsupportedError for a changed tree that keeps its text."""

    def write(plain: exp.Expression) -> str:
        return _generated(spark, plain.copy(), {"comments": False})

    text = kept_text(tree, write)
    return _generated(spark, with_texts(tree, write), opts) if text is None else text


def _generated(spark: Dialect, lowered: exp.Expression, opts: Mapping[str, Any]) -> str:
    """Return the SQL of a body or a query that sqlglot writes. Changes the tree."""
    inserts = inserts_parts(lowered)
    if inserts is not None:
        texts = (f"{before}{_generated(spark, part, opts)}" for before, part in inserts)
        return _commented(lowered, _separator(opts).join(texts), opts)
    if isinstance(lowered, exp.Insert) and lowered.args.get("auto_cdc"):
        return _auto_cdc_sql(spark, lowered, opts)
    for insert in list(lowered.find_all(exp.Insert)):
        if insert.args.get("sink"):
            insert.set("sink", None)
            insert.set("hint", exp.Var(this=_SINK))
    text = generate(spark, lower_clauses(lowered), copy=False, **opts)
    return text.replace(f"INSERT{_SINK}", "SINK")


def table_clauses_sql(spark: Dialect, table: exp.Expression, opts: Mapping[str, Any]) -> str:
    """Return the SQL of the clauses after a table's name. Raises UnsupportedError as `body_sql`."""

    def write(plain: exp.Expression, options: Mapping[str, Any]) -> str:
        named = plain.copy()
        for name in ("refresh", "exists", "job_options", EXPECTATIONS):
            named.set(name, None)
        named.set("kind", "TABLE")
        named.set("this", exp.Table(this=exp.Identifier(this="x", quoted=False)))
        return body_sql(spark, named, options).removeprefix("CREATE TABLE x").lstrip()

    text = kept_text(table, lambda plain: write(plain, {"comments": False}))
    return write(table, opts) if text is None else text


def _auto_cdc_sql(spark: Dialect, tree: exp.Insert, opts: Mapping[str, Any]) -> str:
    def sql(part: exp.Expression) -> str:
        return body_sql(spark, part, opts)

    args = tree.args
    source = tree.expression.args.get("from_") or tree.expression.args["from"]
    relation = body_sql(spark, source, opts).strip()
    lines = [f"AUTO CDC INTO {sql(tree.this)}", relation, f"KEYS ({', '.join(map(sql, args['keys']))})"]
    if args.get("delete_when") is not None:
        lines.append(f"APPLY AS DELETE WHEN {sql(args['delete_when'])}")
    lines.append(f"SEQUENCE BY {sql(args['sequence_by'])}")
    if args.get("cdc_columns") is not None:
        lines.append(args["cdc_columns"].name)
    if args.get("scd_type") is not None:
        lines.append(f"STORED AS SCD TYPE {args['scd_type'].name}")
    return _separator(opts).join(lines)


def _is_ours(tree: Any) -> bool:
    if isinstance(tree, (exp.Create, exp.Drop, exp.Alter, exp.Refresh, exp.Describe)) and tree.args.get("kind"):
        return str(tree.args["kind"]) in _KINDS or _is_python_function(tree)
    if isinstance(tree, exp.Show):
        return bool(tree.args.get("jetsql"))
    return isinstance(tree, exp.Command) and tree.this == WAIT


def _is_python_function(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Create) and isinstance(tree.expression, exp.Heredoc)


def _has_clauses(tree: exp.Expression) -> bool:
    if inserts_parts(tree) is not None or any(WRITTEN in node.args for node in tree.walk()):
        return True
    names = (*CLAUSES, "version", "sink", "auto_cdc", "within")
    kinds = (exp.Insert, exp.Table, exp.Subquery, exp.MatchRecognize)
    return any(node.args.get(name) for node in tree.find_all(*kinds) for name in names)


def _commented(tree: exp.Expression, text: str, opts: Mapping[str, Any]) -> str:
    if not tree.comments or not opts.get("comments", True):
        return text
    comments = " ".join(f"/*{_padded(comment)}*/" for comment in tree.comments)
    return f"{comments}{_separator(opts)}{text}"


def _padded(comment: str) -> str:
    """Return a comment with a space at each end, without marks that would end it or begin another one."""
    safe = comment.replace("*/", "* /").replace("/*", "/ *")
    return f"{'' if safe[:1].isspace() else ' '}{safe}{'' if safe[-1:].isspace() else ' '}"


def _separator(opts: Mapping[str, Any]) -> str:
    return "\n" if opts.get("pretty") else " "


def _statement(spark: Dialect, tree: exp.Expression, opts: Mapping[str, Any]) -> str:
    return _Statements(spark, opts).text(tree)


class _Statements:
    """Write JetSQL's statements."""

    def __init__(self, spark: Dialect, opts: Mapping[str, Any]) -> None:
        self._spark = spark
        self._opts = opts

    def text(self, tree: exp.Expression) -> str:
        kind = str(tree.args.get("kind") or "")
        if isinstance(tree, exp.Create):
            if _is_python_function(tree):
                return self._function(tree)
            if kind in TABLE_KINDS:
                return self._table(tree, kind)
            return self._job(tree) if kind == JOB else self._snapshot(tree)
        return _WRITERS[type(tree)](self, tree, kind)

    def sql(self, tree: Any) -> str:
        """Return the SQL of a name or another part."""
        return "" if tree is None else body_sql(self._spark, tree, {"identify": self._opts.get("identify", False)})

    def _job(self, tree: exp.Create) -> str:
        properties = tree.args.get("properties")
        found = [] if properties is None else properties.expressions
        comment = next((each for each in found if isinstance(each, exp.SchemaCommentProperty)), None)
        head = [
            _create(tree, "OR REPLACE" if tree.args.get("replace") else ""),
            JOB,
            *_exists(tree),
            self.sql(tree.this),
        ]
        parts = [" ".join(head) + self._expectations(tree)]
        if comment is not None:
            parts.append(f"COMMENT {quoted_text(comment.this.name)}")
        options = [each for each in found if type(each) is exp.Property]  # a comment is of a subclass
        if options:
            parts.append(self._options(options))
        parts += self._start_mode(tree)
        parts[-1] += " AS"
        parts.append(body_sql(self._spark, tree.expression, self._opts))
        return _separator(self._opts).join(parts)

    def _expectations(self, tree: exp.Create) -> str:
        rules = [rule.name for rule in tree.args.get(EXPECTATIONS) or ()]
        if not rules:
            return ""
        return " (\n  " + ",\n  ".join(rules) + "\n)" if self._opts.get("pretty") else f" ({', '.join(rules)})"

    def _start_mode(self, tree: exp.Create) -> list[str]:
        mode = tree.args.get(START_MODE)
        return [] if mode is None else [f"START_MODE = {mode.name}"]

    def _options(self, options: Iterable[exp.Expression]) -> str:
        pairs = [f"{quoted_text(option.name)} = {quoted_text(option.text('value'))}" for option in options]
        if not self._opts.get("pretty") or len(pairs) == 1:
            return f"OPTIONS ({', '.join(pairs)})"
        lines = ",\n".join(f"  {pair}" for pair in pairs)
        return f"OPTIONS (\n{lines}\n)"

    def _snapshot(self, tree: exp.Create) -> str:
        create = _create(tree, "OR REPLACE" if tree.args.get("replace") else "")
        return f"{create} SNAPSHOT {self.sql(tree.this)} FOR JOB {self.sql(tree.args['job'])}"

    def _table(self, tree: exp.Create, kind: str) -> str:
        plain = tree.copy()
        refresh = "OR REFRESH" if plain.args.get("refresh") else ""
        head = " ".join([_create(plain, refresh), kind, *_exists(plain), self.sql(plain.this)])
        head += self._expectations(plain)
        options = plain.args.get("job_options")
        if options:
            head = f"{head} JOB {self._options(options)}"
        head = " ".join([head, *self._start_mode(plain)])
        if isinstance(plain.expression, exp.Command):
            command = plain.expression
            return f"{head} {generate(self._spark, command)}"
        return f"{head}{_separator(self._opts)}{table_clauses_sql(self._spark, plain, self._opts)}"

    def _function(self, tree: exp.Create) -> str:
        create = _create(tree, "OR REPLACE" if tree.args.get("replace") else "")
        function = tree.this
        parameters = ", ".join(map(self._column, function.expressions))
        clauses = [self._clause(each) for each in tree.args["properties"].expressions]
        source = tree.expression.name
        tag = "$$" if "$$" not in source else f"${_unused_tag(source)}$"
        name = self.sql(function.this)
        head = " ".join([create, "FUNCTION", *_exists(tree), f"{name}({parameters})"])
        return _separator(self._opts).join([head, *clauses, f"AS {tag}{source}{tag}"])

    def _clause(self, tree: exp.Expression) -> str:
        if isinstance(tree, exp.ReturnsProperty):
            if tree.args.get("is_table"):
                return f"RETURNS TABLE ({', '.join(map(self._column, tree.this.expressions))})"
            return f"RETURNS {tree.this.name}"
        if isinstance(tree, exp.SchemaCommentProperty):
            return f"COMMENT {quoted_text(tree.this.name)}"
        if isinstance(tree, exp.LanguageProperty):
            return f"LANGUAGE {tree.name}"
        if isinstance(tree, exp.StabilityProperty):
            return "NOT DETERMINISTIC"
        key, value = tree.this.name, tree.args["value"].name
        return f"HANDLER {quoted_text(value)}" if key == "HANDLER" else f"PARAMETER STYLE {value}"

    def _column(self, tree: exp.Expression) -> str:
        parts = [self.sql(tree.this), tree.args["kind"].name]
        if tree.args.get("default") is not None:
            parts.append(f"DEFAULT {tree.args['default'].name}")
        if tree.args.get("comment") is not None:
            parts.append(f"COMMENT {quoted_text(tree.args['comment'].name)}")
        return " ".join(parts)

    def _drop(self, tree: exp.Expression, kind: str) -> str:
        exists = ["IF EXISTS"] if tree.args.get("exists") else []
        last = tree.args.get("snapshot")
        snapshot = [] if last is None else [f"WITH SNAPSHOT {self.sql(last)}"]
        return " ".join(["DROP", kind, *exists, self.sql(tree.this), *snapshot])

    def _alter(self, tree: exp.Expression, kind: str) -> str:
        actions = [self._action(action, kind) for action in tree.args["actions"]]
        if kind == JOB and len(actions) == 1 and not isinstance(tree.args["actions"][0], exp.Properties):
            return f"{actions[0]} JOB {self.sql(tree.this)}"
        return " ".join(["ALTER", kind, self.sql(tree.this), *actions])

    def _action(self, action: exp.Expression, kind: str) -> str:
        if not isinstance(action, exp.Properties):
            return action.name
        return self._options(action.expressions) if kind == JOB else f"JOB {self._options(action.expressions)}"

    def _refresh(self, tree: exp.Expression, kind: str) -> str:
        return f"REFRESH {kind} {self.sql(tree.this)}"

    def _describe(self, tree: exp.Expression, kind: str) -> str:
        style = [str(tree.args["style"])] if tree.args.get("style") else []
        return " ".join(["DESCRIBE", kind, *style, self.sql(tree.this)])

    def _show(self, tree: exp.Expression, _kind: str) -> str:
        every = ["ALL"] if tree.args.get("full") else []
        target, like = tree.args.get("target"), tree.args.get("like")
        about = [] if target is None else [self.sql(target)]
        pattern = [] if like is None else [f"LIKE {quoted_text(like.name)}"]
        return " ".join(["SHOW", *every, tree.name, *about, *pattern])

    def _wait(self, tree: exp.Expression, _kind: str) -> str:
        parts = [WAIT, self.sql(tree.expression)]
        if tree.args.get("goal") is not None:
            parts.append(f"UNTIL {tree.args['goal'].name}")
        if tree.args.get("batch") is not None:
            parts.append(tree.args["batch"].name)
        if tree.args.get("timeout") is not None:
            parts.append(f"TIMEOUT {tree.args['timeout'].name} SECONDS")
        return " ".join(parts)


_WRITERS: Final[Mapping[Any, Callable[[_Statements, exp.Expression, str], str]]] = {
    exp.Drop: _Statements._drop,
    exp.Alter: _Statements._alter,
    exp.Refresh: _Statements._refresh,
    exp.Describe: _Statements._describe,
    exp.Show: _Statements._show,
    exp.Command: _Statements._wait,
}


def _create(tree: exp.Expression, clause: str) -> str:
    return f"CREATE {clause}".rstrip()


def _exists(tree: exp.Expression) -> list[str]:
    return ["IF NOT EXISTS"] if tree.args.get("exists") else []


def _unused_tag(source: str) -> str:
    """Return the tag of a `$tag$` that the source does not have."""
    tag = "body"
    while f"${tag}$" in source:
        tag += "y"
    return tag
