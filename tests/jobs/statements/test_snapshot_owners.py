"""The owner of a snapshot: that of its job, also after the job is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.jobs.statements.system_tables import SYSTEM_TABLES, rows
from jetsql.resultset import Cell
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users

JOB = "CREATE JOB {} AS INSERT INTO out SELECT * FROM STREAM src"
SHOW = "SHOW SNAPSHOTS"


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Users]:
    """Return an engine with a job of ann, which bob operates, and its snapshot by bob."""
    with run_manager(tmp_path) as jobs:
        users = Users(jobs)
        for user in ("ann", "bob", "eve"):
            users.run(f"CREATE USER {user}")
        users.run(JOB.format("j"), "ann")
        users.run("GRANT OPERATE ON JOB j TO bob")
        users.run("CREATE SNAPSHOT s FOR JOB j", "bob")
        yield users


def forget_job(team: Users) -> None:
    """Drop the job, and delete it from the store as its retention does."""
    [job] = team.jobs.manager.registry.live()
    team.run("DROP JOB j")
    team.jobs.store.forget([job.job.id])


def owners(team: Users, name: str) -> list[Cell]:
    """Return the owners in a relation."""
    [relation] = [relation for relation in SYSTEM_TABLES if relation.name == name]
    position = [column.name for column in relation.columns].index("owner")
    return [row[position] for row in rows(team.jobs.manager, name)]


def seen(team: Users) -> dict[str, list[str]]:
    return {user: team.names(SHOW, user) for user in ("ann", "bob", "eve", "owner")}


def test_owner_keeps_the_snapshot_of_a_forgotten_job(team: Users) -> None:
    assert seen(team) == {"ann": ["s"], "bob": ["s"], "eve": [], "owner": ["s"]}
    forget_job(team)
    assert seen(team) == {"ann": ["s"], "bob": [], "eve": [], "owner": ["s"]}
    for user in ("bob", "eve"):
        assert team.refusal("DROP SNAPSHOT s", user).condition == "JETSQL.SNAPSHOT_NOT_FOUND"
    again = JOB.format("again OPTIONS ('initialSnapshotName' = 's')")
    assert team.refusal(again, "eve").condition == "JETSQL.SNAPSHOT_NOT_FOUND"
    team.run(again, "ann")
    team.run("DROP SNAPSHOT s", "ann")
    assert seen(team)["owner"] == []


def test_snapshot_follows_the_owner_of_its_job(team: Users) -> None:
    team.run("ALTER JOB j OWNER TO eve")
    assert seen(team) == {"ann": [], "bob": ["s"], "eve": ["s"], "owner": ["s"]}
    forget_job(team)
    assert seen(team) == {"ann": [], "bob": [], "eve": ["s"], "owner": ["s"]}


def test_owner_of_a_snapshot_is_not_dropped(team: Users) -> None:
    forget_job(team)
    error = team.refusal("DROP USER ann")
    assert error.condition == "JETSQL.USER_OWNS_OBJECTS" and "the snapshot s" in error.message
    assert "1 other object" in team.message("REASSIGN OWNED BY ann TO bob")
    team.run("DROP USER ann")
    team.run("CREATE USER ann")
    assert seen(team) == {"ann": [], "bob": ["s"], "eve": [], "owner": ["s"]}


def test_owner_is_shown_as_that_of_the_job(team: Users) -> None:
    team.run("CREATE USER Zoe")
    team.run("ALTER JOB j OWNER TO zoe")
    assert team.names(SHOW, "zoe", "owner") == ["Zoe"]
    for relation in ("jobs", "snapshots"):
        assert owners(team, relation) == ["Zoe"]
    [snapshot] = team.jobs.store.snapshots()
    team.jobs.store.save_snapshots([replace(snapshot, owner="")])
    assert owners(team, "snapshots") == [None]


def test_disabled_owner_has_no_snapshot(team: Users) -> None:
    forget_job(team)
    team.run("ALTER USER ann DISABLE")
    assert seen(team)["ann"] == []


def test_older_snapshot_has_the_rights_of_its_job(team: Users) -> None:
    [snapshot] = team.jobs.store.snapshots()
    team.jobs.store.save_snapshots([replace(snapshot, owner="")])
    assert seen(team) == {"ann": ["s"], "bob": ["s"], "eve": [], "owner": ["s"]}
    forget_job(team)
    assert seen(team) == {"ann": [], "bob": [], "eve": [], "owner": ["s"]}
