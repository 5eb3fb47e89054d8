"""Start, stop and inspect engines: `jetsql start`, `stop`, `status` and `serve`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from jetsql.cli.connect import check_home, ensure_engine, local_settings
from jetsql.cli.flags import (
    FORMAT_OPTION,
    HOME_OPTION,
    START_OPTIONS,
    ExitCode,
    add_options,
    load_settings,
    parse_flags,
)
from jetsql.cli.needs_engine import needs_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jetsql.client.find_engine import RunningEngine
    from jetsql.embedded.engine_instance import EngineInstance
    from jetsql.errors import EngineError
    from jetsql.home.discovery import EngineNote
    from jetsql.output.diagnostics import Script

_DESCRIPTORS: Final = ("--ready-fd", "--conf-fd", "--lock-fd")
_STATE_MESSAGES: Final = {
    "starting": "The engine is starting, or does not answer.",
    "stopping": "The engine is stopping.",
    "embedded": "The engine is inside another program and can only be used from there.",
}


@click.command()
@add_options(*START_OPTIONS)
@click.pass_context
def start(context: click.Context, /, **params: Any) -> None:
    """Start the engine of a home in the background.

    Its jobs continue. The command returns when the engine answers, and prints its address; it succeeds as well if the
    engine already runs.

    \b
    Examples:
      jetsql start
      jetsql start --home ./engine --master local[4] --conf spark.sql.shuffle.partitions=4
    """
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    flags = parse_flags(context, params)
    console = process_console()
    try:
        engine = ensure_engine(local_settings(flags), flags, console)
    except EngineError as error:
        console.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    console.write_line(
        f"{'started' if engine.was_started else 'runs already'}: {_location(engine.note, engine.info['home'])}"
    )
    console.flush()


@click.command()
@add_options(HOME_OPTION)
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=120.0, show_default=True, help="The time limit, in seconds."
)
@click.pass_context
def stop(context: click.Context, /, timeout: float, **params: Any) -> None:
    """Stop the engine of a home gracefully.

    Its jobs stop between two batches and continue with the next start. The command returns when the engine has ended;
    it succeeds as well if no engine runs.

    \b
    Examples:
      jetsql stop
      jetsql stop --timeout 30
    """
    from jetsql.client import find_engine
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    home = local_settings(parse_flags(context, params)).home
    console = process_console()
    try:
        with console.report_if_slow("stopping the engine", 0.5):
            outcome = find_engine.stop_engine(home, timeout)
    except EngineError as error:
        console.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    if outcome is find_engine.StopOutcome.STILL_STOPPING:
        console.print_message(f"The engine on {home} has not ended within {timeout:g} s. It is still stopping.")
        context.exit(ExitCode.NO_ENGINE)
    if outcome is find_engine.StopOutcome.NOT_RUNNING:
        console.print_message(f"No engine runs on {home}.")
    else:
        console.write_line("stopped")
    console.flush()


@click.command()
@add_options(HOME_OPTION, FORMAT_OPTION)
@click.option(
    "--wait", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait up to this time until the engine answers."
)
@click.pass_context
def status(context: click.Context, /, wait: float | None, **params: Any) -> None:
    """Show whether the engine of a home runs, and its address.

    The command does not start an engine. The exit code is 0 if the engine answers, otherwise 3.

    \b
    Examples:
      jetsql status
      jetsql status --wait 60 --format json
    """
    from jetsql.client import find_engine
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    flags = parse_flags(context, params)
    home = local_settings(flags).home
    console = process_console()
    try:
        engine = find_engine.find_engine(home) if wait is None else find_engine.wait_for_engine(home, wait)
    except EngineError as error:
        console.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    fields = _status_fields(engine) if engine is not None else _down_fields(home)
    for line in _field_lines(fields, flags.form):
        console.write_line(line)
    console.flush()
    context.exit(ExitCode.SUCCESS if engine is not None else ExitCode.NO_ENGINE)


def _status_fields(engine: RunningEngine) -> dict[str, Any]:
    return {
        "status": "up",
        "role": engine.info.get("role", "leader"),  # an engine of release 0.1 has none
        "leader": engine.info.get("leader"),
        "warm": engine.info.get("warm"),
        **{name: engine.info.get(name) for name in ("version", "spark", "home", "master", "pid")},
        "url": engine.note.url,
        "connect": engine.note.connect or None,
        "thrift": engine.note.thrift or None,
        "jobs": engine.info["jobs"],
        "sessions": engine.info["sessions"],
        "statements": engine.info["statements"],
    }


def _down_fields(home: Path) -> dict[str, Any]:
    from jetsql.client import find_engine

    state = find_engine.silent_engine_state(home)
    return {
        "status": state or "down",
        "home": str(home),
        "message": _STATE_MESSAGES[state] if state else _down_message(home),
    }


def _down_message(home: Path) -> str:
    return "No engine runs on this home." if home.is_dir() else "The home does not exist."


def _field_lines(fields: dict[str, Any], form: str | None) -> Iterator[str]:
    if form == "json":
        yield json.dumps(fields)
        return
    jobs = fields.get("jobs")
    if jobs is not None:
        fields = {**fields, "jobs": ", ".join(f"{count} {name}" for name, count in jobs.items()) or "none"}
    if form is None:
        yield from (f"{name:10} {value}" for name, value in fields.items() if value is not None)
        return
    from jetsql.cli.statement_commands import FetchedRows
    from jetsql.output.render import Format, render_lines
    from jetsql.resultset import Column

    yield from render_lines(
        FetchedRows(tuple(Column(name) for name in fields), (tuple(fields.values()),)), Format(form)
    )


def _location(note: EngineNote, home: str) -> str:
    return f"process {note.pid}, {note.url}, home {home}"


@click.command()
@add_options(*START_OPTIONS)
@click.option(
    "--init",
    "init",
    metavar="FILE.sql",
    help="Run this file at each start, before clients can connect. Its statements must be repeatable (IF NOT EXISTS).",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--conf-fd", type=int, hidden=True)
@click.option("--lock-fd", type=int, hidden=True)
@click.pass_context
@needs_engine("run an engine")
def serve(
    context: click.Context,
    /,
    init: str | None,
    ready_fd: int | None,
    conf_fd: int | None,
    lock_fd: int | None,
    **params: Any,
) -> None:
    """Run the engine of a home in the foreground.

    For systemd and containers: SIGTERM or Ctrl-C stops the engine gracefully, and a second one ends it immediately. The
    command prints the address of the engine and the reason why it ends; its log is the file engine.log in the home.

    \b
    Examples:
      jetsql serve
      jetsql serve --home /var/lib/jetsql --init /etc/jetsql/jobs.sql
    """
    confs = _read_confs(conf_fd)
    settings = load_settings(parse_flags(context, {**params, "conf": (*params["conf"], *confs)}))
    report = _StartupReport(settings.home, ready_fd)
    run_init = _load_init(init)
    if not report.in_background:  # the command that starts an engine in the background has the message
        check_home(settings, report)
    restart = partial(_restart, confs, report.in_background, os.getcwd())
    context.exit(_run_engine(settings, run_init, report, restart, lock_fd))


def _read_confs(descriptor: int | None) -> list[str]:
    """Return the Spark settings (`key=value`) that the command starting this engine has written to a file."""
    if descriptor is None:
        return []
    with os.fdopen(descriptor) as file:
        pairs: list[str] = json.load(file)
    return pairs


def _restart(confs: list[str], in_background: bool, folder: str, home_lock: int) -> NoReturn:
    """Replace this program by `jetsql serve` with the same arguments, as it was started; it becomes a standby.

    folder: the one in which it was started, for relative paths among the arguments.
    home_lock: a descriptor with the lock of the home.
    """
    words = iter(sys.orig_argv[1:])
    arguments = [word for word in words if not (word in _DESCRIPTORS and next(words)) and word != "--new-store"]
    arguments += ["--lock-fd", str(home_lock), "--conf-fd", str(_pipe_with(json.dumps(confs)))]
    if in_background:
        arguments += ["--ready-fd", str(_pipe_without_reader())]
    with suppress(OSError):  # it was deleted; absolute paths need none
        os.chdir(folder)
    os.execv(sys.executable, [sys.executable, *arguments])


def _pipe_with(text: str) -> int:
    """Return the descriptor of a pipe from which the next program of this process reads the text."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        pipe.write(text)
    os.set_inheritable(reading, True)
    return reading


