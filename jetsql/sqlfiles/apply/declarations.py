"""Read the declarations of SQL files: the schemas, tables, views, functions, connections, jobs, alerts, users and roles
that have to exist, and the rights that these have.

CREATE, CREATE IF NOT EXISTS and CREATE OR REPLACE mean the same here. USE and SET hold for the statements after them
in their file. All other statements are refused, because a folder that is applied again must not run them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from jetsql.errors import Span
from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.job_settings import unknown_limit
from jetsql.jobs.model.table_names import SESSION_CATALOG, join_table
from jetsql.language import statement as st
from jetsql.language.objects.alert_statement import CreateAlert
from jetsql.language.objects.connection_statement import CreateConnection, CreateSecret
from jetsql.language.objects.rights_statement import (
    AlterUser,
    CreateRole,
    CreateToken,
    CreateUser,
    GrantRights,
    GrantRole,
)
from jetsql.language.statement_head import name_at, read_head
from jetsql.language.tokens import Token, tokens
from jetsql.script import PreparedStatement
from jetsql.sqlfiles.lint_files import LintedStatement, placed
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel
from jetsql.sqlfiles.lint_statement import CheckedStatement, Found
from jetsql.sqlfiles.statement_names import CreatedObject, created_by_spark, lower_parts

_NOT_A_DECLARATION: Final = f"{PREFIX}NOT_A_DECLARATION"
_DECLARED_TWICE: Final = f"{PREFIX}DECLARED_TWICE"
_DEFAULT_SCHEMA: Final = "default"
_RUN_IT: Final = "Move it to a file outside of the folder, and run it with `jetsql run`."
_HINTS: Final = {
    "DROP": "Remove the statement that creates the object instead. --prune drops jobs and alerts that no file has.",
    "ALTER": "Change the statement that creates the object instead.",
    "REVOKE": "Remove the GRANT instead. --prune revokes rights that no file grants.",
    "EXPLAIN": "Run it in the shell. `jetsql apply --plan` shows what would be done.",
    "SHOW": "Run it in the shell.",
}


class ObjectKind(Enum):
    """The kind of an object that a statement declares, in the order in which kinds are created."""

    USER = "user"
    ROLE = "role"
    LIMITS = "limits of user"
    SECRET = "secret"
    CONNECTION = "connection"
    SCHEMA = "schema"
    FUNCTION = "function"
    TABLE = "table"
    VIEW = "view"
    JOB = "job"
    STREAMING_TABLE = "streaming table"
    MATERIALIZED_VIEW = "materialized view"
    ALERT = "alert"
    GRANT = "grant"

    @property
    def is_in_schema(self) -> bool:
        """Return whether the name of the object is one in a schema."""
        in_schema = (ObjectKind.FUNCTION, ObjectKind.TABLE, ObjectKind.VIEW)
        return self in (*in_schema, ObjectKind.STREAMING_TABLE, ObjectKind.MATERIALIZED_VIEW)

    @property
    def has_job(self) -> bool:
        """Return whether a job belongs to the object."""
        return self in (ObjectKind.JOB, ObjectKind.STREAMING_TABLE, ObjectKind.MATERIALIZED_VIEW)


@dataclass(frozen=True)
class Context:
    """The statements of a file that set up the session for the statements after them."""

    steps: tuple[PreparedStatement, ...] = ()  # USE and SET
    schema: tuple[str, ...] = ()  # the current schema, in lower case; empty for the one of a new session

    @property
    def key(self) -> tuple[str, ...]:
        """Return a value that is the same for contexts with the same effect."""
        return tuple(step.filled.text for step in self.steps)


@dataclass(frozen=True)
class Declaration:
    """A statement that declares an object."""

    linted: LintedStatement
    kind: ObjectKind
    parts: tuple[str, ...]  # of the object's name, without back quotes
    place: Span  # of the name, in the statement
    context: Context

    @property
    def prepared(self) -> PreparedStatement:
        """Return the statement, ready to run."""
        return self.linted.prepared

    @property
    def checked(self) -> CheckedStatement:
        """Return the parsed statement."""
        return self.linted.checked

    @property
    def text(self) -> str:
        """Return the text of the statement, with its variables filled in."""
        return self.checked.text

    @property
    def name(self) -> str:
        """Return the name as messages show it."""
        named_alone = self.kind is not ObjectKind.SCHEMA and not self.kind.is_in_schema
        return self.parts[0] if named_alone else join_table(self.parts)

    @property
    def qualified_name(self) -> str:
        """Return the name with its schema if USE has set one, as statements of other sessions need it."""
        is_short = len(self.parts) == 1 and self.kind.is_in_schema
        return join_table((*self.context.schema, *self.parts)) if is_short else self.name

    @property
    def key(self) -> tuple[str, ...]:
        """Return the qualified name as it is compared."""
        if self.kind is not ObjectKind.SCHEMA and not self.kind.is_in_schema:
            return (name_key(self.parts[0]),)
        return qualified(self.parts, self.context, is_schema=self.kind is ObjectKind.SCHEMA)

    @property
    def location(self) -> str:
        """Return the place of the name as FILE:LINE:COLUMN."""
        found = self.problem("", "")
        return f"{found.script.name}:{found.line}:{found.column}"

    def problem(self, condition: str, message: str, hint: str = "", place: Span | None = None) -> LintProblem:
        """Return an error at a place of the statement, or at its name."""
        found = Found(ProblemLevel.ERROR, condition, message, place or self.place, hint)
        return placed(self.prepared, found)


@dataclass
class Declarations:
    """The declarations of files."""

    items: list[Declaration] = field(default_factory=list)
    problems: list[LintProblem] = field(default_factory=list)


def read_declarations(statements: Sequence[LintedStatement]) -> Declarations:
    """Return the declarations of the statements of files, with an error for each statement that is none."""
    found = Declarations()
    contexts: dict[str, Context] = {}
    for linted in statements:
        if any(problem.level is ProblemLevel.ERROR for problem in linted.checked.problems):
            continue  # reported already
        name = linted.prepared.script.name
        context = contexts.get(name, Context())
        following = _next_context(linted, context)
        if following is not None:
            contexts[name] = following
            continue
        declared = _declaration(linted, context)
        if isinstance(declared, Found):
            found.problems.append(placed(linted.prepared, declared))
        else:
            found.items.append(declared)
    found.problems += _declared_twice(found.items)
    return found


def qualified(parts: Sequence[str], context: Context, *, is_schema: bool = False) -> tuple[str, ...]:
    """Return a name with its schema, in lower case; without Spark's own catalogue."""
    key = lower_parts(parts)
    schema = context.schema or (_DEFAULT_SCHEMA,)
    if is_schema:
        key = (*schema[:-1], *key) if len(key) == 1 else key
    elif len(key) == 1:
        key = (*schema, *key)
    elif len(key) == 2:
        key = (*schema[:-1], *key)
    return key[1:] if key[0] == SESSION_CATALOG else key


