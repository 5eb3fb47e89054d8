"""The rights of a user: by grants, roles, containers and ownership. Each table has one row for each case."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import (
    ENGINE_ITSELF,
    Grant,
    Ownership,
    Right,
    RoleMember,
    Securable,
    SecurableKind,
    User,
    UserRole,
    UserToken,
)
from jetsql.jobs.access.access_state import AccessState, containers_of_job, job_object
from jetsql.jobs.access.effective_rights import published_rights
from jetsql.jobs.access.rights_table import CONTAINERS, RIGHTS, SESSION_SETTINGS
from jetsql.jobs.model.job_settings import LimitSettings
from tests.support.models.lifecycle_cases import job

CATALOG = Securable(SecurableKind.CATALOG, ("spark_catalog",))
SCHEMA = Securable(SecurableKind.SCHEMA, ("spark_catalog", "s"))
OTHER_SCHEMA = Securable(SecurableKind.SCHEMA, ("spark_catalog", "other"))
TABLE = Securable(SecurableKind.TABLE, ("spark_catalog", "s", "t"))
OTHER_TABLE = Securable(SecurableKind.TABLE, ("spark_catalog", "other", "t"))
FUNCTION = Securable(SecurableKind.FUNCTION, ("spark_catalog", "s", "f"))
JOB = job()
JOB_OBJECT = job_object(JOB)
SINK_SCHEMA = Securable(SecurableKind.SCHEMA, ("spark_catalog", "default"))
LOCATION = Securable(SecurableKind.LOCATION, ("s3a://b/in",))

BASE = AccessState(
    users=(User("Ann", 0), User("bob", 0), User("off", 0, disabled=True)),
    roles=(UserRole("analysts", 0), UserRole("leads", 0)),
    members=(RoleMember("analysts", "leads"), RoleMember("leads", "ann")),
)


def state(*grants: Grant, **changes: Any) -> AccessState:
    return replace(BASE, grants=grants, **changes)


def grant(right: Right, thing: Securable, grantee: str = "ann", *, with_option: bool = False) -> Grant:
    return Grant(grantee, right, thing, with_option)


@pytest.mark.parametrize("user", ["ann", "bob", "none", "off", ""])
def test_no_user_has_a_right_by_default(user: str) -> None:
    assert not any(state().allowed(user, right, thing) for right in Right for thing in (TABLE, SCHEMA, ENGINE_ITSELF))
    assert not any(state().sees(user, thing) for thing in (TABLE, SCHEMA, CATALOG, FUNCTION, LOCATION))
    assert not state().sees_job(user, JOB)


@pytest.mark.parametrize("user", ["owner", "engine"])
def test_built_in_users_have_all_rights(user: str) -> None:
    assert all(state().allowed(user, right, thing) for right in Right for thing in (TABLE, SCHEMA, ENGINE_ITSELF))
    assert state().sees_job(user, JOB)


@pytest.mark.parametrize("user", ["", "anyone", "owner"])
def test_everyone_has_all_rights_without_users(user: str) -> None:
    empty = AccessState()
    assert empty.allowed(user, Right.ADMIN, ENGINE_ITSELF) and empty.sees_job(user, JOB)
    assert published_rights(empty, LimitSettings()) is None


@pytest.mark.parametrize(
    ("given", "asked", "expected"),
    [
        (grant(Right.SELECT, TABLE), (Right.SELECT, TABLE), True),
        (grant(Right.SELECT, TABLE), (Right.INSERT, TABLE), False),
        (grant(Right.SELECT, TABLE), (Right.SELECT, OTHER_TABLE), False),
        (grant(Right.SELECT, SCHEMA), (Right.SELECT, TABLE), True),
        (grant(Right.SELECT, SCHEMA), (Right.SELECT, OTHER_TABLE), False),
        (grant(Right.SELECT, CATALOG), (Right.SELECT, TABLE), True),
        (grant(Right.SELECT, ENGINE_ITSELF), (Right.SELECT, TABLE), True),
        (grant(Right.SELECT, ENGINE_ITSELF), (Right.ADMIN, ENGINE_ITSELF), False),
        (grant(Right.MODIFY, TABLE), (Right.INSERT, TABLE), False),
        (grant(Right.USAGE, FUNCTION), (Right.USAGE, FUNCTION), True),
        (grant(Right.USAGE, LOCATION), (Right.USAGE, Securable(SecurableKind.LOCATION, ("s3a://b/in/a",))), True),
        (grant(Right.USAGE, LOCATION), (Right.USAGE, Securable(SecurableKind.LOCATION, ("s3a://b/inner",))), False),
        (grant(Right.USAGE, LOCATION), (Right.USAGE, Securable(SecurableKind.LOCATION, ("s3a://b",))), False),
        (grant(Right.ADMIN, ENGINE_ITSELF), (Right.MODIFY, OTHER_TABLE), True),
        (grant(Right.SELECT, TABLE, "leads"), (Right.SELECT, TABLE), True),
        (grant(Right.SELECT, TABLE, "analysts"), (Right.SELECT, TABLE), True),
        (grant(Right.ADMIN, ENGINE_ITSELF, "analysts"), (Right.SELECT, OTHER_TABLE), True),
        (grant(Right.SELECT, TABLE, "bob"), (Right.SELECT, TABLE), False),
    ],
)
def test_right_holds_where_it_was_granted(given: Grant, asked: tuple[Right, Securable], expected: bool) -> None:
    assert state(given).allowed("ann", *asked) is expected


def test_right_on_a_schema_holds_for_jobs_that_write_there() -> None:
    assert containers_of_job(JOB) == (SINK_SCHEMA,)
    assert state(grant(Right.OPERATE, SINK_SCHEMA)).allowed_on_job("ann", Right.OPERATE, JOB)
    assert not state(grant(Right.OPERATE, OTHER_SCHEMA)).allowed_on_job("ann", Right.OPERATE, JOB)
    both = (SINK_SCHEMA, OTHER_SCHEMA)
    held = state(grant(Right.OPERATE, SINK_SCHEMA))
    assert not held.allowed("ann", Right.OPERATE, JOB_OBJECT, both)
    more = state(grant(Right.OPERATE, SINK_SCHEMA), grant(Right.OPERATE, OTHER_SCHEMA))
    assert more.allowed("ann", Right.OPERATE, JOB_OBJECT, both)


def test_operator_does_not_own_the_job() -> None:
    held = state(grant(Right.OPERATE, JOB_OBJECT))
    assert held.allowed_on_job("ann", Right.OPERATE, JOB)
    assert not held.allowed_on_job("ann", Right.OWNER, JOB)


def test_monitor_sees_jobs_and_operates_none() -> None:
    held = state(grant(Right.MONITOR, ENGINE_ITSELF))
    assert held.sees_job("ann", JOB) and not held.allowed_on_job("ann", Right.OPERATE, JOB)
    assert not held.sees("ann", TABLE)


def test_owner_has_all_rights_on_the_object() -> None:
    owned = state(owners=(Ownership(TABLE, "bob"),))
    assert all(owned.allowed("bob", right, TABLE) for right in (Right.SELECT, Right.MODIFY, Right.OWNER))
    assert not owned.allowed("ann", Right.SELECT, TABLE)
    mine = replace(JOB, owner="bob")
    assert state().allowed_on_job("bob", Right.OWNER, mine) and not state().sees_job("ann", mine)


def test_disabled_user_has_nothing() -> None:
    held = state(
        grant(Right.ADMIN, ENGINE_ITSELF, "off"), grant(Right.SELECT, TABLE, "off"), owners=(Ownership(TABLE, "off"),)
    )
    assert not held.allowed("off", Right.SELECT, TABLE) and not held.is_admin("off") and not held.sees("off", SCHEMA)
    assert not held.sees_job("off", replace(JOB, owner="off"))
    assert "off" not in json.loads(published_rights(held, LimitSettings(user_rows_most=5)) or "")["users"]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (grant(Right.INSERT, TABLE), {TABLE, SCHEMA, CATALOG}),
        (grant(Right.SELECT, SCHEMA), {TABLE, SCHEMA, CATALOG}),
        (grant(Right.CREATE, SCHEMA), {SCHEMA, CATALOG}),
        (grant(Right.USAGE, FUNCTION), {FUNCTION, SCHEMA, CATALOG}),
        (grant(Right.SELECT, CATALOG), {TABLE, OTHER_TABLE, SCHEMA, OTHER_SCHEMA, CATALOG}),
        (grant(Right.OPERATE, JOB_OBJECT), set()),
        (grant(Right.ADMIN, ENGINE_ITSELF), {TABLE, OTHER_TABLE, SCHEMA, OTHER_SCHEMA, CATALOG, FUNCTION}),
    ],
)
def test_object_without_any_right_is_not_seen(given: Grant, seen: set[Securable]) -> None:
    things = (TABLE, OTHER_TABLE, SCHEMA, OTHER_SCHEMA, CATALOG, FUNCTION)
    assert {thing for thing in things if state(given).sees("ann", thing)} == seen


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (grant(Right.SELECT, TABLE), False),
        (grant(Right.SELECT, TABLE, with_option=True), True),
        (grant(Right.SELECT, SCHEMA, with_option=True), True),
        (grant(Right.SELECT, OTHER_TABLE, with_option=True), False),
        (grant(Right.INSERT, TABLE, with_option=True), False),
        (grant(Right.ADMIN, ENGINE_ITSELF), True),
    ],
)
def test_right_is_granted_by_who_has_the_option(given: Grant, expected: bool) -> None:
    assert state(given).may_grant("ann", Right.SELECT, TABLE) is expected


@pytest.mark.parametrize(
    ("role", "member", "expected"),
    [("leads", "analysts", True), ("analysts", "analysts", True), ("analysts", "ann", False), ("leads", "bob", False)],
)
def test_cycles_of_roles_are_found(role: str, member: str, expected: bool) -> None:
    assert BASE.is_cycle(role, member) is expected


def test_admin_can_log_in_with_a_valid_token() -> None:
    disabled = (*BASE.users, User("owner", 0, disabled=True))
    held = state(grant(Right.ADMIN, ENGINE_ITSELF, "bob"), users=disabled)
    assert BASE.lets_admin_in(100) and not held.lets_admin_in(100)
    assert replace(held, tokens=(UserToken("a", "bob", "", 0),)).lets_admin_in(100)
    assert not replace(held, tokens=(UserToken("a", "bob", "", 0, expires=100),)).lets_admin_in(100)
    assert not replace(held, tokens=(UserToken("a", "ann", "", 0),)).lets_admin_in(100)


def test_published_rights_are_those_of_each_user() -> None:
    held = state(
        grant(Right.SELECT, TABLE, "analysts"),
        grant(Right.OPERATE, JOB_OBJECT, "bob"),
        owners=(Ownership(TABLE, "bob"),),
    )
    assert json.loads(published_rights(held, LimitSettings(user_rows_most=5)) or "") == {
        "users": {
            "ann": {
                "admin": False,
                "rights": [
                    {"right": "SELECT", "kind": "TABLE", "name": ["spark_catalog", "s", "t"]},
                ],
                "limits": {"statements_most": 0, "rows_most": 5, "statement_seconds": 0.0},
            },
            "bob": {
                "admin": False,
                "rights": [
                    {"right": "OWNER", "kind": "TABLE", "name": ["spark_catalog", "s", "t"]},
                ],
                "limits": {"statements_most": 0, "rows_most": 5, "statement_seconds": 0.0},
            },
        },
        "views": [{"name": ["spark_catalog", "s", "t"], "owner": "bob"}],
        "settings": list(SESSION_SETTINGS),
    }


def test_each_right_but_ownership_can_be_granted() -> None:
    assert set(RIGHTS) == set(Right) - {Right.OWNER}
    assert all(set(spec.objects) <= set(spec.grantable_on) for spec in RIGHTS.values())
    assert {kind for spec in RIGHTS.values() for kind in spec.grantable_on} == set(SecurableKind) - {
        SecurableKind.ALERT
    }


def test_each_kind_of_object_has_its_containers() -> None:
    assert all(
        SecurableKind.ENGINE in CONTAINERS[kind]
        for kind in (SecurableKind.TABLE, SecurableKind.JOB, SecurableKind.SCHEMA)
    )


def test_new_object_belongs_to_its_creator_alone() -> None:
    held = state(grant(Right.SELECT, TABLE, "bob"), owners=(Ownership(TABLE, "bob"),))
    created = access_changes.create_object(held, TABLE, "ann")
    assert (created.grants, created.owners) == ((), (Ownership(TABLE, "ann"),))
    assert access_changes.create_object(held, TABLE, "owner").owners == ()


def test_dropped_schema_takes_the_rights_on_its_objects_along() -> None:
    schema = Securable(SecurableKind.SCHEMA, TABLE.name[:-1])
    other = Securable(SecurableKind.TABLE, (*TABLE.name[:-2], "other", "t"))
    held = state(
        grant(Right.SELECT, TABLE, "bob"),
        grant(Right.SELECT, schema, "bob"),
        grant(Right.SELECT, other, "bob"),
        owners=(Ownership(TABLE, "bob"),),
    )
    dropped = access_changes.drop_object(held, schema)
    assert [each.object for each in dropped.grants] == [other] and dropped.owners == ()


def test_renamed_object_keeps_its_rights() -> None:
    renamed = Securable(SecurableKind.TABLE, (*TABLE.name[:-1], "renamed"))
    held = state(
        grant(Right.SELECT, TABLE, "bob"), grant(Right.INSERT, renamed, "bob"), owners=(Ownership(TABLE, "ann"),)
    )
    moved = access_changes.rename_object(held, TABLE, renamed)
    assert [(each.right, each.object) for each in moved.grants] == [(Right.SELECT, renamed)]
    assert moved.owners == (Ownership(renamed, "ann"),)
