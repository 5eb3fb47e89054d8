"""`jetsql store copy`: all rows arrive or none, and afterwards only the copy is used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner

from jetsql.cli import cli
from jetsql.cli.flags import ExitCode
from jetsql.errors import EngineError
from jetsql.home.home_lock import HomeLock
from jetsql.home.store_note import STORE, read_store_note
from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.access.connection_records import StoredConnections
from jetsql.jobs.alerts.alert_records import AlertChange, StoredAlerts
from jetsql.jobs.model.function import Function, FunctionColumn
from jetsql.jobs.model.job import Status
from jetsql.jobs.model.leadership import LeaseTimes
from jetsql.jobs.store import store_copy
from jetsql.jobs.store.job_store import Store
from jetsql.jobs.store.metrics import Metrics
from jetsql.jobs.store.postgresql.store_schema import StoreSchema
from jetsql.jobs.store.store_choice import find_database, open_store
from jetsql.jobs.store.store_copy import StoreCopy, copy_store
from tests.conftest import until
from tests.jobs.store.test_access_rows import STATE, same
from tests.jobs.store.test_alert_rows import ALERT, MESSAGE
from tests.jobs.store.test_alert_rows import STATE as ALERT_STATE
from tests.jobs.store.test_connection_rows import CONNECTION
from tests.jobs.store.test_connection_rows import SECRET as SECRET_OF_SHOP
from tests.jobs.store.test_metrics import FULL
from tests.jobs.store.test_store import JOB, row, snapshot
from tests.support.engines.store_places import SchemaPlace
from tests.support.golden_reports import raises
from tests.support.paths import ROOT
from tests.support.servers.postgres import PASSWORD

pytestmark = pytest.mark.spark  # needs a server, as tests with Spark do
SECRET = "secret:env:STORE_PASSWORD"
COUNTS = {
    **{"functions": 1, "jobs": 2, "meta": 4, "snapshots": 1, "history": 3, "measures": 120},
    **{"users": 2, "roles": 1, "members": 1, "tokens": 1, "grants": 3, "owners": 1},
    **{"secrets": 1, "connections": 1, "alerts": 1, "alert_states": 1, "alert_messages": 1},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with a store that has rows in each table."""
    home = tmp_path / "home"
    home.mkdir()
    with closing(open_store(home, None, None)) as store:
        fill(store)
    return home


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_PASSWORD", PASSWORD)


def fill(store: Store) -> None:
    store.add(JOB, row(JOB, "submitted"))
    ended = replace(JOB, id="0002-0000-0000-0001", name="ended", status=Status.COMPLETED, end_time=7.25)
    store.add(ended, row(ended, "with a \0"))
    store.add_snapshot(snapshot(), None, row(JOB, "snapshot"))
    column = FunctionColumn("", "INT")
    store.save_function(Function("s", "f", (), (column,), False, "return 1", None, None, True, None, 1.0, "ann"))
    store.remove_snapshot("0009-0000-0000-0001")
    store.save_access(AccessState(), STATE)
    store.save_connection(SECRET_OF_SHOP)
    store.save_connection(CONNECTION)
    store.save_alert(ALERT, keeps_states=False)
    store.save_alert_changes([AlertChange(ALERT, "j", ALERT_STATE, MESSAGE)])
    metrics = Metrics()
    stored = store.database.metrics_store(metrics)
    stored.start([JOB.id])
    for batch in range(300):
        metrics.add(JOB.id, replace(FULL, batch=batch, time=FULL.time + batch))
    stored.close()


def to_schema(home: Path, schema: SchemaPlace) -> StoreCopy:
    return copy_store(home, None, None, schema.url)


def to_home(home: Path, schema: SchemaPlace) -> StoreCopy:
    return copy_store(home, str(schema.url), SECRET, None)


def contents(store: Store) -> tuple[object, ...]:
    metrics = Metrics()
    stored = store.database.metrics_store(metrics)
    stored.start([JOB.id])
    stored.close()
    facts = store.id, store.newest_id(), store.all_jobs(), store.snapshots(), store.functions(), metrics.rows(JOB.id)
    assert same(store.access(), STATE)
    assert store.connections() == StoredConnections((SECRET_OF_SHOP,), (CONNECTION,))
    assert store.alerts() == StoredAlerts((ALERT,), {(ALERT.id, "j"): ALERT_STATE}, (MESSAGE,))
    return (*facts, [replace(each, event=each.event.replace("\0", "\ufffd")) for each in store.history()])


def files(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.glob("*.db*")}


def is_empty(schema: SchemaPlace) -> bool:
    return schema.execute(f"SELECT 1 FROM pg_namespace WHERE nspname = '{schema.url.schema}'") == []


