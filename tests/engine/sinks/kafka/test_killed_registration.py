"""An engine that is killed with -9 while it registers a schema: the registry has it or not, and the job starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines.service_engine import ServiceEngine
from tests.support.servers.kafka import Kafka
from tests.support.servers.schema_registry import Registry

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JOB = "CREATE JOB j OPTIONS ('snapshotIntervalMillis' = '200') AS INSERT INTO sink SELECT id FROM STREAM numbers"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceEngine]:
    """Return an engine that each call starts if it does not run."""
    service = ServiceEngine(tmp_path / "home")
    yield service
    service("stop")


@pytest.mark.parametrize("format_", ["protobuf", "json"])
def test_a_killed_registration(service: ServiceEngine, kafka: Kafka, registry: Registry, format_: str) -> None:
    topic = kafka.topic(f"killed.{format_}", 1)
    subject = f"{topic}-value"
    options = {"value_format": format_, f"{format_}_schema_registry_url": registry.url}
    tables = (
        f"CREATE TABLE numbers (id BIGINT) USING json; CREATE TABLE sink (id BIGINT) {kafka.options(topic, **options)}"
    )
    service("-e", tables)
    for moment, versions in (("before", None), ("after", [1])):
        registry.holds = moment
        registry.held.clear()
        registry.released.clear()
        with service.begin("-e", JOB) as call:
            assert registry.held.wait(120)
            service.kill()
            registry.released.set()
            call.communicate(timeout=120)
        assert call.returncode != 0
        assert registry.subjects.get(subject) == versions
    registry.holds = ""
    service("-e", f"{JOB}; INSERT INTO numbers VALUES (5); WAIT FOR JOB j UNTIL IDLE")
    service.kill()
    service("-e", "INSERT INTO numbers VALUES (6); WAIT FOR JOB j UNTIL IDLE")
    bodies = {"protobuf": [b"\0\x08\x05", b"\0\x08\x06"], "json": [b'{"id":5}', b'{"id":6}']}
    assert [message.value for message in kafka.read(topic)] == [b"\0\0\0\0\1" + body for body in bodies[format_]]
    assert registry.subjects == {subject: [1]}
