"""Compare the users, roles, rights and limits that files declare with the engine's.

The folder declares all rights of its own users and roles: those that CREATE USER and CREATE ROLE in its files name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jetsql.jobs.model.job import name_key, quoted_text
from jetsql.jobs.model.table_names import quoted_table, split_table
from jetsql.language.objects.rights_statement import AlterUser, GrantRights, GrantRole
from jetsql.language.statement_head import head_of
from jetsql.language.tokens import quoted_name, tokens, written_name
from jetsql.sqlfiles.apply.declarations import Declaration, ObjectKind
from jetsql.sqlfiles.apply.engine_state import EngineSessions

_OWNER: Final = "OWNER"  # the right of the owner, which is not granted
_ROLE: Final = "ROLE"
_OF_ENGINE: Final = ("ADMIN", "MONITOR", "FUNCTION")  # the rights that are granted without ON

_Row = Mapping[str, Any]  # of SHOW GRANTS


@dataclass(frozen=True)
class AccessDifference:
    """A difference between the rights or limits that a statement declares and those of the engine."""

    is_missing: bool  # the statement has to run
    notes: tuple[str, ...] = ()  # phrases about what is there


@dataclass(frozen=True)
class UndeclaredRight:
    """A right that no file grants."""

    name: str  # as in GRANT
    revoking: str  # the statement that revokes it


class DeclaredRights:
    """The rights that files declare, compared with those of the engine."""

    def __init__(self, sessions: EngineSessions) -> None:
        self._sessions = sessions
        self._declared: set[tuple[object, ...]] = set()  # the rights that were found, and that a file grants

    def is_missing(self, declaration: Declaration) -> bool:
        """Return whether the engine lacks a user or a role. Raises StatementFailed, EngineError."""
        shown = "SHOW USERS" if declaration.kind is ObjectKind.USER else "SHOW ROLES"
        rows = self._sessions.rows_about(declaration, shown)
        return all((name_key(str(row["name"])),) != declaration.key for row in rows)

    def find_difference(self, declaration: Declaration) -> AccessDifference | None:
        """Return how the engine's rights differ from a GRANT; None if they are the same.

        Raises StatementFailed, with a condition of `MISSING` if the object or who gets the right is missing, and
        EngineError.
        """
        statement = declaration.checked.statement
        assert isinstance(statement, GrantRights | GrantRole), "other statements declare no grant"
        grantee = statement.grantee.text
        if isinstance(statement, GrantRole):  # an error if the role is missing
            self._sessions.rows_about(declaration, f"SHOW GRANTS FOR {quoted_name(statement.role.text)}")
        text = f"SHOW GRANTS FOR {quoted_name(grantee)} {_on(declaration, statement)}"
        rows = [each for each in self._sessions.rows_about(declaration, text) if _is_of(each, grantee)]
        found = [row for row in rows if _is_granted_by(statement, row)]
        wanted = 1 if isinstance(statement, GrantRole) else len({right.text for right in statement.rights})
        self._declared.update(map(_identity, found))
        has_option = isinstance(statement, GrantRights) and statement.with_option
        if len(found) < wanted or (has_option and not all(row["with_option"] for row in found)):
            return AccessDifference(is_missing=True)
        if not has_option and any(row["with_option"] for row in found):
            note = "it has WITH GRANT OPTION, which the file does not declare"
            return AccessDifference(is_missing=False, notes=(note,))
        return None

    def find_limits_difference(self, declaration: Declaration) -> AccessDifference | None:
        """Return how the limits of a user differ from those of a statement; None if the engine lacks the user.

        The limits of an admin do not apply, so the engine does not show their values. Raises StatementFailed,
        EngineError.
        """
        statement = declaration.checked.statement
        assert isinstance(statement, AlterUser), "other statements declare no limits"
        rows = self._sessions.rows_about(declaration, "SHOW USERS")
        row = next((row for row in rows if name_key(str(row["name"])) == declaration.key[0]), None)
        if row is None:
            return None
        declared = {limit.text.lower(): value for limit, value in statement.limits}
        own = str(row["own_limits"] or "").split(", ")
        differing = [
            f"it has {limit} = {row[limit]:g}" if limit in own else f"it has no {limit} of its own"
            for limit, value in declared.items()
            if limit not in own or (row[limit] != value and not row["is_admin"])
        ]
        if differing:
            return AccessDifference(is_missing=True, notes=tuple(differing) if row["own_limits"] else ())
        others = [limit for limit in own if limit and limit not in declared]
        notes = tuple(f"it has {limit} = {row[limit]:g}, which no file declares" for limit in others)
        return AccessDifference(is_missing=False, notes=notes)

    def find_undeclared(self, name: str) -> Iterator[UndeclaredRight]:
        """Yield the rights and roles of a user or a role that no file grants. Raises ReportedError, EngineError."""
        for row in self._sessions.run_text(f"SHOW GRANTS FOR {quoted_name(name)}"):
            if _is_of(row, name) and row["right"] != _OWNER and _identity(row) not in self._declared:
                what = f"{_right_of(row)}{self._object_of(row)}"
                grantee = written_name(str(row["grantee"]))
                yield UndeclaredRight(f"{what} TO {grantee}", f"REVOKE {what} FROM {grantee}")

    def _object_of(self, row: _Row) -> str:
        """Return ON and the object of a right, as GRANT has it; empty for a role and for rights without an object.

        Raises ReportedError, JetSQLError for a table that Spark cannot load.
        """
        kind, name = row["kind"], str(row["object"])
        if kind == _ROLE or (kind == "ENGINE" and row["right"] in _OF_ENGINE):
            return ""
        if kind == "ENGINE":
            return " ON ALL SCHEMAS"
        if kind == "LOCATION":
            return f" ON LOCATION {quoted_text(name)}"
        if kind == "SCHEMA" and row["right"] == "OPERATE":
            return f" ON JOBS IN SCHEMA {_written_table(name)}"
        if kind == "TABLE" and self._is_view(name):
            kind = "VIEW"
        return f" ON {kind} {written_name(name) if kind == 'JOB' else _written_table(name)}"

    def _is_view(self, name: str) -> bool:
        rows = self._sessions.run_text(f"SHOW CREATE TABLE {quoted_table(name)}")
        head = head_of(str(next(iter(rows[0].values()))))
        return head.kind == "VIEW" and not head.has_job


def _right_of(row: _Row) -> str:
    return written_name(str(row["object"])) if row["right"] == _ROLE else str(row["right"])


def _written_table(name: str) -> str:
    return ".".join(map(written_name, split_table(name)))


def _is_granted_by(statement: GrantRights | GrantRole, row: _Row) -> bool:
    """Return whether a row about the grantee and the object of a statement is one that the statement makes."""
    if isinstance(statement, GrantRole):
        return row["right"] == _ROLE and name_key(str(row["object"])) == name_key(statement.role.text)
    is_of_engine = not statement.object.name.parts
    is_of_right = row["right"] in {right.text for right in statement.rights}
    return is_of_right and (row["kind"] == "ENGINE" or not is_of_engine)


def _is_of(row: _Row, grantee: str) -> bool:
    return name_key(str(row["grantee"])) == name_key(grantee)


def _identity(row: _Row) -> tuple[object, ...]:
    return (name_key(str(row["grantee"])), row["right"], row["kind"], row["object"])


def _on(declaration: Declaration, statement: GrantRights | GrantRole) -> str:
    """Return ON and the object, as the statement has them; empty without an object."""
    found = list(tokens(declaration.text))
    first = next((token for token in found if token.word == "ON"), None)
    if isinstance(statement, GrantRole) or first is None:
        return ""
    last = next(token for token in reversed(found) if token.stop <= statement.grantee.place.start)
    return declaration.text[first.start : last.start]