def test_copy_to_postgresql_and_back(home: Path, schema: SchemaPlace, tmp_path: Path) -> None:
    with closing(open_store(home, None, None)) as store:
        expected = contents(store)
    before = files(home)
    copied = to_schema(home, schema)
    assert copied.counts == COUNTS
    assert not copied.was_complete and files(home) == before
    with raises(EngineError, match="the setting store is missing"):
        open_store(home, None, None)
    with closing(open_store(home, str(schema.url), SECRET)) as store:
        assert contents(store) == expected
        suspended = replace(JOB, status=Status.SUSPENDED)
        store.save(suspended, row(suspended, "suspended"))
        expected = contents(store)
    with raises(EngineError, match="STORE_NOT_EMPTY"):  # the old file, which is older now
        to_home(home, schema)
    (home / STORE).rename(tmp_path / "old.db")
    to_home(home, schema)
    assert (home / STORE).stat().st_mode & 0o077 == 0
    with raises(EngineError, match="but the setting store is"):
        open_store(home, str(schema.url), SECRET)
    with closing(open_store(home, None, None)) as store:
        assert contents(store) == expected
    assert sorted(path.name for path in home.glob("*.db*")) == ["jetsql.db", "metrics.db"]


def test_from_one_schema_to_another(home: Path, schema: SchemaPlace) -> None:
    to_schema(home, schema)
    second = SchemaPlace(schema.server)
    copy_store(home, str(schema.url), SECRET, second.url)
    note = read_store_note(home)
    assert note is not None and note.store == str(second.url)
    second.drop()


def test_a_target_with_other_contents_is_refused(home: Path, schema: SchemaPlace) -> None:
    with closing(Store(schema.database())):
        pass
    before = schema.dump(), files(home)
    with raises(EngineError, match="belongs to another home"):
        to_schema(home, schema)
    schema.execute("DROP TABLE meta")
    with raises(EngineError, match="not a JetSQL store"):
        to_schema(home, schema)
    assert files(home) == before[1]
    assert find_database(home, None, None).inspect() is not None


def test_nothing_is_copied_while_an_engine_runs(home: Path, schema: SchemaPlace) -> None:
    lock = HomeLock(home)
    with raises(EngineError, match="HOME_IN_USE"):
        to_schema(home, schema)
    lock.release()
    to_schema(home, schema)
    with closing(open_store(home, str(schema.url), SECRET)), raises(EngineError, match="STORE_IN_USE"):
        to_home(home, schema)


@pytest.mark.parametrize("missing", ["home", "store", "note"])
def test_a_home_without_a_store(home: Path, schema: SchemaPlace, missing: str) -> None:
    if missing == "home":
        home = home / "nowhere"
    elif missing == "store":
        (home / STORE).unlink()
    else:
        (home / "engine.store").write_text("{")
    with raises(EngineError):
        to_schema(home, schema)
    assert is_empty(schema)


def test_an_older_store_is_refused(home: Path, schema: SchemaPlace) -> None:
    from tests.support.engines.store_places import FilePlace

    FilePlace(home / STORE).execute("UPDATE meta SET value = '4' WHERE key = 'version'")
    with raises(EngineError, match="has version 4, not"):
        to_schema(home, schema)
    assert is_empty(schema)


def test_a_store_is_not_copied_to_itself(home: Path, schema: SchemaPlace) -> None:
    with raises(EngineError, match="is already in"):
        copy_store(home, None, None, None)
    to_schema(home, schema)
    with raises(EngineError, match="is already in"):
        copy_store(home, str(schema.url), SECRET, schema.url)


def test_differing_rows_roll_back_the_copy(home: Path, schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    real = store_copy._write

    def lossy(connections: object, rows: Mapping[str, list[tuple[object, ...]]]) -> None:
        changed = {**rows, "jobs": rows["jobs"]}
        monkeypatch.setattr(store_copy, "_digest", lambda stored: id(stored))
        real(connections, changed)  # type: ignore[arg-type]

    monkeypatch.setattr(store_copy, "_write", lossy)
    with raises(EngineError, match="of the copy differs"):
        to_schema(home, schema)
    assert is_empty(schema) and read_store_note(home).store == ""  # type: ignore[union-attr]


KILLED = """
import os, signal, sys, time
from pathlib import Path
from jetsql.home.store_url import open_url
from jetsql.jobs.store import store_copy

def kill(*_):
    if len(sys.argv) > 5:
        Path(sys.argv[5]).touch()
        time.sleep(60)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(store_copy, sys.argv[1], kill)
setting = sys.argv[3] or None
target = open_url(sys.argv[4], "secret:env:STORE_PASSWORD") if sys.argv[4] else None
store_copy.copy_store(Path(sys.argv[2]), setting, "secret:env:STORE_PASSWORD", target)
"""


def killed(moment: str, home: Path, setting: str, target: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, moment, home, setting, target],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("moment", "complete"), [("_digest", False), ("move_store", True)])
def test_a_kill_leaves_an_empty_or_a_complete_copy(
    home: Path, schema: SchemaPlace, moment: str, complete: bool, tmp_path: Path
) -> None:
    before = files(home)
    killed(moment, home, "", str(schema.url))
    assert is_empty(schema) is not complete and files(home) == before
    Store(find_database(home, None, None)).close()  # the source is still the home's store
    assert to_schema(home, schema).was_complete is complete

    (home / STORE).rename(tmp_path / "old.db")
    killed(moment, home, str(schema.url), "")
    assert (home / STORE).exists() is complete
    if complete:
        with raises(EngineError, match="If `jetsql store copy` was interrupted, repeat it"):
            Store(find_database(home, str(schema.url), SECRET))
    else:
        Store(find_database(home, str(schema.url), SECRET)).close()
    assert to_home(home, schema).was_complete is complete
    with closing(open_store(home, None, None)) as store:
        assert len(store.all_jobs()) == 2


