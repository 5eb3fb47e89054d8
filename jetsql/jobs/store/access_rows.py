"""The rows of users, roles, tokens and rights, and the changes from one state of them to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from jetsql.jobs.access.access_records import (
    Grant,
    Ownership,
    RoleMember,
    Securable,
    SecurableKind,
    User,
    UserRole,
    UserToken,
)
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.model.serialization import decode, encode
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.store.tables import GRANTS, MEMBERS, OWNERS, ROLES, TOKENS, USERS

TABLES: Final = (USERS, ROLES, MEMBERS, TOKENS, GRANTS, OWNERS)

_Row = dict[str, str]
_Key = tuple[str, ...]


def decode_state(rows: Mapping[str, Sequence[sa.Row[Any]]]) -> AccessState:
    """Return the state that is in the rows of the tables, by their names. Raises ValueError."""
    return AccessState(
        users=tuple(decode(User, row.record) for row in rows[USERS.name]),
        roles=tuple(decode(UserRole, row.record) for row in rows[ROLES.name]),
        members=tuple(RoleMember(row.role, row.member) for row in rows[MEMBERS.name]),
        tokens=tuple(decode(UserToken, row.record) for row in rows[TOKENS.name]),
        grants=tuple(decode(Grant, row.record) for row in rows[GRANTS.name]),
        owners=tuple(
            Ownership(Securable(SecurableKind(row.kind), split_table(row.object)), row.owner)
            for row in rows[OWNERS.name]
        ),
    )


def changes(before: AccessState, after: AccessState) -> list[sa.Executable]:
    """Return the changes of the tables from one state to the next."""
    return [change for table in TABLES for change in _changes(table, _rows(before, table), _rows(after, table))]


def _changes(table: sa.Table, before: dict[_Key, _Row], after: dict[_Key, _Row]) -> Iterator[sa.Executable]:
    for key, row in before.items():
        if after.get(key) != row:
            keys = zip(table.primary_key, key, strict=True)
            yield table.delete().where(*(column == value for column, value in keys))
    for key, row in after.items():
        if before.get(key) != row:
            yield table.insert().values(row)


def _rows(state: AccessState, table: sa.Table) -> dict[_Key, _Row]:
    rows: dict[str, list[_Row]] = {
        USERS.name: [{"name_key": user.key, "record": encode(user)} for user in state.users],
        ROLES.name: [{"name_key": role.key, "record": encode(role)} for role in state.roles],
        MEMBERS.name: [{"role": each.role, "member": each.member} for each in state.members],
        TOKENS.name: [{"id": token.id, "record": encode(token)} for token in state.tokens],
        GRANTS.name: [
            {
                "grantee": grant.grantee,
                "access": grant.right.value,
                "kind": grant.object.kind.value,
                "object": grant.object.text,
                "record": encode(grant),
            }
            for grant in state.grants
        ],
        OWNERS.name: [
            {"kind": each.object.kind.value, "object": each.object.text, "owner": each.owner} for each in state.owners
        ],
    }
    keys = [column.name for column in table.primary_key]
    return {tuple(row[key] for key in keys): row for row in rows[table.name]}
