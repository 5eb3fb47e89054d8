"""Jobs that begin to read Delta tables at the position of the clause START_MODE."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.tables.lakehouse import Lakehouse, lakehouse

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakehouse]:
    with lakehouse("4.2", tmp_path_factory.mktemp("delta"), "delta = true") as session:
        yield session


def _check(session: Lakehouse, table: str, provider: str) -> None:
    """Begin with the rows after the statement, before and after the next one is there, and at the beginning."""
    session(f"CREATE TABLE {table} (id BIGINT) USING {provider}", f"INSERT INTO {table} VALUES (1)")
    for number, mode in enumerate(("FROM_NOW", "FROM_BEGINNING", "FROM_NOW(INTERVAL '1' HOUR)")):
        session(f"CREATE TABLE copy{number} (id BIGINT) USING parquet")
        session(
            f"CREATE JOB starts{number} START_MODE = {mode} AS INSERT INTO copy{number} SELECT id FROM STREAM {table}"
        )
    session(
        "SUSPEND JOB starts0",
        f"INSERT INTO {table} VALUES (2)",
        f"INSERT INTO {table} VALUES (3)",
        "RESUME JOB starts0",
    )
    assert session.all_rows_of("starts0", "copy0") == [(2,), (3,)]
    for number in (1, 2):
        assert session.all_rows_of(f"starts{number}", f"copy{number}") == [(1,), (2,), (3,)]


def test_delta_begins_at_versions(delta: Lakehouse) -> None:
    _check(delta, "d", "delta")
