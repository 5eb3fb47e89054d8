"""Connect a command to the engine of its home, and start the engine if none runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import click

from jetsql.cli.flags import Flags, load_settings
from jetsql.installation import has_engine
from jetsql.jobs.model.redaction import redact_url

if TYPE_CHECKING:
    from pathlib import Path

    from jetsql.client.engine_client import EngineClient
    from jetsql.client.find_engine import RunningEngine
    from jetsql.errors import EngineError
    from jetsql.settings.engine_settings import Settings


class MessagePrinter(Protocol):
    """A printer of messages for the user."""

    def print_message(self, text: str, /) -> None: ...


class StartupReporter(MessagePrinter, Protocol):
    """A reporter of progress while an engine is found or started, such as `Console`."""

    def report_if_slow(self, what: str, after: float) -> AbstractContextManager[None]: ...


def connect(
    settings: Settings,
    flags: Flags,
    console: StartupReporter,
    *,
    sessionless: bool = False,
    only_existing_home: bool = False,
) -> EngineClient:
    """Open a session on the engine of the home, or on the one at --url, which is never started.

    sessionless: for independent statements, see `EngineClient`. only_existing_home: see `ensure_engine`.
    Raises EngineError, and click.UsageError as `ensure_engine` and for flags that do not apply to a remote engine.
    """
    from jetsql.client.engine_client import EngineClient
    from jetsql.client.http_client import HttpClient
    from jetsql.client.saved_logins import saved_token
    from jetsql.client.server_trust import ServerTrust

    url = remote_url(flags)
    if url is not None:
        token = os.environ.get("JETSQL_TOKEN") or saved_token(url)
        return EngineClient(url, token, with_traces=flags.show_traces, sessionless=sessionless)
    engine = ensure_engine(settings, flags, console, keep_connection=True, only_existing_home=only_existing_home)
    note = engine.note
    client = engine.client or HttpClient(note.url, note.token, trust=ServerTrust(note=note))
    return EngineClient(note.url, note.token, with_traces=flags.show_traces, sessionless=sessionless, client=client)


def remote_url(flags: Flags) -> str | None:
    """Return the URL of the remote engine given by --url, or by JETSQL_URL without --home; otherwise None.

    Raises click.UsageError for an invalid address and for flags about a local engine.
    """
    from jetsql.client.engine_address import split_engines

    url = flags.url
    if url is None and flags.home is None:
        url = os.environ.get("JETSQL_URL") or None
    if url is None:
        return None
    safe_url = redact_url(url)
    engines = split_engines(url)
    for engine in engines:
        if not engine.startswith(("http://", "https://")):
            raise click.UsageError(f"The engine's URL {safe_url!r} begins with neither http:// nor https://.")
        if problem := _address_error(engine):
            raise click.UsageError(f"The engine's URL {safe_url!r} is not valid: {problem}. Write http://HOST:PORT.")
    local_flags = {"--home": flags.home, "--master": flags.master, "--conf": flags.conf}
    for name, value in local_flags.items():
        if value:
            raise click.UsageError(
                f"{name} applies only to an engine on this machine, not to the engine at {safe_url}."
            )
    return ",".join(engines)


def _address_error(url: str) -> str:
    """Return the reason why the URL has no valid host and port, or an empty string."""
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
            f"This command is for engines on this machine, and JETSQL_URL is set to {redact_url(url)}. Give --home DIR."
        )
    return load_settings(flags)


def ensure_engine(
    settings: Settings,
    flags: Flags,
    console: StartupReporter,
    *,
    keep_connection: bool = False,
    only_existing_home: bool = False,
) -> RunningEngine:
    """Return the engine of the home, started unless the flags forbid it.

    keep_connection: see `find_engine.find_engine`. only_existing_home: raise EngineError HOME_NOT_USABLE instead of
    creating a home, for commands about jobs that exist.
    Raises EngineError, and click.UsageError for --master or --conf if the engine was started without them, because they
    would be ignored.
    """
    from jetsql.client import find_engine as engines

    engine = engines.find_engine(settings.home, keep_connection=keep_connection)
    if engine is None and flags.no_start:
        raise engines.no_engine(settings.home)
    if engine is None:
        check_home(settings, console, only_existing=only_existing_home)
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


def check_home(settings: Settings, console: MessagePrinter, *, only_existing: bool = False) -> None:
    """Print a message if an engine would create the home, because its name may be misspelled.

    The default home cannot be misspelled, and is created without a message.
    Raises EngineError HOME_NOT_USABLE with `only_existing`.
    """
    from jetsql.home.store_note import is_home
    from jetsql.settings.engine_settings import default_home

    home = settings.home
    if has_engine() and not is_home(home):
        if only_existing:
            raise missing_home(home)
        if home != default_home():
            console.print_message(f"Creating a new home: {home}")


def missing_home(home: Path) -> EngineError:
    """Return the error for a folder that is no home, for commands that do not create one."""
    from jetsql.errors import EngineError

    create = f" `jetsql start --home {shlex.quote(str(home))}` creates a new home." if has_engine() else ""
    return EngineError("HOME_NOT_USABLE", f"There is no home {home}.", hint=f"Check --home and JETSQL_HOME.{create}")


def _warn_of_version(engine: RunningEngine, console: StartupReporter) -> None:
    from jetsql.version import VERSION

    engine_version = engine.note.version
    if engine_version != VERSION:
        hint = "To use the same version, run `jetsql stop`; the next command starts a new engine."
        console.print_message(f"The engine is JetSQL {engine_version}, this command is JetSQL {VERSION}. {hint}")


def report_start(console: StartupReporter) -> AbstractContextManager[None]:
    """Report at a terminal that an engine is starting."""
    return console.report_if_slow("starting the engine", 0.0)


def start_flags(settings: Settings, flags: Flags) -> list[str]:
    """Return the flags for `jetsql serve` that are set neither in the environment nor in the configuration file.

    --conf is left out because its values may be secrets.
    """
    master = ["--master", settings.master] if flags.master is not None else []
    port = ["--thrift-port", str(flags.thrift_port)] if flags.thrift_port is not None else []
    connectors = [f"--{name}" for name in ("kafka", "delta", "iceberg", "s3") if getattr(flags, name)]
    secret = ["--secret-file", str(settings.cluster_secret_file)] if flags.secret_file is not None else []
    storage = ["--storage", flags.storage] if flags.storage is not None else []
    given = [f"--{name.replace('_', '-')}" for name in ("new_store", "thrift") if getattr(flags, name)]
    return master + secret + storage + connectors + given + port


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
    if flags.new_store:
        differing.append("--new-store")
    if flags.thrift and not note.thrift:
        differing.append("--thrift")
    if flags.thrift_port and urlsplit(note.thrift.removeprefix("jdbc:")).port != flags.thrift_port:
        differing.append(f"--thrift-port {flags.thrift_port}")
    if flags.storage is not None:
        from jetsql.home.storage import storage_of

        if settings.storage != storage_of(settings.home).root:
            differing.append(f"--storage {settings.storage}")
    if differing:
        raise click.UsageError(
            f"The engine on {settings.home} was started without {', '.join(differing)}, which cannot be changed while "
            "it runs. Run `jetsql stop` first, or use another home."
        )
