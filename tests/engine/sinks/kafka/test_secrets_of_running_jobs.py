"""A running job reads and writes Kafka with a password: no page, report, log or file shows it."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow
import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from jetsql.home.discovery import read_note
from tests.support.engines.service_engine import ServiceEngine
from tests.support.screens.console_browser import Browser
from tests.support.servers.kafka import PASSWORD, USER, Kafka, Message
from tests.support.servers.ports import kinds, listeners

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="{PASSWORD}";'
CONF = "spark.sql.shuffle.partitions=2 spark.ui.enabled=true spark.ui.port=0 spark.eventLog.enabled=true"
CONSOLE = "/console/"
REST = (
    "sql?details=true&planDescription=true&length=1000",
    *("environment", "jobs", "stages", "executors"),
)
STATEMENTS = (
    "SHOW CREATE TABLE source",
    "DESCRIBE EXTENDED source",
    "SHOW TBLPROPERTIES source",
    "SHOW CREATE JOB copy",
    "DESCRIBE JOB EXTENDED copy",
    "SHOW JOB HISTORY copy",
    "EXPLAIN EXTENDED SELECT * FROM source",
    "EXPLAIN EXTENDED INSERT INTO sink (value) SELECT value FROM source",
    "EXPLAIN FORMATTED SELECT * FROM source",
    "EXPLAIN CREATE JOB other AS INSERT INTO sink (value) SELECT value FROM STREAM source",
    "EXPLAIN CREATE OR REPLACE JOB copy AS INSERT INTO sink (value) SELECT key FROM STREAM source",
    "SELECT to_json(struct(*)) FROM jetsql.jobs",
    "SELECT to_json(struct(*)) FROM jetsql.job_history",
    "SELECT to_json(struct(*)) FROM jetsql.metrics",
    "SELECT to_json(struct(*)) FROM jetsql.snapshots",
    "SHOW JOBS",
    "SET",
)
PAGES = 150


class Pages:
    """The pages of a site on loopback, found by the links in them."""

    def __init__(self, port: int, **headers: str) -> None:
        """Create it without pages. headers: of each request"""
        self._base = f"http://127.0.0.1:{port}"
        self._headers = headers
        self.texts: dict[str, str] = {}
        """The text by path."""

    def load(self, *paths: str, within: str = "/") -> None:
        """Load pages and all pages below a path that they link to."""
        left = list(paths)
        while left and len(self.texts) < PAGES:
            path = left.pop(0)
            if path in self.texts:
                continue
            text = self.texts[path] = self.read(path)
            found = (
                link.replace("&amp;", "&").removeprefix(self._base) for link in re.findall(r'href="([^"#]+)', text)
            )
            left += [link for link in found if link.startswith(within) and not re.search(r"static|assets|logout", link)]

    def read(self, path: str) -> str:
        request = urllib.request.Request(f"{self._base}{path}", headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return str(response.read().decode(errors="replace"))
        except urllib.error.HTTPError as error:  # such as a job that Spark has forgotten
            return error.read().decode(errors="replace")


@pytest.fixture
def engine(tmp_path: Path, kafka: Kafka) -> Iterator[ServiceEngine]:
    """Return an engine with a job from a topic into another one, as a user with a password."""
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID):
        kafka.allow(kind, "*", AclOperation.ALL)
    engine = ServiceEngine(tmp_path / "home", conf=CONF)
    engine("start")
    secure = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": LOGIN}
    for table in ("source", "sink"):
        topic = kafka.topic(f"secrets.{table}", 1)
        options = kafka.options(topic, **{f"kafka.{name}": value for name, value in secure.items()})
        engine("-e", f"CREATE TABLE {table} {options.replace(kafka.servers, kafka.sasl_servers)}")
    engine("-e", "CREATE JOB copy AS INSERT INTO sink (value) SELECT value FROM STREAM source")
    kafka.send("secrets.source", [Message(None, b"1")])
    engine("-e", "WAIT FOR JOB copy UNTIL IDLE; CREATE SNAPSHOT s FOR JOB copy")
    yield engine
    engine("stop")
    kafka.forbid_all()


def test_kafka_passwords_of_running_jobs_are_not_shown(engine: ServiceEngine) -> None:
    for text in STATEMENTS:
        shown = engine("--format", "json", "-e", text)
        assert PASSWORD not in shown, text
    note = read_note(engine.home)
    assert note is not None
    found = list(listeners(psutil.Process(note.pid)))
    [port] = [each.port for each, kind in zip(found, kinds(found), strict=True) if "web UI" in kind]
    ui = Pages(port, Authorization=f"Bearer {note.token}")
    [application] = json.loads(ui.read("/api/v1/applications"))
    ui.load("/jobs/", "/SQL/", "/StreamingQuery/", "/environment/", "/stages/", "/executors/")
    ui.load(*(f"/api/v1/applications/{application['id']}/{name}" for name in REST))
    assert {"/StreamingQuery/statistics", "/SQL/execution"} <= {path.partition("/?")[0] for path in ui.texts}
    assert [path for path, text in ui.texts.items() if PASSWORD in text] == []
    browser = Browser(note.url)
    assert browser.log_in(note.token).status == 303
    cookies = "; ".join("=".join(each) for each in browser.cookies.items())
    console = Pages(int(note.url.rpartition(":")[2]), Cookie=cookies)
    console.load(CONSOLE, within=CONSOLE)
    assert "/jobs/" in "\n".join(console.texts)
    assert [path for path, text in console.texts.items() if PASSWORD in text] == []
    assert PASSWORD not in engine("logs", "copy") and PASSWORD not in engine.log
    assert PASSWORD not in engine("status") and PASSWORD not in engine("--format", "json", "status")
    for log in engine.home.glob("events/*/events_*"):
        assert PASSWORD not in written(log)


def written(log: Path) -> str:
    """Return what Spark has written into an event log, which ends in the middle of a frame."""
    text = b""
    with pyarrow.CompressedInputStream(pyarrow.OSFile(str(log)), "zstd") as stream:
        with suppress(OSError):
            while piece := stream.read(65536):
                text += piece
    return text.decode(errors="replace")
