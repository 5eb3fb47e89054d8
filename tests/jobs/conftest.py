"""Fixtures of tests that run on both databases of a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines.store_places import PLACES, SchemaPlace, StorePlace, make_place
from tests.support.servers.postgres import Postgres


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePlace]:
    """Yield an empty place for a store, on each database."""
    yield from make_place(request.param, tmp_path, request)


@pytest.fixture
def schema(postgres: Postgres) -> Iterator[SchemaPlace]:
    """Yield a schema for a store on PostgreSQL, which is empty."""
    place = SchemaPlace(postgres)
    yield place
    place.drop()
