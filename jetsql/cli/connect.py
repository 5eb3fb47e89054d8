"""Connect a command to the engine of its home, which is started if none runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import click

from jetsql.cli.flags import Flags, load_settings
from jetsql.jobs.model.redaction import redact_url

if TYPE_CHECKING:
    from jetsql.client.find_engine import RunningEngine
    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.settings import Settings


class StartupReporter(Protocol):
    """Report progress while an engine is found or started, as `Console` does."""

    @property
    def is_terminal(self) -> bool: ...

    def print_message(self, text: str) -> None: ...

    def report_if_slow(self, what: str, after: float) -> AbstractContextManager[None]: ...


def connect(settings: Settings, flags: Flags, console: StartupReporter, *, sessionless: bool = False) -> RemoteEngine:
    """Open a session on the engine of the home, or on the one at --url, which is never started.

    sessionless: for independent statements, see `RemoteEngine`.
    Raises EngineError, and click.UsageError as `ensure_engine` and for flags that do not apply to a remote engine.
    """
    from jetsql.client.remote_engine import RemoteEngine

    url = remote_url(flags)
    if url is not None:
        return RemoteEngine(
            url, os.environ.get("JETSQL_TOKEN", ""), with_traces=flags.show_traces, sessionless=sessionless
        )
    engine = ensure_engine(settings, flags, console, keep_connection=True)
    note = engine.note
    return RemoteEngine(
        note.url, note.token, with_traces=flags.show_traces, sessionless=sessionless, client=engine.client
    )


def remote_url(flags: Flags) -> str | None:
    """Return the URL of the remote engine given by --url, or by JETSQL_URL without --home; otherwise None.

    Raises click.UsageError for an invalid address and for flags about a local engine.
    """
    url = flags.url
    if url is None and flags.home is None:
        url = os.environ.get("JETSQL_URL") or None
    if url is None:
        return None
    safe_url = redact_url(url)
    if not url.startswith(("http://", "https://")):
        raise click.UsageError(f"The engine's address {safe_url!r} begins with neither http:// nor https://.")
    if problem := _address_error(url):
        raise click.UsageError(f"The engine's address {safe_url!r} is no address: {problem}. Write http://HOST:PORT.")
    local_flags = {"--home": flags.home, "--master": flags.master, "--conf": flags.conf}
    for name, value in local_flags.items():
        if value:
            raise click.UsageError(
                f"{name} is about an engine of this machine, and {safe_url} is one that runs already."
            )
    return url


def _address_error(url: str) -> str:
    """Return why no connection to the URL's host or port is possible, or an empty string."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as error:
        return str(error).rstrip(".")
    return "" if host else "it names no host"


def local_settings(flags: Flags) -> Settings:
    """Return the settings for a command about a local engine. Raises click.UsageError for a remote one."""
    url = remote_url(flags)
    if url is not None:
        raise click.UsageError(
            f"This is about an engine of this machine, and JETSQL_URL is {redact_url(url)}: give --home DIR."
        )
    return load_settings(flags)


def ensure_engine(
    settings: Settings, flags: Flags, console: StartupReporter, *, keep_connection: bool = False
) -> RunningEngine:
    """Return the engine of the home, started unless the flags forbid it.

    keep_connection: see `find_engine.find_engine`.
    Raises EngineError, and click.UsageError for --master or --conf that the running engine was not started with: they
    would be ignored.
    """
    from jetsql.client import find_engine as engines
    from jetsql.errors import EngineError

    engine = engines.find_engine(settings.home, keep_connection=keep_connection)
    if engine is None and flags.no_start:
        raise EngineError("ENGINE_NOT_REACHABLE", f"No engine runs on {settings.home}.", hint="Start it: jetsql start.")
    if engine is None:
        with report_start(console):
            engine = engines.find_or_start_engine(settings, start_flags(settings, flags), flags.conf)
    if not engine.was_started:
        try:
            _check_same_settings(engine, settings, flags)
        except click.UsageError:
            if engine.client is not None:
                engine.client.close()
            raise
        _warn_of_version(engine, console)
    return engine


def _warn_of_version(engine: RunningEngine, console: StartupReporter) -> None:
    from jetsql.version import VERSION

    theirs = engine.note.version
    if theirs != VERSION:
        hint = "After `jetsql stop`, the next command starts an engine of its own version."
        console.print_message(f"The engine is JetSQL {theirs}, this command is JetSQL {VERSION}. {hint}")


def report_start(console: StartupReporter) -> AbstractContextManager[None]:
    """Report that an engine is being started: immediately at a terminal, otherwise when it is slow."""
    from jetsql.output.console import SLOW_SECONDS

    return console.report_if_slow("starting the engine", 0.0 if console.is_terminal else SLOW_SECONDS)


def start_flags(settings: Settings, flags: Flags) -> list[str]:
    """Return the flags of `jetsql serve` that neither environment nor configuration file holds.

    --conf is left out because its values may be secrets.
    """
    master = ["--master", settings.master] if flags.master is not None else []
    port = ["--thrift-port", str(flags.thrift_port)] if flags.thrift_port is not None else []
    kafka = ["--kafka"] if flags.kafka else []
    secret = ["--secret-file", str(settings.cluster_secret_file)] if flags.secret_file is not None else []
    storage = ["--storage", flags.storage] if flags.storage is not None else []
    return master + secret + storage + kafka + (["--thrift"] if flags.thrift else []) + port


def _check_same_settings(engine: RunningEngine, settings: Settings, flags: Flags) -> None:
    from jetsql.jobs.model.redaction import show

    note = engine.note
    requested: Mapping[str, str] = {
        key.strip(): value for key, _, value in (pair.partition("=") for pair in flags.conf)
    }
    shown = show(requested)
    differing = [f"--conf {key}={shown[key]}" for key, value in requested.items() if note.conf.get(key) != value]
    if flags.master is not None and note.master != settings.master:
        differing.insert(0, f"--master {settings.master}")
    if flags.thrift and not note.thrift:
        differing.append("--thrift")
    if flags.thrift_port and not note.thrift.endswith(f":{flags.thrift_port}"):
        differing.append(f"--thrift-port {flags.thrift_port}")
    if flags.storage is not None:
        from jetsql.home.storage import storage_of

        if settings.storage != storage_of(settings.home).root:
            differing.append(f"--storage {settings.storage}")
    if differing:
        raise click.UsageError(
            f"An engine runs on {settings.home} already, and was started without {', '.join(differing)}. These hold "
            "from an engine's start to its end: run `jetsql stop` first, or use another home."
        )
