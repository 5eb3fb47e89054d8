"""Kafka tables, against a broker of the tests' own."""

from __future__ import annotations

import pytest

from jetsql.engine.startup import load_kafka
from tests.conftest import Sql
from tests.kafka import Kafka, Message

pytestmark = pytest.mark.spark


def test_the_connector_comes_while_the_engine_runs(sql: Sql, kafka: Kafka) -> None:
    kafka.topic("first", 1)
    kafka.send("first", [Message(b"a", b"1"), Message(None, None)])
    load_kafka(sql.engine.spark)
    load_kafka(sql.engine.spark)
    options = {"kafka.bootstrap.servers": kafka.servers, "subscribe": "first"}
    rows = sql.engine.spark.newSession().read.format("kafka").options(**options).load().collect()
    assert [(row.key, row.value) for row in rows] == [(b"a", b"1"), (None, None)]