def _pipe_without_reader() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    os.set_inheritable(writing, True)
    return writing


def _run_engine(
    settings: Any,
    run_init: Callable[[EngineInstance], None],
    report: _StartupReport,
    restart: Callable[[int], NoReturn],
    home_lock: int | None,
) -> ExitCode:
    import threading

    from jetsql.embedded import engine_process
    from jetsql.errors import EngineError
    from jetsql.interrupts import Interrupts

    stop = threading.Event()
    interrupts = Interrupts(report.print_message, ExitCode.INTERRUPTED, on_first=stop.set)
    interrupts.begin_shutdown("stopping")
    interrupts.install()
    try:
        hooks = engine_process.ServiceHooks(run_init, report.report_ready, restart, home_lock)
        engine_process.serve(settings, hooks, stop)
    except EngineError as error:
        report.report_failure(error)
    except _InitFailed:
        return ExitCode.STATEMENT_FAILED
    except Exception as error:
        # The outermost frame of the program: reports every error of Spark, the JVM and the system.
        message = f"The engine ended with an unexpected error: {type(error).__name__}: {error}"
        hint = f"See its log in {settings.home}."
        report.report_failure(EngineError("ENGINE_NOT_STARTED", message, hint=hint))
    else:
        report.print_message("stopped")
        return ExitCode.SUCCESS
    return ExitCode.NO_ENGINE


