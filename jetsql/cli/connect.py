"""From a command to the engine of its home, which is started when none runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import click

from jetsql.cli.flags import Flags, settings_of
from jetsql.jobs.model.redaction import redact_url

if TYPE_CHECKING:
    from jetsql.client.find_engine import RunningEngine
    from jetsql.client.remote_engine import RemoteEngine
    from jetsql.settings import Settings


class Talk(Protocol):
    """Who is told what happens on the way to an engine: a `Console`."""

    @property
    def terminal(self) -> bool: ...

    def say(self, text: str) -> None: ...

    def busy(self, what: str, after: float) -> AbstractContextManager[None]: ...


def reach(settings: Settings, flags: Flags, console: Talk, *, sessionless: bool = False) -> RemoteEngine:
    """A session on the engine of the home, or on the one at --url, which is never started.

    sessionless: for statements that need nothing from each other, see `RemoteEngine`.

    Raises EngineError, and click.UsageError as `find_engine` and for flags that an engine elsewhere has no use for.
    """
    from jetsql.client.remote_engine import RemoteEngine

    url = url_of(flags)
    if url is not None:
        return RemoteEngine(url, os.environ.get("JETSQL_TOKEN", ""), traces=flags.traces, sessionless=sessionless)
    found = find_engine(settings, flags, console, keep_door=True)
    note = found.note
    return RemoteEngine(note.url, note.token, traces=flags.traces, sessionless=sessionless, door=found.door)


def url_of(flags: Flags) -> str | None:
    """The engine elsewhere that is meant, if one is: by --url, or by JETSQL_URL unless --home says otherwise.

    Raises click.UsageError for what is no address, and for flags about an engine here.
    """
    url = flags.url
    if url is None and flags.home is None:
        url = os.environ.get("JETSQL_URL") or None
    if url is None:
        return None
    shown = redact_url(url)
    if not url.startswith(("http://", "https://")):
        raise click.UsageError(f"The engine's address {shown!r} begins with neither http:// nor https://.")
    if wrong := _wrong_place(url):
        raise click.UsageError(f"The engine's address {shown!r} is no address: {wrong}. Write http://HOST:PORT.")
    here = {"--home": flags.home, "--master": flags.master, "--conf": flags.conf}
    for name, given in here.items():
        if given:
            raise click.UsageError(f"{name} is about an engine of this machine, and {shown} is one that runs already.")
    return url


def _wrong_place(url: str) -> str:
    """What is wrong with its host or its port, which nothing could connect to; empty when nothing is."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError as error:
        return str(error).rstrip(".")
    return "" if host else "it names no host"


def settings_here(flags: Flags) -> Settings:
    """For commands about the engine of a home. Raises click.UsageError when one elsewhere is meant."""
    url = url_of(flags)
    if url is not None:
        raise click.UsageError(
            f"This is about an engine of this machine, and JETSQL_URL is {redact_url(url)}: give --home DIR."
        )
    return settings_of(flags)


def find_engine(settings: Settings, flags: Flags, console: Talk, *, keep_door: bool = False) -> RunningEngine:
    """The engine of the home, started unless the flags forbid it. keep_door: see `engines.find`.

    Raises EngineError, and click.UsageError for --master or --conf that an engine which runs already was not started
    with: they would be ignored.
    """
    from jetsql.client import find_engine as engines
    from jetsql.errors import EngineError

    found = engines.find(settings.home, keep_door=keep_door)
    if found is None and flags.no_start:
        raise EngineError("ENGINE_NOT_REACHABLE", f"No engine runs on {settings.home}.", hint="Start it: jetsql start.")
    if found is None:
        with starting(console):
            found = engines.find_or_start(settings, start_flags(settings, flags), flags.conf)
    if not found.started:
        try:
            _check_same(found, settings, flags)
        except click.UsageError:
            if found.door is not None:
                found.door.close()
            raise
        _compare_versions(found, console)
    return found


def _compare_versions(found: RunningEngine, console: Talk) -> None:
    from jetsql.version import VERSION

    theirs = found.note.version
    if theirs != VERSION:
        hint = "After `jetsql stop`, the next command starts an engine of its own version."
        console.say(f"The engine is JetSQL {theirs}, this command is JetSQL {VERSION}. {hint}")


def starting(console: Talk) -> AbstractContextManager[None]:
    """Tell that an engine is being started: to a person at once, else when it takes long."""
    from jetsql.output.console import LONG_SECONDS

    return console.busy("starting the engine", 0.0 if console.terminal else LONG_SECONDS)


def start_flags(settings: Settings, flags: Flags) -> list[str]:
    """What an engine is to be started with, that neither environment nor file tells it; without --conf, whose values
    may be secrets."""
    master = ["--master", settings.master] if flags.master is not None else []
    port = ["--thrift-port", str(flags.thrift_port)] if flags.thrift_port is not None else []
    kafka = ["--kafka"] if flags.kafka else []
    secret = ["--secret-file", str(settings.cluster_secret_file)] if flags.secret_file is not None else []
    storage = ["--storage", flags.storage] if flags.storage is not None else []
    return master + secret + storage + kafka + (["--thrift"] if flags.thrift else []) + port


def _check_same(found: RunningEngine, settings: Settings, flags: Flags) -> None:
    from jetsql.jobs.model.redaction import show

    note = found.note
    wanted: Mapping[str, str] = {key.strip(): value for key, _, value in (pair.partition("=") for pair in flags.conf)}
    shown = show(wanted)
    differing = [f"--conf {key}={shown[key]}" for key, value in wanted.items() if note.conf.get(key) != value]
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
