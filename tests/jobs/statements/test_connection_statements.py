"""The statements about secrets and connections: what they store and show, and for whom they exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.jobs.access.access_records import Securable, SecurableKind
from tests.support.engines.jobs_harness import run_manager
from tests.support.engines.user_statements import Users

SECRET = "CREATE SECRET shop FROM ENV 'SHOP_PASSWORD' FOR 'jdbc:postgresql://db/' COMMENT 'of the shop'"
CONNECTION = (
    "CREATE CONNECTION pg TYPE jdbc OPTIONS ('url' = 'jdbc:postgresql://db/shop?password=canary', "
    "'password' = 'secret:shop') COMMENT 'orders'"
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Users]:
    with run_manager(tmp_path) as jobs:
        yield Users(jobs)


def test_created_secret_and_connection_are_shown(engine: Users) -> None:
    assert "secret:shop" in engine.message(SECRET)
    assert "Created" in engine.message(CONNECTION)
    [secret] = engine.run("SHOW SECRETS")
    assert (secret["name"], secret["source"], secret["hosts"]) == (
        "shop",
        "ENV 'SHOP_PASSWORD'",
        "jdbc:postgresql://db/",
    )
    assert (secret["used_by"], secret["comment"]) == ("pg", "of the shop")
    [connection] = engine.run("SHOW CONNECTIONS")
    assert (connection["name"], connection["type"], connection["comment"]) == ("pg", "jdbc", "orders")
    facts = {row["key"]: row["value"] for row in engine.run("DESCRIBE CONNECTION pg")}
    assert facts["option password"] == "secret:shop"
    assert "canary" not in str((facts, connection))


def test_published_connections_have_the_sources_of_secrets(engine: Users) -> None:
    engine.run(SECRET)
    engine.run(CONNECTION)
    published = json.loads(engine.jobs.runtime.connections)
    assert published["secrets"]["shop"] == {
        "kind": "env",
        "place": "SHOP_PASSWORD",
        "hosts": ["jdbc:postgresql://db/"],
    }
    assert published["connections"]["pg"]["options"]["password"] == "secret:shop"


def test_names_are_taken_once(engine: Users) -> None:
    engine.run(SECRET)
    engine.run(CONNECTION)
    assert engine.refusal(SECRET).condition == "JETSQL.OBJECT_ALREADY_EXISTS"
    assert engine.refusal(CONNECTION).condition == "JETSQL.OBJECT_ALREADY_EXISTS"
    assert "already exists" in engine.message("CREATE SECRET IF NOT EXISTS SHOP FROM ENV 'OTHER'")
    assert "already exists" in engine.message("CREATE CONNECTION IF NOT EXISTS PG TYPE jdbc OPTIONS ('url' = 'x')")
    assert "Replaced" in engine.message("CREATE OR REPLACE SECRET shop FROM FILE '/run/secrets/shop'")
    assert [row["source"] for row in engine.run("SHOW SECRETS")] == ["FILE '/run/secrets/shop'"]


def test_altered_connection_keeps_other_options(engine: Users) -> None:
    engine.run(SECRET)
    engine.run(CONNECTION)
    engine.run("ALTER CONNECTION pg OPTIONS ('URL' = 'jdbc:postgresql://db/new', 'password' = '')")
    assert engine.jobs.manager.connections.state.connections[0].options == {"URL": "jdbc:postgresql://db/new"}
    engine.refusal("ALTER CONNECTION pg OPTIONS ('user' = 'a', 'USER' = 'b')")
    engine.refusal("ALTER CONNECTION pg OPTIONS ('wrong' = 'a')")
    engine.refusal("ALTER CONNECTION other OPTIONS ('user' = 'a')")


def test_altered_secret_keeps_what_is_not_named(engine: Users) -> None:
    engine.run(SECRET)
    engine.run("ALTER SECRET shop FROM FILE '/run/secrets/shop'")
    engine.run("ALTER SECRET shop FOR 'jdbc:postgresql://db2/'")
    [secret] = engine.run("SHOW SECRETS")
    assert (secret["source"], secret["hosts"]) == ("FILE '/run/secrets/shop'", "jdbc:postgresql://db2/")
    engine.refusal("ALTER SECRET shop FOR 'db'")
    engine.refusal("ALTER SECRET shop FROM FILE 'shop'")


def test_used_objects_are_not_dropped(engine: Users) -> None:
    engine.run(SECRET)
    engine.run(CONNECTION)
    engine.jobs.runtime.tables_with_option["connection", "pg"] = ["spark_catalog.s.orders"]
    assert "the connection pg" in engine.refusal("DROP SECRET shop").message
    assert "the table s.orders" in engine.refusal("DROP CONNECTION pg").message
    engine.jobs.runtime.tables_with_option.clear()
    engine.run("DROP CONNECTION pg")
    engine.run("DROP SECRET shop")
    assert "nothing to drop" in engine.message("DROP SECRET IF EXISTS shop")
    assert "nothing to drop" in engine.message("DROP CONNECTION IF EXISTS pg")
    engine.refusal("DROP CONNECTION pg")


def test_without_a_right_nothing_exists(engine: Users) -> None:
    engine.run(SECRET)
    engine.run(CONNECTION)
    engine.run("CREATE USER ann")
    assert engine.run("SHOW SECRETS", "ann") == engine.run("SHOW CONNECTIONS", "ann") == []
    hidden = engine.refusal("DESCRIBE CONNECTION pg", "ann")
    missing = engine.refusal("DESCRIBE CONNECTION no", "ann")
    assert hidden.message.replace("pg", "no") == missing.message
    assert (hidden.condition, hidden.hint) == (missing.condition, missing.hint)
    for text in (SECRET, CONNECTION, "DROP SECRET shop", "DROP CONNECTION pg", "ALTER SECRET no FROM ENV 'X'"):
        assert engine.refusal(text, "ann").condition == "JETSQL.NOT_ALLOWED"


def test_usage_shows_no_files(engine: Users) -> None:
    engine.run(SECRET)
    engine.run("CREATE CONNECTION pg TYPE jdbc OPTIONS ('url' = 'jdbc:x', 'password' = 'secret:file:/run/canary')")
    engine.run("CREATE USER ann")
    engine.run("GRANT USAGE ON CONNECTION pg TO ann")
    engine.run("GRANT USAGE ON SECRET shop TO ann")
    assert [row["name"] for row in engine.run("SHOW CONNECTIONS", "ann")] == ["pg"]
    assert [row["source"] for row in engine.run("SHOW SECRETS", "ann")] == [None]
    assert "canary" not in str(engine.run("DESCRIBE CONNECTION pg", "ann"))
    assert "canary" in str(engine.run("DESCRIBE CONNECTION pg"))


def test_new_object_has_no_rights_of_a_dropped_one(engine: Users) -> None:
    engine.run("CREATE USER ann")
    for kind, create in (("SECRET", SECRET), ("CONNECTION", CONNECTION)):
        engine.run(create)
        engine.run(f"GRANT USAGE ON {kind} {'shop' if kind == 'SECRET' else 'pg'} TO ann")
    engine.run("DROP CONNECTION pg")
    engine.run("DROP SECRET shop")
    engine.run(SECRET)
    engine.run(CONNECTION)
    assert engine.run("SHOW SECRETS", "ann") == engine.run("SHOW CONNECTIONS", "ann") == []
    thing = Securable(SecurableKind.CONNECTION, ("pg",))
    assert all(grant.object != thing for grant in engine.jobs.manager.access.state.grants)


def test_rights_on_missing_objects_are_refused(engine: Users) -> None:
    engine.run("CREATE USER ann")
    engine.refusal("GRANT USAGE ON SECRET shop TO ann")
    engine.refusal("GRANT USAGE ON CONNECTION pg TO ann")


def test_running_jobs_with_the_old_version_are_named(engine: Users) -> None:
    engine.run(SECRET)
    engine.run(CONNECTION)
    job = engine.jobs.make("j")
    table = engine.jobs.manager.registry.live()[0].job.plan.analysis.sinks[0].table
    engine.jobs.runtime.tables_with_option["connection", "pg"] = [table]
    assert "j" not in (engine.run("SHOW CONNECTIONS")[0]["stale_jobs"] or "")
    registry = engine.jobs.manager.connections
    registry.save(replace(registry.state.secrets[0], changed=engine.jobs.manager.clock() + 60.0))
    assert engine.run("SHOW CONNECTIONS")[0]["stale_jobs"] == "j"
    engine.run("SUSPEND JOB j")
    assert engine.run("SHOW CONNECTIONS")[0]["stale_jobs"] is None
    assert job is not None