class _InitFailed(Exception):
    """A statement of the --init file failed, and its error has been reported."""


class _StartupReport:
    """A reporter of the start: to the waiting process through a pipe, or to the user at a terminal.

    An engine in the background prints nothing, because its output is its log, which has these messages already.
    """

    def __init__(self, home: Path, descriptor: int | None) -> None:
        self._home = home
        self._descriptor = descriptor
        self.in_background = descriptor is not None

    def report_ready(self, note: EngineNote) -> None:
        state = "is ready" if note.role == "leader" else "waits as a standby"
        self.print_message(f"The engine {state}: {_location(note, str(self._home))}.")
        self._notify_parent({"url": note.url})

    def report_failure(self, error: EngineError) -> None:
        from dataclasses import asdict

        self.print_message(str(error))
        self._notify_parent({"error": asdict(error.report())})

    def print_message(self, message: str) -> None:
        if not self.in_background:
            from jetsql.output.terminal_text import printable_lines

            click.echo(printable_lines(message), err=True)

    def _notify_parent(self, message: dict[str, Any]) -> None:
        """Write the message to the pipe. If the parent process has exited, the engine continues without it."""
        if self._descriptor is not None:
            with suppress(BrokenPipeError), os.fdopen(self._descriptor, "w") as pipe:
                json.dump(message, pipe)
            self._descriptor = None


def _load_init(file: str | None) -> Callable[[EngineInstance], None]:
    if file is None:
        return lambda engine: None
    from jetsql.cli.run_scripts import read_files

    scripts = read_files([file])
    return lambda engine: _run_init(engine, scripts)


def _run_init(engine: EngineInstance, scripts: list[Script]) -> None:
    from jetsql import script
    from jetsql.output.console import process_console
    from jetsql.output.render import Format

    steps = script.prepare(scripts, script.variables(os.environ, {}))
    if (
        script.run(steps, engine, process_console(), Format.TABLE, keep_going=False)
        is not script.ScriptOutcome.SUCCEEDED
    ):
        raise _InitFailed
