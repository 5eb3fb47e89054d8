"""The shell and the command line on another machine: `jetsql login` saves the token of a user for the engine's URL."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pexpect
from story import run_step

URL, TOKEN = os.environ["JETSQL_TEST_URL"], os.environ["JETSQL_TEST_OPERATOR"]
JETSQL = str(Path(sys.executable).with_name("jetsql"))
HOME = tempfile.mkdtemp()
LOCAL = {
    name: value for name, value in os.environ.items() if not name.startswith("JETSQL_TEST") and name != "JETSQL_HOME"
}
LOCAL |= {"HOME": HOME, "XDG_CONFIG_HOME": f"{HOME}/config", "JETSQL_URL": URL, "TERM": "xterm"}


def command(*arguments, typed=None):
    return subprocess.run(
        [JETSQL, *arguments], env=LOCAL, input=typed, capture_output=True, text=True, timeout=60, check=False
    )


def login():
    wrong = command("login", typed="wrong\n")
    assert wrong.returncode != 0 and "JETSQL.NOT_AUTHORIZED" in wrong.stderr, wrong
    ended = command("login", typed=f"{TOKEN}\n")
    assert ended.returncode == 0 and TOKEN not in ended.stdout + ended.stderr, ended
    return ""


def shell():
    terminal = pexpect.spawn(JETSQL, env=LOCAL, timeout=30, dimensions=(30, 120))
    terminal.expect(">")
    terminal.send("SHOW JOBS;\r")
    terminal.expect("copying")
    terminal.send("SUSPEND JOB copying;\r")
    terminal.expect("SUSPENDED")
    terminal.send("RESUME JOB copying;\r")
    terminal.expect("RUNNING")
    terminal.send("SELECT * FROM shop.orders;\r")
    terminal.expect("TABLE_OR_VIEW_NOT_FOUND")
    terminal.send("\x04")
    terminal.expect(pexpect.EOF)
    terminal.close()
    return ""


def logout():
    assert command("logout").returncode == 0
    ended = command("-e", "SHOW JOBS")
    assert ended.returncode != 0 and "JETSQL.NOT_AUTHORIZED" in ended.stderr, ended
    return ""


for step in (login, shell, logout):
    run_step(step.__name__, step)
