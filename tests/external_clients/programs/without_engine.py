"""JetSQL in an environment without PySpark: DB-API, SQLAlchemy, the command line and the shell."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import sqlalchemy
from story import Story, run_step

import jetsql

URL = sqlalchemy.make_url(os.environ["JETSQL_TEST_SQLALCHEMY"])
ADDRESS = f"http://{URL.host}:{URL.port}"
TOKEN = os.environ["JETSQL_TEST_TOKEN"]
JETSQL = str(Path(sys.executable).with_name("jetsql"))
REMOTE = {"JETSQL_URL": ADDRESS, "JETSQL_TOKEN": TOKEN}
LOCAL = {name: value for name, value in os.environ.items() if name != "JETSQL_HOME"}

connection = jetsql.connect(ADDRESS, token=TOKEN)
cursor = connection.cursor()


def run(text):
    cursor.execute(text)
    return cursor.fetchall() if cursor.description else []


def columns():
    return [column[0] for column in cursor.description or ()]


def command(*arguments, environ=REMOTE):
    return subprocess.run(
        [JETSQL, *arguments], env={**LOCAL, **environ}, capture_output=True, text=True, timeout=60, check=False
    )


def no_spark():
    assert importlib.util.find_spec("pyspark") is None and importlib.util.find_spec("py4j") is None
    assert "without" not in command("--version").stdout
    return ""


def alchemy():
    engine = sqlalchemy.create_engine(URL)
    with engine.connect() as opened:
        assert opened.execute(sqlalchemy.text("SELECT count(*) FROM jetsql.jobs")).scalar() >= 1
    engine.dispose()
    return ""


def command_line():
    ended = command("--format", "csv", "-e", "SELECT 1 + 1 AS two")
    assert (ended.stdout, ended.stderr) == ("two\n2\n", ""), ended
    assert story.job in command("list-jobs").stdout
    ended = command("-e", "SELECT nothing_like_it")
    assert ended.returncode == 1 and "UNRESOLVED_COLUMN" in ended.stderr, ended
    return ""


def shell():
    terminal = pexpect.spawn(JETSQL, env={**LOCAL, **REMOTE, "TERM": "xterm"}, timeout=30, dimensions=(30, 120))
    terminal.expect(">")
    terminal.send("SELECT 40 + 2 AS sum;\r")
    terminal.expect("42")
    terminal.send("\x04")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0, terminal.exitstatus
    return ""


def no_engine():
    home = {"JETSQL_HOME": os.path.join(os.environ["JETSQL_HOME"], "nothing-here")}
    ended = command("start", environ=home)
    assert ended.returncode == 3 and "[JETSQL.ENGINE_NOT_INSTALLED]" in ended.stderr, ended
    assert "pip install 'jetsql[engine]'" in ended.stderr, ended
    return ""


def explain(error):
    return f"{type(error).__name__} {error}"


story = Story(run, explain, columns, more=(no_spark, alchemy, command_line, shell, no_engine))
story.run_all()
run_step("close", lambda: connection.close() or "")
