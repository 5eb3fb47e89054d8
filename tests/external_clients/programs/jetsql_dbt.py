"""dbt over HTTP with the project of examples/dbt: jobs are created, left alone, updated, refused and created again."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from story import run_step

import jetsql

EXAMPLE = Path(__file__).parents[3] / "examples" / "dbt"
SCHEMA = os.environ["JETSQL_TEST_SCHEMA"]
URL, TOKEN = os.environ["JETSQL_TEST_URL"], os.environ["JETSQL_TEST_TOKEN"]
JOB = f"{SCHEMA}.large_orders"

folder = Path(tempfile.mkdtemp(prefix="jetsql-dbt-")) / "shop"


def run(text):
    with jetsql.connect(URL, token=TOKEN) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        return cursor.fetchall() if cursor.description else []


def dbt(*arguments, code=0, url=URL, token=TOKEN):
    """Run dbt, and return what it prints."""
    ended = subprocess.run(
        ["dbt", "--no-use-colors", *arguments, "--profiles-dir", "."],
        cwd=folder,
        env={**os.environ, "JETSQL_URL": url, "JETSQL_TOKEN": token, "SHOP_SCHEMA": SCHEMA},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    failures = ended.stdout.partition("Completed with")[2]
    assert ended.returncode == code, (failures or ended.stdout[-1500:]) + ended.stderr[-300:]
    return ended.stdout


def change(model, old, new):
    file = folder / "models" / f"{model}.sql"
    text = file.read_text()
    assert old in text, (old, text)
    file.write_text(text.replace(old, new))


def job(column):
    [[value]] = run(f"SELECT {column} FROM jetsql.jobs WHERE name = '{JOB}' AND status = 'RUNNING'")
    return value


def project():
    shutil.copytree(EXAMPLE, folder)
    for text in (folder / "orders.sql").read_text().partition("\n")[2].split(";"):
        if text.strip():
            run(text)
    return ""


def debug():
    found = dbt("debug")
    assert "Connection test: [OK connection ok]" in found and TOKEN not in found, found
    assert "JETSQL.NOT_AUTHORIZED" in dbt("debug", code=1, token="wrong")
    assert "JETSQL.ENGINE_NOT_REACHABLE" in dbt("debug", code=1, url="http://127.0.0.1:9")
    return ""


def build():
    output = dbt("build")
    assert "PASS=12" in output and "[Created." in output, output
    assert run(f"SELECT id FROM {SCHEMA}.large_orders ORDER BY id") == [(1,), (2,), (4,)]
    return ""


def unchanged():
    before = job("run")
    assert "[unchanged, RUNNING" in dbt("run", "--select", "large_orders", "largest")
    assert job("run") == before
    return ""


def state_kept():
    run("INSERT INTO orders VALUES (5, 'Ada', 150.00, now()), (6, 'Ada', 500.00, now())")
    run(f"WAIT FOR JOB `{JOB}` UNTIL IDLE")
    assert "[Updated." in dbt("run", "--select", "large_orders", "--vars", "large: 400")
    run("INSERT INTO orders VALUES (7, 'Ada', 150.00, now()), (8, 'Ada', 600.00, now())")
    run(f"WAIT FOR JOB `{JOB}` UNTIL IDLE")
    assert [row[0] for row in run(f"SELECT id FROM {SCHEMA}.large_orders ORDER BY id")] == [1, 2, 4, 5, 6, 8]
    return ""


def refused_update():
    started = job("id")
    change("large_orders", "SELECT id, customer, amount, at", "SELECT DISTINCT id, customer, amount, at")
    output = dbt("run", "--select", "large_orders", "--vars", "large: 400", code=1)
    assert "[JETSQL.STATE_NOT_COMPATIBLE]" in output and "--full-refresh" in output, output
    assert job("id") == started
    return ""


def full_refresh():
    started = job("id")
    dbt("run", "--full-refresh", "--select", "large_orders", "--vars", "large: 400")
    assert job("id") != started
    assert [row[0] for row in run(f"SELECT id FROM {SCHEMA}.large_orders ORDER BY id")] == [4, 6, 8]
    return ""


def rules():
    known = """{'known': {'expect': "customer <> 'Eve'", 'on_violation': 'drop row'}}"""
    change("large_orders", "materialized='job',", f"materialized='job', expect_tests=true, expectations={known},")
    assert "[Updated." in dbt("run", "--select", "large_orders", "--vars", "large: 400")
    run("INSERT INTO orders VALUES (9, 'Eve', 700.00, now()), (NULL, 'Ada', 800.00, now())")
    run(f"WAIT FOR JOB `{JOB}` UNTIL IDLE")
    assert [row[0] for row in run(f"SELECT id FROM {SCHEMA}.large_orders ORDER BY id")] == [None, 4, 6, 8]
    counts = run(f"SELECT rule, violations FROM jetsql.expectations WHERE job_id = '{job('id')}' ORDER BY rule")
    assert counts == [("id_not_null", 1), ("known", 1)], counts
    change("large_orders", "drop row", "drop rows")
    output = dbt("run", "--select", "large_orders", code=1)
    assert "Invalid on_violation of the rule known: drop rows" in output, output
    change("large_orders", "drop rows", "drop row")
    return ""


def broken_model():
    change("countries", "c.country,", "c.contry,")
    output = dbt("run", "--select", "countries", code=1)
    assert "[UNRESOLVED_COLUMN" in output and "c.contry" in output and "^" in output, output
    change("countries", "c.contry,", "c.country,")
    return ""


def docs():
    dbt("docs", "generate")
    catalog = json.loads((folder / "target" / "catalog.json").read_text())
    columns = catalog["nodes"]["model.shop.large_orders"]["columns"]
    assert [column["name"] for column in columns.values()] == ["id", "customer", "amount", "at"], columns
    manifest = json.loads((folder / "target" / "manifest.json").read_text())
    assert "source.shop.live.orders" in manifest["parent_map"]["model.shop.large_orders"]
    return ""


def freshness():
    dbt("source", "freshness")
    return ""


def drop():
    run(f"DROP JOB `{JOB}`")
    run(f"DROP STREAMING TABLE {SCHEMA}.totals")
    run(f"DROP SCHEMA {SCHEMA} CASCADE")
    run("DROP TABLE orders")
    shutil.rmtree(folder.parent)
    return ""


STEPS = (
    project,
    debug,
    build,
    unchanged,
    state_kept,
    refused_update,
    full_refresh,
    rules,
    broken_model,
    docs,
    freshness,
    drop,
)

if __name__ == "__main__":
    for step in STEPS:
        run_step(step.__name__, step)
