"""How long a command takes from the start of its process to its end, and the shell to its prompt, with an engine that
runs already.

The engine has a streaming job that finds nothing to do, as most of the time. Calls of all commands take turns, so that
what else the machine does meets all of them alike.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from benchmarks.reporting import Goal, figure, figures, introduce, middle, say, table, text

GOAL = Goal(most=0.5)
_ROOT = Path(__file__).parent.parent
_SET_UP = (
    "CREATE TABLE numbers (id INT) USING json; CREATE TABLE copies (id INT) USING parquet; "
    "CREATE JOB copy AS INSERT INTO copies SELECT id FROM STREAM numbers"
)
_COMMANDS = (("list-jobs",), ("-e", "SHOW JOBS"), ("describe", "copy"), ("status",), ("--version",))
_PROMPT = "jetsql, to its prompt"


def jetsql(home: str, *arguments: str) -> float:
    """Call the program. Returns its seconds; raises ClickException when it fails."""
    began = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "jetsql", *arguments],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "JETSQL_HOME": home},
    )
    if ended.returncode:
        raise click.ClickException(ended.stderr)
    return time.perf_counter() - began


def prompt(home: str) -> float:
    """The shell on a terminal of its own. Returns the seconds until its prompt is there; raises ClickException when it
    ends before."""
    began = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        environ = {**os.environ, "JETSQL_HOME": home, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        os.chdir(_ROOT)
        os.execve(sys.executable, [sys.executable, "-m", "jetsql"], environ)
    shown = b""
    while b"default" not in shown:
        if not (came := _read(terminal)):
            raise click.ClickException(shown.decode(errors="replace"))
        shown += came
    seconds = time.perf_counter() - began
    os.write(terminal, b"\x04")
    while _read(terminal):
        continue
    os.waitpid(process, 0)
    os.close(terminal)
    return seconds


def _read(terminal: int) -> bytes:
    """What has come; nothing at the end, which Linux tells as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def bare() -> float:
    """Python alone, which no command can be faster than."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def report(times: dict[str, list[float]]) -> None:
    rows = [(name, figure(middle(found)), figure(min(found)), figure(max(found))) for name, found in times.items()]
    table((text("command"), *figures("median, s", "least, s", "most, s")), rows)
    listing = middle(times["jetsql list-jobs"])
    say(f"list-jobs: median {listing:.3f} s, goal {GOAL.words(listing)}")
    shell = middle(times[_PROMPT])
    say(f"the shell's prompt: median {shell:.3f} s, goal {GOAL.words(shell)}")


@click.command(help=__doc__)
@click.option("--calls", type=click.IntRange(1), default=20, show_default=True, help="Of each command.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
def main(calls: int, master: str) -> None:
    introduce("commands: from the process to its end", "an engine runs, with one job that is idle")
    times: dict[str, list[float]] = {f"jetsql {' '.join(command)}": [] for command in _COMMANDS}
    times |= {_PROMPT: [], "python -c pass": []}
    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as home:
        jetsql(home, "start", "--master", master)
        try:
            jetsql(home, "-e", _SET_UP)
            for _ in range(calls):
                for command in _COMMANDS:
                    times[f"jetsql {' '.join(command)}"].append(jetsql(home, *command))
                times[_PROMPT].append(prompt(home))
                times["python -c pass"].append(bare())
        finally:
            jetsql(home, "stop")
    report(times)


if __name__ == "__main__":
    main()