def _next_context(linted: LintedStatement, context: Context) -> Context | None:
    """Return the context after a statement; None for a statement that sets up no session."""
    if linted.checked.statement is not None:
        return None
    found = list(tokens(linted.checked.text))
    verb, second = found[0].word, found[1].word if len(found) > 1 else ""
    steps = (*context.steps, linted.prepared)
    if verb == "SET" and second == "CATALOG":
        return Context(steps, _catalog(found, 2))
    if verb == "SET" and second not in ("VAR", "VARIABLE", "ROLE"):
        return Context(steps, context.schema)
    if verb != "USE":
        return None
    if second == "CATALOG":
        return Context(steps, _catalog(found, 2))
    name = name_at(found, 2 if second in ("SCHEMA", "DATABASE", "NAMESPACE") and len(found) > 2 else 1)
    if name is None:
        return Context(steps, context.schema)
    parts = lower_parts(name[0])
    return Context(steps, (*context.schema[:-1], *parts) if len(parts) == 1 else parts)


def _catalog(found: Sequence[Token], index: int) -> tuple[str, ...]:
    name = name_at(found, index)
    return () if name is None else (*lower_parts(name[0]), _DEFAULT_SCHEMA)


def _declaration(linted: LintedStatement, context: Context) -> Declaration | Found:
    statement = linted.checked.statement
    match statement:
        case st.CreateJob():
            return Declaration(linted, ObjectKind.JOB, (statement.name.text,), statement.name.place, context)
        case st.CreateStreamingTable():
            table = statement.create.table
            assert table is not None, "the statement has a table"
            kind = ObjectKind(statement.kind.value.lower())
            return Declaration(linted, kind, table.name.parts, table.name.place, context)
        case st.CreateFunction():
            return Declaration(linted, ObjectKind.FUNCTION, statement.name, statement.place, context)
        case CreateSecret():
            return Declaration(linted, ObjectKind.SECRET, (statement.name.text,), statement.name.place, context)
        case CreateConnection():
            return Declaration(linted, ObjectKind.CONNECTION, (statement.name.text,), statement.name.place, context)
        case CreateUser():
            return Declaration(linted, ObjectKind.USER, (statement.name.text,), statement.name.place, context)
        case CreateRole():
            return Declaration(linted, ObjectKind.ROLE, (statement.name.text,), statement.name.place, context)
        case AlterUser() if statement.sets_limits:
            return _limits(linted, statement, context)
        case AlterUser():
            message = "A folder declares the limits of a user, with ALTER USER ... SET, and no other change."
            return Found(ProblemLevel.ERROR, _NOT_A_DECLARATION, message, statement.name.place, _RUN_IT)
        case GrantRights():
            return Declaration(linted, ObjectKind.GRANT, (_words(linted),), statement.object.name.place, context)
        case GrantRole():
            return Declaration(linted, ObjectKind.GRANT, (_words(linted),), statement.role.place, context)
        case CreateToken():
            message = "A token is shown only when it is created, so a folder cannot declare it."
            return Found(ProblemLevel.ERROR, _NOT_A_DECLARATION, message, statement.user.place, _RUN_IT)
        case CreateAlert():
            return _alert(linted, statement, context)
        case None:
            return _spark_declaration(linted, context)
    return _not_declared(linted.checked.text)


