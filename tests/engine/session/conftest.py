"""Fixtures of the tests of rights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.rights.restricted_session import Restricted, restricted

if TYPE_CHECKING:
    from jetsql.embedded.engine_instance import EngineInstance


@pytest.fixture(scope="module")
def ann(engine: EngineInstance, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restricted]:
    with restricted(engine, tmp_path_factory.mktemp("restricted")) as session:
        yield session
