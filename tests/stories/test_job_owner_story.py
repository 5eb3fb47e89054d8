"""A right that is taken while the engine is down holds for the next engine, which starts only the other jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from jetsql.client.engine_client import EngineClient
from jetsql.jobs.access import access_changes
from jetsql.jobs.access.access_records import Right, Securable, SecurableKind
from jetsql.jobs.store.job_store import Store
from tests.support.engines.service_engine import ServiceEngine
from tests.support.rights.restricted_session import CANARY

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
OFTEN: Final = "OPTIONS ('snapshotIntervalMillis' = '200')"
_SETUP: Final = (
    "CREATE USER ann",
    "CREATE SCHEMA s",
    *(f"CREATE TABLE s.{name} (id INT, text STRING) USING parquet" for name in ("source", "copy", "other")),
    "INSERT INTO s.source VALUES (1, 'a')",
    "GRANT SELECT ON TABLE s.source TO ann",
    "GRANT INSERT ON TABLE s.copy TO ann",
    f"CREATE JOB other {OFTEN} AS INSERT INTO s.other SELECT * FROM STREAM s.source",
)
_SOURCE: Final = Securable(SecurableKind.TABLE, ("spark_catalog", "s", "source"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ServiceEngine]:
    engine = ServiceEngine(tmp_path / "home")
    engine("start")
    yield engine
    engine("stop")


def test_right_that_was_taken_while_the_engine_was_down(engine: ServiceEngine) -> None:
    engine("-e", ";\n".join(_SETUP))
    [[_, token, *_]] = engine.rows("CREATE TOKEN FOR ann")
    ann = EngineClient(engine.url, str(token))
    ann.run(f"CREATE JOB copying {OFTEN} AS INSERT INTO s.copy SELECT * FROM STREAM s.source")
    ann.run("WAIT FOR JOB copying UNTIL IDLE TIMEOUT 60")
    ann.close()
    engine.kill()

    store = Store(engine.home / "jetsql.db")
    before = store.access()
    store.save_access(before, access_changes.revoke(before, "ann", [Right.SELECT], _SOURCE, 0.0))
    store.close()
    engine("start")
    engine("-e", f"INSERT INTO s.source VALUES (2, '{CANARY}'); WAIT FOR JOB other UNTIL IDLE TIMEOUT 60")

    assert engine.rows("SELECT count(*) FROM s.other") == [[2]]
    assert engine.rows("SELECT * FROM s.copy") == [[1, "a"]]
    shown = engine.rows("SELECT status, last_error_condition FROM jetsql.jobs WHERE name = 'copying'")
    assert shown == [["SUSPENDED", "JETSQL.NOT_ALLOWED"]]
    engine("-e", "RESUME JOB copying", code=1)
    granted = "GRANT SELECT ON TABLE s.source TO ann"
    engine("-e", f"{granted}; RESUME JOB copying; WAIT FOR JOB copying UNTIL IDLE TIMEOUT 60")
    assert engine.rows("SELECT count(*) FROM s.copy") == [[2]]
