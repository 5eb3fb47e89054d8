"""Fixtures of the tests of Delta and Iceberg: a module names this one in `pytest_plugins`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tables.lake_tables import ENGINES, LakeTables, lake_engine, lake_schema


@pytest.fixture(scope="module", params=ENGINES)
def lake_home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Start an engine with a format, and yield the format and the home."""
    with lake_engine(request.param, tmp_path_factory.mktemp(request.param)) as home:
        yield request.param, home


@pytest.fixture
def lake(lake_home: tuple[str, Path]) -> Iterator[LakeTables]:
    """Create a schema, and drop all jobs at the end."""
    table_format, home = lake_home
    with lake_schema(home, table_format) as tables:
        yield tables
