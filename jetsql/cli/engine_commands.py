"""The engine's own life: `jetsql start`, `stop`, `status` and `serve`."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.connect import find_engine, settings_here
from jetsql.cli.flags import (
    CONF_OPTION,
    FORMAT_OPTION,
    HOME_OPTION,
    KAFKA_OPTION,
    MASTER_OPTION,
    SECRET_FILE_OPTION,
    STORAGE_OPTION,
    THRIFT_OPTIONS,
    ExitCode,
    flags_of,
    settings_of,
    with_these,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jetsql.client.find_engine import RunningEngine
    from jetsql.embedded.embedded_engine import EmbeddedEngine
    from jetsql.errors import EngineError
    from jetsql.home.discovery import EngineNote
    from jetsql.output.diagnostics import Script

_DOING: Final = {
    "starting": "It is starting, or does not answer.",
    "stopping": "It is stopping.",
    "embedded": "It is inside another program and can only be used from there.",
}


@click.command()
@with_these(HOME_OPTION, MASTER_OPTION, SECRET_FILE_OPTION, CONF_OPTION, STORAGE_OPTION, KAFKA_OPTION, *THRIFT_OPTIONS)
@click.pass_context
def start(context: click.Context, /, **given: Any) -> None:
    """Start the engine of a home in the background.

    Its jobs go on. Returns when it answers, and tells where. When one runs already, that is fine too.

    \b
    Examples:
      jetsql start
      jetsql start --home ./engine --master local[4] --conf spark.sql.shuffle.partitions=4
    """
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    flags = flags_of(context, given)
    console = process_console()
    try:
        found = find_engine(settings_here(flags), flags, console)
    except EngineError as error:
        console.say(str(error))
        context.exit(ExitCode.NO_ENGINE)
    console.result(f"{'started' if found.started else 'runs already'}: {_where(found.note, found.about['home'])}")
    console.flush()


@click.command()
@with_these(HOME_OPTION)
@click.option("--timeout", type=click.FloatRange(min=0), default=120.0, show_default=True, help="Seconds to wait.")
@click.pass_context
def stop(context: click.Context, /, timeout: float, **given: Any) -> None:
    """Stop the engine of a home gracefully.

    Its jobs stop between two batches and go on with the next start. Returns when it has ended; when none runs, that is
    fine too.

    \b
    Examples:
      jetsql stop
      jetsql stop --timeout 30
    """
    from jetsql.client import find_engine
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    home = settings_here(flags_of(context, given)).home
    console = process_console()
    try:
        with console.busy("stopping the engine", 0.5 if console.terminal else 2.0):
            how = find_engine.stop(home, timeout)
    except EngineError as error:
        console.say(str(error))
        context.exit(ExitCode.NO_ENGINE)
    if how is find_engine.StopOutcome.STILL:
        console.say(f"The engine of {home} has not ended within {timeout:g} s; it goes on stopping.")
        context.exit(ExitCode.NO_ENGINE)
    if how is find_engine.StopOutcome.NONE:
        console.say(f"No engine runs on {home}.")
    else:
        console.result("stopped")
    console.flush()


@click.command()
@with_these(HOME_OPTION, FORMAT_OPTION)
@click.option("--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait so long for it to answer.")
@click.pass_context
def status(context: click.Context, /, wait: float | None, **given: Any) -> None:
    """Tell whether the engine of a home runs, and where.

    Starts none. Exits with 0 when it answers, with 3 when not: a supervisor can ask this.

    \b
    Examples:
      jetsql status
      jetsql status --wait 60 --format json
    """
    from jetsql.client import find_engine
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    flags = flags_of(context, given)
    home = settings_here(flags).home
    console = process_console()
    try:
        found = find_engine.find(home) if wait is None else find_engine.wait_until_up(home, wait)
    except EngineError as error:
        console.say(str(error))
        context.exit(ExitCode.NO_ENGINE)
    facts = _facts(found) if found is not None else _absence(home)
    for line in _fact_lines(facts, flags.form):
        console.result(line)
    console.flush()
    context.exit(ExitCode.FINE if found is not None else ExitCode.NO_ENGINE)


def _facts(found: RunningEngine) -> dict[str, Any]:
    return {
        "status": "up",
        **{name: found.about[name] for name in ("version", "spark", "home", "master", "pid")},
        "url": found.note.url,
        "connect": found.note.connect or None,
        "thrift": found.note.thrift or None,
        "jobs": found.about["jobs"],
        "sessions": found.about["sessions"],
        "statements": found.about["statements"],
    }


def _absence(home: Path) -> dict[str, Any]:
    from jetsql.client import find_engine

    state = find_engine.state(home)
    return {
        "status": state or "down",
        "home": str(home),
        "message": _DOING[state] if state else "No engine runs on this home.",
    }


def _fact_lines(facts: dict[str, Any], form: str | None) -> Iterator[str]:
    if form == "json":
        yield json.dumps(facts)
        return
    jobs = facts.get("jobs")
    if jobs is not None:
        facts = {**facts, "jobs": ", ".join(f"{count} {name}" for name, count in jobs.items()) or "none"}
    if form is None:
        yield from (f"{name:10} {value}" for name, value in facts.items() if value is not None)
        return
    from jetsql.cli.statement_commands import Answer
    from jetsql.output.render import Format, lines
    from jetsql.resultset import Column

    yield from lines(Answer(tuple(Column(name) for name in facts), (tuple(facts.values()),)), Format(form))


def _where(note: EngineNote, home: str) -> str:
    return f"process {note.pid}, {note.url}, home {home}"


@click.command()
@with_these(HOME_OPTION, MASTER_OPTION, SECRET_FILE_OPTION, CONF_OPTION, STORAGE_OPTION, KAFKA_OPTION, *THRIFT_OPTIONS)
@click.option(
    "--init",
    "init",
    metavar="FILE.sql",
    help="Run this file at each start, before clients can come; write it so that it can run again (IF NOT EXISTS).",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--conf-fd", type=int, hidden=True)
@click.pass_context
def serve(context: click.Context, /, init: str | None, ready_fd: int | None, conf_fd: int | None, **given: Any) -> None:
    """Run the engine of a home in the foreground.

    As systemd and containers want it: SIGTERM and Ctrl-C stop it gracefully, a second one ends it at once. Its log is
    engine.log in the home; here it only tells where it answers, and why it ends.

    \b
    Examples:
      jetsql serve
      jetsql serve --home /var/lib/jetsql --init /etc/jetsql/jobs.sql
    """
    settings = settings_of(flags_of(context, {**given, "conf": (*given["conf"], *_handed_over(conf_fd))}))
    context.exit(_serve(settings, _init(init), _Told(settings.home, ready_fd)))


def _handed_over(descriptor: int | None) -> list[str]:
    """Return the settings of Spark (`key=value`) that the command which starts this engine has written to a file."""
    if descriptor is None:
        return []
    with os.fdopen(descriptor) as file:
        pairs: list[str] = json.load(file)
    return pairs


def _serve(settings: Any, prepare: Callable[[EmbeddedEngine], None], told: _Told) -> ExitCode:
    import threading

    from jetsql.embedded import engine_process
    from jetsql.errors import EngineError
    from jetsql.interrupts import Interrupts

    stop = threading.Event()
    interrupts = Interrupts(told.say, ExitCode.INTERRUPTED, first=stop.set)
    interrupts.closing("stopping")
    interrupts.install()
    try:
        engine_process.serve(settings, prepare, told.ready, stop)
    except EngineError as error:
        told.failed(error)
    except _InitFailed:
        return ExitCode.STATEMENT_FAILED
    except Exception as error:
        # The outermost frame of the program: whatever Spark, the JVM or the system raise while they start or stop.
        words = f"The engine ended with an error of its own: {type(error).__name__}: {error}"
        told.failed(EngineError("ENGINE_NOT_STARTED", words, hint=f"More stands in its log in {settings.home}."))
    else:
        told.say("stopped")
        return ExitCode.FINE
    return ExitCode.NO_ENGINE


class _InitFailed(Exception):
    """A statement of the file to begin with failed; it has been told."""


class _Told:
    """Who waits for the engine to answer: another process at a pipe, or a person at a terminal.

    To a process in the background nobody listens, and its outputs are the log, which has all of it already.
    """

    def __init__(self, home: Path, descriptor: int | None) -> None:
        self._home = home
        self._descriptor = descriptor
        self._in_background = descriptor is not None

    def ready(self, note: EngineNote) -> None:
        self.say(f"The engine answers: {_where(note, str(self._home))}.")
        self._pass_on({"url": note.url})

    def failed(self, error: EngineError) -> None:
        from dataclasses import asdict

        self.say(str(error))
        self._pass_on({"error": asdict(error.report())})

    def say(self, words: str) -> None:
        if not self._in_background:
            from jetsql.output.terminal_text import printable_lines

            click.echo(printable_lines(words), err=True)

    def _pass_on(self, told: dict[str, Any]) -> None:
        """Who started it may have left meanwhile, as of a shell that was closed: the engine does not end for that."""
        if self._descriptor is not None:
            with suppress(BrokenPipeError), os.fdopen(self._descriptor, "w") as pipe:
                json.dump(told, pipe)
            self._descriptor = None


def _init(file: str | None) -> Callable[[EmbeddedEngine], None]:
    if file is None:
        return lambda engine: None
    from jetsql.cli.run_scripts import read_files

    scripts = read_files([file])
    return lambda engine: _run_init(engine, scripts)


def _run_init(engine: EmbeddedEngine, scripts: list[Script]) -> None:
    from jetsql import script
    from jetsql.output.console import process_console
    from jetsql.output.render import Format

    steps = script.prepare(scripts, script.variables(os.environ, {}))
    if script.run(steps, engine, process_console(), Format.TABLE, keep_going=False) is not script.Outcome.FINE:
        raise _InitFailed
