"""A random walk of a restricted user finds nothing that is hidden, and changes nothing."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import Final

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tests.support.hypothesis_profiles import seed
from tests.support.rights.restricted_session import HIDDEN, Restricted
from tests.support.rights.statement_walk import Walk

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(7200)]
_LOG: Final = logging.getLogger(__name__)
_SECONDS: Final = float(os.environ.get("JETSQL_RIGHTS_SECONDS", "60"))


def test_random_statements_find_nothing(ann: Restricted, record_property: Callable[[str, object], None]) -> None:
    walk = Walk(seed() or 48)
    deadline = time.monotonic() + _SECONDS
    tried = errors = 0
    while time.monotonic() < deadline:
        statement = walk.next()
        tried += 1
        try:
            text = repr(ann.run(statement))
        except (PySparkException, Py4JError) as error:
            text, errors = str(error), errors + 1
        shown = [word for word in HIDDEN if word in text and word not in statement]
        assert not shown, f"after {tried} statements: {statement}\n{text}"
        if tried % 20 == 0:
            assert ann.effects() == [], f"one of the 20 statements up to {tried}: {statement}"
    record_property("statements", tried)
    _LOG.info("%s statements, of which %s were refused or failed", tried, errors)
    assert ann.run_as_owner("SELECT count(*), min(id) FROM hr.pay") == [(1, 1)]
    assert ann.run_as_owner("SELECT count(*) FROM s.orders") == [(2,)]
    assert tried > errors > 0
