"""dbt-spark over Thrift: build a model from a table while a job writes into the table."""

import os
import subprocess
import tempfile
from pathlib import Path

import pyhive.hive as hive
from story import run_step

schema = os.environ["JETSQL_TEST_SCHEMA"]
token = os.environ["JETSQL_TEST_TOKEN"]
host, port = os.environ["JETSQL_TEST_THRIFT"].removeprefix("jdbc:hive2://").split(":")

PROFILE = f"""
jetsql:
  target: dev
  outputs:
    dev:
      type: spark
      method: thrift
      host: {host}
      port: {port}
      user: jetsql
      auth: CUSTOM
      password: "{{{{ env_var('JETSQL_TEST_TOKEN') }}}}"
      schema: {schema}
"""
PROJECT = f"""
name: jetsql
version: "1.0.0"
profile: jetsql
models:
  +file_format: parquet
  +materialized: table
on-run-start: ["WAIT FOR JOB job_{schema}"]
on-run-end: ["SUSPEND JOB job_{schema}", "RESUME JOB job_{schema}"]
"""
MODEL = "SELECT count(*) AS n, count(DISTINCT id) AS ids FROM {{ source('live', 'numbers') }}"
SOURCES = f"""
version: 2
sources:
  - name: live
    schema: {schema}
    tables: [{{name: numbers}}]
models:
  - name: totals
    columns: [{{name: n, tests: [not_null]}}]
"""


def run(text):
    """Run a statement in a new session: a session that has read a table does not see that dbt recreated it."""
    with hive.connect(host, int(port), username="jetsql", password=token, auth="CUSTOM") as connection:
        with connection.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []


def table():
    run(f"CREATE SCHEMA {schema}")
    run(f"CREATE TABLE {schema}.clock USING `rate-micro-batch` OPTIONS ('rowsPerBatch' '10')")
    run(f"CREATE TABLE {schema}.numbers (id BIGINT) USING parquet")
    return ""


def create():
    run(
        f"CREATE JOB job_{schema} OPTIONS ('snapshotIntervalMillis' = '200') AS INSERT INTO {schema}.numbers"
        f" SELECT value FROM STREAM {schema}.clock"
    )
    return ""


def dbt(folder, *arguments):
    ended = subprocess.run(
        ["dbt", "--no-use-colors", "--no-send-anonymous-usage-stats", *arguments, "--profiles-dir", str(folder)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-900:] + ended.stderr[-300:]
    return next((line[10:] for line in ended.stdout.splitlines() if "Done. PASS" in line), "")


def models():
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "models").mkdir()
        (folder / "profiles.yml").write_text(PROFILE)
        (folder / "dbt_project.yml").write_text(PROJECT)
        (folder / "models" / "totals.sql").write_text(MODEL)
        (folder / "models" / "sources.yml").write_text(SOURCES)
        output = dbt(folder, "run")
        first = rows()
        dbt(folder, "run")
        assert rows() > first > 0, (first, rows())
        dbt(folder, "test")
    return output


def rows():
    [(n, ids)] = run(f"SELECT n, ids FROM {schema}.totals")
    assert n == ids, (n, ids)
    return n


def drop():
    run(f"DROP JOB job_{schema}")
    run(f"DROP SCHEMA {schema} CASCADE")
    return ""


for step in (table, create, models, drop):
    run_step(step.__name__, step)
