"""The engine's own life: `jetsql start`, `stop`, `status` and `serve`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from jetsql.cli.flags import (
    CONF_OPTION,
    FORMAT_OPTION,
    HOME_OPTION,
    MASTER_OPTION,
    ExitCode,
    Flags,
    settings_of,
    with_these,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from jetsql.client.engines import Found
    from jetsql.discovery import EngineNote
    from jetsql.mistakes import Script
    from jetsql.service.embedded import EmbeddedEngine


def under(context: click.Context, given: dict[str, Any]) -> Flags:
    """The flags of a command and of those before its name."""
    return Flags(**given).under(context.obj)


@click.command()
@with_these(HOME_OPTION, MASTER_OPTION, CONF_OPTION)
@click.pass_context
def start(context: click.Context, /, **given: Any) -> None:
    """Start the engine of a home in the background, and its jobs with it.

    Returns when it answers, and tells where. When one runs already, that is fine too.
    """
    from jetsql.cli.reaching import find_engine
    from jetsql.console import process_console
    from jetsql.errors import EngineError

    flags = under(context, given)
    console = process_console()
    try:
        found = find_engine(settings_of(flags), flags, console)
    except EngineError as error:
        console.say(str(error))
        context.exit(ExitCode.NO_ENGINE)
    console.result(f"{'started' if found.started else 'runs already'}: {_where(found)}")
    console.flush()


@click.command()
@with_these(HOME_OPTION)
@click.option("--timeout", type=click.FloatRange(min=0), default=120.0, show_default=True, help="Seconds to wait.")
@click.pass_context
def stop(context: click.Context, /, timeout: float, **given: Any) -> None:
    """Stop the engine of a home gracefully.

    Its jobs stop between two batches and go on with the next start. Returns when it has ended; when none runs, that is
    fine too.
    """
    from jetsql.client import engines
    from jetsql.console import process_console

    settings = settings_of(under(context, given))
    console = process_console()
    found = engines.find(settings.home)
    if found is None:
        context.exit(_none_to_stop(settings.home, console.say))
    with console.busy("stopping the engine", 0.0 if console.terminal else 2.0):
        ended = engines.stop(settings.home, found.note, timeout)
    if not ended:
        console.say(f"The engine, process {found.note.pid}, has not ended within {timeout:g} s; it goes on stopping.")
        context.exit(ExitCode.NO_ENGINE)
    console.result("stopped")
    console.flush()


def _none_to_stop(home: Any, say: Callable[[str], None]) -> ExitCode:
    from jetsql.lease import owner

    who = owner(home)
    if who is None:
        say(f"No engine runs on {home}.")
        return ExitCode.FINE
    say(f"An engine that does not answer owns {home}: {who}. It starts, stops, or is inside another program.")
    return ExitCode.NO_ENGINE


@click.command()
@with_these(HOME_OPTION, FORMAT_OPTION)
@click.option("--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait so long for it to answer.")
@click.pass_context
def status(context: click.Context, /, wait: float | None, **given: Any) -> None:
    """Tell whether the engine of a home runs, where, and how many jobs it has. Starts none.

    Exits with 0 when it answers, with 3 when not: a supervisor can ask this.
    """
    from jetsql.client import engines
    from jetsql.console import process_console
    from jetsql.lease import owner

    flags = under(context, given)
    home = settings_of(flags).home
    console = process_console()
    found = engines.find(home) if wait is None else engines.wait_until_up(home, wait)
    if found is None:
        who = owner(home) if home.exists() else None
        but = f" But {who} owns it: it starts, stops, or is inside another program." if who else ""
        console.say(f"No engine answers for {home}.{but}")
        context.exit(ExitCode.NO_ENGINE)
    for line in _status_lines(found, flags.form):
        console.result(line)
    console.flush()


def _status_lines(found: Found, form: str | None) -> list[str]:
    facts = {
        "status": "up",
        **{name: found.about[name] for name in ("version", "spark", "home", "master", "pid")},
        "url": found.note.url,
        "connect": found.note.connect or None,
        "thrift": found.note.thrift or None,
        "jobs": found.about["jobs"],
        "sessions": found.about["sessions"],
    }
    if form == "json":
        return [json.dumps(facts)]
    jobs = ", ".join(f"{count} {name}" for name, count in found.about["jobs"].items()) or "none"
    shown = {**facts, "jobs": jobs}
    return [f"{name:9} {value}" for name, value in shown.items() if value is not None]


def _where(found: Found) -> str:
    return f"process {found.note.pid}, {found.note.url}, home {found.about['home']}"


@click.command()
@with_these(HOME_OPTION, MASTER_OPTION, CONF_OPTION)
@click.option(
    "--init",
    "init",
    metavar="FILE.sql",
    help="Run this file at each start, before clients can come; write it so that it can run again (IF NOT EXISTS).",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.pass_context
def serve(context: click.Context, /, init: str | None, ready_fd: int | None, **given: Any) -> None:
    """Run the engine of a home in the foreground, as systemd and containers want it.

    SIGTERM and Ctrl-C stop it gracefully. Its log is engine.log in the home.
    """
    from jetsql.errors import EngineError
    from jetsql.service import serving

    flags = under(context, given)
    settings = settings_of(flags)
    told = _Told(ready_fd)
    try:
        serving.serve(settings, _init(init), told.ready)
    except EngineError as error:
        told.failed(error)
        context.exit(ExitCode.NO_ENGINE)
    except _InitFailed:
        context.exit(ExitCode.STATEMENT_FAILED)


class _InitFailed(Exception):
    """A statement of the file to begin with failed; it has been told."""


class _Told:
    """Who waits for the engine to answer: another process at a pipe, or a person at a terminal."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def ready(self, note: EngineNote) -> None:
        self._tell({"url": note.url}, f"The engine answers at {note.url}, process {note.pid}.")

    def failed(self, error: Any) -> None:
        from dataclasses import asdict

        self._tell({"error": asdict(error.report())}, str(error))

    def _tell(self, told: dict[str, Any], words: str) -> None:
        click.echo(words, err=True)
        if self._descriptor is not None:
            with os.fdopen(self._descriptor, "w") as pipe:
                json.dump(told, pipe)
            self._descriptor = None


def _init(file: str | None) -> Callable[[EmbeddedEngine], None]:
    if file is None:
        return lambda engine: None
    from jetsql.cli.running import read_files

    scripts = read_files([file])
    return lambda engine: _run_init(engine, scripts)


def _run_init(engine: EmbeddedEngine, scripts: list[Script]) -> None:
    from jetsql import script
    from jetsql.console import process_console
    from jetsql.render import Format

    steps = script.prepare(scripts, script.variables(os.environ, {}))
    if script.run(steps, engine, process_console(), Format.TABLE, keep_going=False) is not script.Outcome.FINE:
        raise _InitFailed
