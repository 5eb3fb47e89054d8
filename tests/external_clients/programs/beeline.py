"""Beeline from PySpark's jars: one process that runs a script, with a line before each step."""

import os
import subprocess

import pyspark
from story import run_step

schema = os.environ["JETSQL_TEST_SCHEMA"]
job = f"job_{schema}"
STEPS = {
    "connect": (["SELECT 1 AS one"], ["one", "1"]),
    "table": (
        [
            f"CREATE SCHEMA {schema}",
            f"USE {schema}",
            "CREATE TABLE orders (id INT, amount DECIMAL(10,2), at TIMESTAMP) USING json",
            "CREATE TABLE big (id INT, amount DECIMAL(10,2), at TIMESTAMP) USING parquet",
            "INSERT INTO orders VALUES (1, 20.00, now()), (2, 350.50, now())",
        ],
        [],
    ),
    "create": (
        [
            f"CREATE JOB {job} OPTIONS ('snapshotIntervalMillis' = '500') AS INSERT INTO big SELECT * FROM STREAM"
            " orders WHERE amount > 100"
        ],
        [f",{job},RUNNING,Created."],
    ),
    "list": (["SHOW JOBS"], ["id,name,status,submission_time,delivery", f",{job},RUNNING,20"]),
    "relation": (["SELECT name, status FROM jetsql.jobs"], [f"{job},RUNNING"]),
    "deliver": (
        [
            "INSERT INTO orders VALUES (3, 990.00, now())",
            f"WAIT FOR JOB {job} UNTIL IDLE",
            "SELECT id, amount FROM big",
        ],
        ["2,350.50", "3,990.00"],
    ),
    "suspend_resume": ([f"SUSPEND JOB {job}", f"ALTER JOB {job} RESUME"], [f"{job},SUSPENDED", f"{job},RUNNING"]),
    "error": (["SUSPEND JOB nobody_knows"], ["[JETSQL.JOB_NOT_FOUND]", "state=42704"]),
    "drop": ([f"DROP JOB {job}", "USE default", f"DROP SCHEMA {schema} CASCADE"], ["Cancelled by user"]),
}


def beeline(script: str, *token: str) -> str:
    program = f"{os.path.dirname(pyspark.__file__)}/bin/beeline"
    address = ["-u", os.environ["JETSQL_TEST_THRIFT"], "-n", "jetsql", *token]
    form = ["--silent=true", "--outputformat=csv2", "--force=true", "-f", "/dev/stdin"]
    ended = subprocess.run(
        [program, *address, *form],
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    return ended.stdout


def story() -> None:
    begin = "SELECT 'step' AS `step {}`;\n"
    script = "".join(begin.format(name) + ";\n".join(texts) + ";\n" for name, (texts, _) in STEPS.items())
    output = beeline(script, "-w", os.environ["JETSQL_HOME"] + "/engine.token")
    for name, (_, expected) in STEPS.items():
        part = output.partition(f"step {name}\n")[2].partition("step ")[0] if f"step {name}\n" in output else ""
        run_step(name, lambda part=part, expected=expected: found(part, expected, output))


def found(part: str, expected: list[str], output: str) -> str:
    missing = [words for words in expected if words not in part]
    assert part and not missing and (expected[:1] == ["[JETSQL.JOB_NOT_FOUND]"] or "Error" not in part), part or output
    return next((line for line in part.splitlines() if "Error" in line), "")[:200]


def wrong_token() -> str:
    output = beeline("SELECT 'came in';\n", "-p", "wrong")
    assert "came in" not in output.replace("SELECT 'came in'", ""), output
    return next((line for line in output.splitlines() if "rror" in line), output)[:200]


story()
run_step("wrong token", wrong_token)