@pytest.mark.parametrize(("moment", "complete"), [("_digest", False), ("move_store", True)])
def test_a_standby_waits_for_the_end_of_a_copy(
    home: Path, schema: SchemaPlace, moment: str, complete: bool, tmp_path: Path
) -> None:
    """Kill the copy; the standby leads only if the jobs do not continue with the copy."""
    to_schema(home, schema)
    target, reached = SchemaPlace(schema.server), tmp_path / "reached"
    command = [sys.executable, "-c", KILLED, moment, str(home), str(schema.url), str(target.url), str(reached)]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}) as copying:
        until(reached.exists)
        database = find_database(home, str(schema.url), SECRET, LeaseTimes(0.1, 0.5))
        assert isinstance(database, StoreSchema)
        with ThreadPoolExecutor(1) as threads:
            leads = threads.submit(database.lease.wait, Event())
            with pytest.raises(TimeoutError):
                leads.result(2.0)
            copying.kill()
            assert leads.result(30.0)
    if complete:
        with raises(EngineError, match="it was copied to"):
            Store(database)
    else:
        with closing(Store(database)) as store:
            assert len(store.all_jobs()) == 2
            with raises(EngineError, match="STORE_IN_USE"):
                copy_store(home, str(schema.url), SECRET, target.url)
    assert copy_store(home, str(schema.url), SECRET, target.url).was_complete is complete
    with raises(EngineError, match="it was copied to"):
        Store(database)
    with raises(EngineError, match="it was copied to"):
        copy_store(home, str(target.url), SECRET, schema.url)
    target.drop()


def test_the_numbers_of_leaders_continue(home: Path, schema: SchemaPlace, tmp_path: Path) -> None:
    """Continue the numbers of leaders, because checkpoints and staging folders have them."""
    numbers = []

    def lead(setting: str | None) -> None:
        with closing(open_store(home, setting, SECRET)) as store:
            numbers.append(store.database.leadership.number)

    to_schema(home, schema)
    for _ in range(3):
        lead(str(schema.url))
    (home / STORE).rename(tmp_path / "old.db")
    to_home(home, schema)
    lead(None)
    lead(None)
    schema.drop()
    to_schema(home, schema)
    lead(str(schema.url))
    assert numbers == [1, 2, 3, 4, 4, 5]


def test_copy_command(home: Path, schema: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETSQL_HOME", str(home))
    url = str(replace(schema.url, user="")).replace("//", f"//{schema.url.user}:{SECRET}@")
    ended = CliRunner().invoke(cli, ["store", "copy", "--to", url])
    assert (ended.exit_code, ended.stdout.splitlines()[0]) == (
        ExitCode.SUCCESS,
        f"copied: {home / STORE} to {schema.url}",
    )
    assert f'Set store = "{schema.url}"' in ended.stderr and PASSWORD not in ended.output
    ended = CliRunner().invoke(cli, ["store", "copy", "--to", "home"])
    assert ended.exit_code == ExitCode.NO_ENGINE and "the setting store is missing" in ended.stderr
    monkeypatch.setenv("JETSQL_STORE", str(schema.url))
    monkeypatch.setenv("JETSQL_STORE_PASSWORD", SECRET)
    ended = CliRunner().invoke(cli, ["store", "copy", "--to", "home"])
    assert "was copied already" in ended.stdout and "Remove the setting store" in ended.stderr
    for wrong in ("mysql://x/y", f"postgresql://ann:{PASSWORD}@h/d"):
        ended = CliRunner().invoke(cli, ["store", "copy", "--to", wrong], standalone_mode=False)
        assert "The value of --to is not valid" in str(ended.exception) and PASSWORD not in str(ended.exception)
