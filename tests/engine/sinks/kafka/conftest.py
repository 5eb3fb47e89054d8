"""Fixtures of the tests with Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers.schema_registry import Registry, running_registry


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as served:
        yield served
