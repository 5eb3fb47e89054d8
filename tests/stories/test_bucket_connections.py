"""Connections of buckets: users have tables below them, and no statement shows their logins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tests.support.servers.object_store import ObjectStore, running_object_store
from tests.support.servers.recording_proxy import RecordingProxy

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]
_IDS = ("AKIAFIRST", "AKIASECOND", "AKIAENGINE")
_KEYS = ("first-canary-key", "second-canary-key", "engine-canary-key")


class Buckets:
    """An engine with a login of its own for the store, and the users ann and bob."""

    def __init__(self, store: ObjectStore, folder: Path) -> None:
        port = int(store.endpoint.rpartition(":")[2])
        self.connection = RecordingProxy(port)  # the endpoint of the connection
        self.other = RecordingProxy(port)  # that of the engine
        self.folder = folder
        for number, (key_id, key) in enumerate(zip(_IDS, _KEYS, strict=True)):
            (folder / f"id{number}").write_text(key_id)
            (folder / f"key{number}").write_text(key)
        config = folder / "config.toml"
        config.write_text(
            f"""
s3 = true
s3_endpoint = "http://127.0.0.1:{self.other.port}"
s3_region = "us-east-1"
s3_path_style = true
s3_access_key = "secret:file:{folder}/id2"
s3_secret_key = "secret:file:{folder}/key2"
"""
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.programs.user_statements_of_stdin", str(folder / "home")],
            cwd=ROOT,
            env={**os.environ, "JETSQL_CONFIG": str(config)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.shown: list[str] = []  # all answers

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.connection.port}"

    def answer(self, text: str, user: str = "owner") -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([user, text]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        self.shown.append(line)
        return json.loads(line)

    def run(self, text: str, user: str = "owner") -> list[list[Any]]:
        rows = self.answer(text, user)
        assert isinstance(rows, list), rows
        return rows

    def refusal(self, text: str, user: str = "owner") -> str:
        error = self.answer(text, user)
        assert isinstance(error, str), error
        return error

    def options(self, **changed: str) -> str:
        """Return the options of a connection of the bucket."""
        options = {
            "bucket": "lake",
            "prefix": "in",
            "endpoint": self.endpoint,
            "path.style": "true",
            "access.key": "secret:id",
            "secret.key": "secret:key",
        } | {name.replace("_", "."): value for name, value in changed.items()}
        return ", ".join(f"'{name}' = '{value}'" for name, value in options.items() if value)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self.connection.close()
        self.other.close()


@pytest.fixture(scope="module")
def buckets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buckets]:
    folder = tmp_path_factory.mktemp("buckets")
    with running_object_store(folder) as store:
        buckets = Buckets(store, folder)
        try:
            yield buckets
        finally:
            buckets.close()


def test_users_have_tables_below_a_connection(buckets: Buckets) -> None:
    run, refusal = buckets.run, buckets.refusal
    for name in ("id", "key"):
        run(
            f"CREATE SECRET {name} FROM FILE '{buckets.folder}/{name}0' FOR 's3a://lake/', '{buckets.endpoint}'",
        )
    run(f"CREATE CONNECTION lake TYPE s3 OPTIONS ({buckets.options()})")
    for text in (
        "CREATE SCHEMA own",
        "CREATE USER ann",
        "CREATE USER bob",
        "GRANT CREATE ON SCHEMA own TO ann",
        "GRANT CREATE ON SCHEMA own TO bob",
        "GRANT USAGE ON CONNECTION lake TO ann",
    ):
        run(text)
    run("CREATE TABLE own.t (id INT) USING parquet LOCATION 's3a://lake/in/t'", "ann")
    run("INSERT INTO own.t VALUES (7)", "ann")
    assert run("SELECT * FROM own.t", "ann") == [[7]]
    assert buckets.connection.take_logins() == {"AKIAFIRST"}
    assert buckets.other.take_logins() == set()
    for place in ("s3a://lake/inner/t", "s3a://lake", "s3a://lake/in/../t", "s3://lake/in/t", "s3a://lake2/in/t"):
        assert "NOT_ALLOWED" in refusal(f"CREATE TABLE own.u (id INT) USING parquet LOCATION '{place}'", "ann")
    assert "no right USAGE" in refusal("CREATE TABLE own.u (id INT) USING parquet LOCATION 's3a://lake/in/t'", "bob")
    for text in ("SHOW CONNECTIONS", "DESCRIBE CONNECTION lake"):
        buckets.answer(text, "ann")
        buckets.answer(text, "bob")

    run("CREATE TABLE own.copy (id INT) USING parquet LOCATION 's3a://lake/in/copy'", "ann")
    often = "OPTIONS ('snapshotIntervalMillis' = '500')"
    run(f"CREATE JOB j {often} AS INSERT INTO own.copy SELECT * FROM STREAM own.t", "ann")
    run("WAIT FOR JOB j UNTIL IDLE TIMEOUT 100 SECONDS", "ann")
    assert run("SELECT * FROM own.copy", "ann") == [[7]]

    # Another bucket has the login of the engine, which never goes to the endpoint of the connection.
    refusal("SELECT * FROM parquet.`s3a://other/x`")
    assert buckets.other.take_logins() == {"AKIAENGINE"}
    assert buckets.connection.take_logins() == {"AKIAFIRST"}

    # The login is changed while a job runs.
    [[_, message]] = [row[:2] for row in run(f"ALTER SECRET key FROM FILE '{buckets.folder}/key1'")]
    assert "j" in message.split("old one: ")[1]
    run(f"ALTER SECRET id FROM FILE '{buckets.folder}/id1'")
    assert [row[4] for row in run("SHOW CONNECTIONS")] == ["j"]
    run("SUSPEND JOB j", "ann")
    buckets.connection.take_sent()
    assert run("SELECT * FROM own.copy", "ann") == [[7]]
    run("INSERT INTO own.t VALUES (8)", "ann")
    run("RESUME JOB j", "ann")
    run("WAIT FOR JOB j UNTIL IDLE TIMEOUT 100 SECONDS", "ann")
    assert sorted(run("SELECT * FROM own.copy", "ann")) == [[7], [8]]
    assert buckets.connection.take_logins() == {"AKIASECOND"}

    assert "used by the table own.copy, the table own.t" in refusal("DROP CONNECTION lake")
    for text in (
        "SHOW CREATE TABLE own.t",
        "DESCRIBE EXTENDED own.t",
        "EXPLAIN EXTENDED SELECT * FROM own.t",
        "EXPLAIN FORMATTED CREATE JOB k AS INSERT INTO own.copy SELECT * FROM STREAM own.t",
        "DESCRIBE JOB EXTENDED j",
        "SHOW JOB HISTORY j",
        "SET",
        "SET -v",
        "SHOW SECRETS",
        "DESCRIBE CONNECTION lake",
        "SELECT * FROM jetsql.audit",
    ):
        for user in ("owner", "ann", "bob"):
            buckets.answer(text, user)
    run("REVOKE USAGE ON CONNECTION lake FROM ann")
    assert "SUSPENDED" in str(run("SHOW JOBS"))
    assert "no right USAGE" in refusal("SELECT * FROM own.t", "ann")
    log = "".join(file.read_text(errors="replace") for file in (buckets.folder / "home").glob("*.log"))
    for key in _KEYS:
        assert key not in "".join(buckets.shown)
        assert key not in log
        assert key.encode() not in buckets.connection.take_sent()


def test_wrong_connections_are_refused(buckets: Buckets) -> None:
    buckets.run(f"CREATE SECRET bound FROM FILE '{buckets.folder}/key0' FOR 's3a://lake2/'")
    for options, expected in (
        (buckets.options(), "Another connection is for the bucket"),
        (buckets.options(bucket="lake2", access_key="AKIA", secret_key="secret:key"), "is a secret"),
        (buckets.options(bucket="lake2", access_key="secret:id", secret_key="secret:bound"), "SECRET_NOT_FOR_HOST"),
        (buckets.options(bucket="lake2"), "SECRET_NOT_FOR_HOST"),
        (buckets.options(bucket="lake2", access_key="secret:none"), "no secret named none"),
        (buckets.options(bucket=""), "the options name no host"),
        (buckets.options(bucket="Lake/2"), "'bucket'"),
        (buckets.options(bucket="secret:id"), "'bucket'"),
        (buckets.options(prefix="in/../x"), "'prefix'"),
        (buckets.options(endpoint=""), "'region'"),
        (buckets.options(secret_key=""), "'secret.key'"),
        (buckets.options(endpoint="http://user:x@host"), "'endpoint'"),
        (buckets.options(usr="x"), "no option 'usr'"),
    ):
        error = buckets.refusal(f"CREATE CONNECTION more TYPE s3 OPTIONS ({options})")
        assert expected in error, (options, error)
