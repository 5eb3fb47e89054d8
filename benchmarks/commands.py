"""Measure the time of commands from the start of their process to its end, and of the shell to its prompt, with a
running engine.

The engine has an idle streaming job. The commands are called in turn, so that other load affects all of them.
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
    """Run the program and return its duration in seconds. Raises ClickException when it fails."""
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
    """Start the shell on a new terminal and return the seconds until its prompt appears.

    Raises ClickException when the shell ends before.
    """
    began = time.perf_counter()
    process, terminal = pty.fork()
    if process == 0:
        environ = {**os.environ, "JETSQL_HOME": home, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
        os.chdir(_ROOT)
        os.execve(sys.executable, [sys.executable, "-m", "jetsql"], environ)
    output = b""
    while b"default" not in output:
        if not (part := _read(terminal)):
            raise click.ClickException(output.decode(errors="replace"))
        output += part
    seconds = time.perf_counter() - began
    os.write(terminal, b"\x04")
    while _read(terminal):
        continue
    os.waitpid(process, 0)
    os.close(terminal)
    return seconds


def _read(terminal: int) -> bytes:
    """Return the available output; nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def start_python() -> float:
    """Run Python without a program and return the seconds. No command can be faster."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def report(times: dict[str, list[float]]) -> None:
    rows = [(name, figure(middle(each)), figure(min(each)), figure(max(each))) for name, each in times.items()]
    table((text("command"), *figures("median, s", "minimum, s", "maximum, s")), rows)
    listing = middle(times["jetsql list-jobs"])
    say(f"list-jobs: median {listing:.3f} s, goal {GOAL.describe(listing)}")
    shell = middle(times[_PROMPT])
    say(f"the shell's prompt: median {shell:.3f} s, goal {GOAL.describe(shell)}")


@click.command(help=__doc__)
@click.option("--calls", type=click.IntRange(1), default=20, show_default=True, help="Calls of each command.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
def main(calls: int, master: str) -> None:
    introduce("commands: from the start of the process to its end", "an engine with one idle job is running")
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
                times["python -c pass"].append(start_python())
        finally:
            jetsql(home, "stop")
    report(times)


if __name__ == "__main__":
    main()