def _alert(linted: LintedStatement, statement: CreateAlert, context: Context) -> Declaration | Found:
    if statement.job is not None and statement.job.is_id:
        message = "The id of a job is another one in each engine."
        return Found(ProblemLevel.ERROR, _NOT_A_DECLARATION, message, statement.job.place, "Write the name of the job.")
    return Declaration(linted, ObjectKind.ALERT, (statement.name.text,), statement.name.place, context)


def _limits(linted: LintedStatement, statement: AlterUser, context: Context) -> Declaration | Found:
    for limit, _ in statement.limits:
        if unknown := unknown_limit(limit.text):
            message, hint = unknown
            return Found(ProblemLevel.ERROR, f"{PREFIX}UNKNOWN_OPTION", message, limit.place, hint)
    return Declaration(linted, ObjectKind.LIMITS, (statement.name.text,), statement.name.place, context)


def _words(linted: LintedStatement) -> str:
    """Return what follows the first word of a statement, in one line."""
    return " ".join(linted.checked.text.split()[1:])


def _spark_declaration(linted: LintedStatement, context: Context) -> Declaration | Found:
    found = list(tokens(linted.checked.text))
    created = created_by_spark(found)
    if created is None:
        return _not_declared(linted.checked.text)
    refused = _refused_creation(found, created)
    if refused is not None:
        return refused
    return Declaration(linted, ObjectKind(created.kind.lower()), created.parts, created.place, context)


def _refused_creation(found: Sequence[Token], created: CreatedObject) -> Found | None:
    """Return why a CREATE statement cannot be applied again and again, or None."""
    head = read_head(found)
    if head.is_temporary:
        message = f"A temporary {created.kind.lower()} ends with its session, so a folder cannot declare it."
        return _refusal(message, found[0], "Remove TEMPORARY, or write the query into the statements that use it.")
    if created.kind == "TABLE" and head.replaces:
        message = "CREATE OR REPLACE TABLE deletes the rows of the table each time."
        return _refusal(message, found[0], "Write CREATE TABLE: a table that exists is left as it is.")
    return None


def _not_declared(text: str) -> Found:
    first = next(tokens(text))
    verb = first.word or first.text
    message = f"A folder for `jetsql apply` declares objects with CREATE statements; {verb} is not one of them."
    return _refusal(message, first, _HINTS.get(verb, _RUN_IT))


def _refusal(message: str, token: Token, hint: str) -> Found:
    return Found(ProblemLevel.ERROR, _NOT_A_DECLARATION, message, token.place, hint)


def _declared_twice(items: Sequence[Declaration]) -> Iterator[LintProblem]:
    first: dict[tuple[object, ...], Declaration] = {}
    for item in items:
        for key in _names_of(item):
            before = first.setdefault(key, item)
            if before is not item:
                message = f"The {item.kind.value} {item.name} is declared twice: also at {before.location}."
                yield item.problem(_DECLARED_TWICE, message, "Remove one of the statements, or use another name.")
                break


def _names_of(item: Declaration) -> Iterator[tuple[object, ...]]:
    """Yield the names that an object takes. Tables and views share theirs, and users and roles do."""
    if item.kind is ObjectKind.GRANT:
        return
    has_own = item.kind is ObjectKind.FUNCTION or not item.kind.is_in_schema
    space = item.kind.value if has_own else ""
    space = ObjectKind.USER.value if item.kind is ObjectKind.ROLE else space
    yield (space, *item.key)
    yield from (("", *key) for key in made_tables(item) if item.kind is ObjectKind.JOB)


def made_tables(item: Declaration) -> Iterator[tuple[str, ...]]:
    """Yield the qualified names of the tables and views that a statement creates."""
    job = item.checked.job
    if job is not None and job.table is not None:
        yield qualified(job.table.name.parts, item.context)
    elif item.kind in (ObjectKind.TABLE, ObjectKind.VIEW):
        yield item.key
