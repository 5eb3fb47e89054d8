"""dbt as a user with a role, over HTTPS: it builds the models in its schema, and reads only the sources of its role."""

import os

from jetsql_dbt import SCHEMA, change, dbt, folder, project, run
from story import run_step

ANALYST = os.environ["JETSQL_TEST_ANALYST"]


def rights():
    run(f"CREATE SCHEMA {SCHEMA}")
    run(f"GRANT SELECT, INSERT, MODIFY, CREATE ON SCHEMA {SCHEMA} TO analysts")
    run("GRANT SELECT ON TABLE orders TO analysts")
    return ""


def debug():
    found = dbt("debug", token=ANALYST)
    assert "Connection test: [OK connection ok]" in found and ANALYST not in found, found
    return ""


def build():
    output = dbt("build", token=ANALYST)
    assert "PASS=12" in output and "[Created." in output, output
    owned = [row[1:4] for row in run("SHOW GRANTS FOR analyst") if row[1] == "OWNER"]
    assert ("OWNER", "JOB", f"{SCHEMA}.large_orders") in owned, owned
    return ""


def hidden_source():
    (folder / "models" / "secrets.sql").write_text("SELECT * FROM shop.payroll")
    output = dbt("run", "--select", "secrets", code=1, token=ANALYST)
    assert "TABLE_OR_VIEW_NOT_FOUND" in output, output
    return ""


def right_taken():
    run("REVOKE SELECT ON TABLE orders FROM analysts")
    change("large_orders", "SELECT id,", "SELECT id + 0 AS id,")
    output = dbt("run", "--select", "large_orders", code=1, token=ANALYST)
    assert "TABLE_OR_VIEW_NOT_FOUND" in output or "JETSQL.NOT_ALLOWED" in output, output
    return ""


for step in (project, rights, debug, build, hidden_source, right_taken):
    run_step(step.__name__, step)
