"""WAIT FOR JOB ... UNTIL IDLE on a job that polls its source all the time, so that a trigger is always running."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Sql

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_a_trigger_under_way_is_not_the_last_word(sql: "Sql") -> None:
    sql("CREATE TABLE source (k INT) USING json")
    sql("CREATE TABLE sink (k INT) USING json")
    # Many files make long triggers: each lists them all.
    sql("INSERT INTO source SELECT /*+ REPARTITION(200) */ CAST(id AS INT) FROM range(200)")
    sql("CREATE JOB busy OPTIONS ('snapshotIntervalMillis' = '1') AS INSERT INTO sink SELECT k FROM STREAM source")
    for _ in range(20):
        sql("WAIT FOR JOB busy UNTIL IDLE TIMEOUT 60 SECONDS")
    assert sql("SELECT count(*) FROM sink") == [(200,)]
