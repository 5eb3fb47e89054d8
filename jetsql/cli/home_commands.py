"""`jetsql backup`, `restore` and `store copy`: back up, restore and move what a home keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.connect import local_settings, missing_home
from jetsql.cli.flags import HOME_OPTION, ExitCode, parse_flags
from jetsql.cli.needs_engine import needs_engine

if TYPE_CHECKING:
    from jetsql.client.find_engine import RunningEngine
    from jetsql.home.store_url import StoreUrl
    from jetsql.output.console import Console
    from jetsql.settings.engine_settings import Settings

_HOME: Final = "home"


@click.command()
@click.argument("folder", metavar="DIR")
@HOME_OPTION
@click.pass_context
@needs_engine("back up a home")
def backup(context: click.Context, /, folder: str, **params: Any) -> None:
    """Write a backup of a home into a new folder.

    The engine may run; its jobs continue. The backup has the store, the checkpoints, the snapshots, the catalogue and
    the tables of the home as they were at one moment. For it, the jobs wait until no batch is running. The folder gets
    its name when the backup is complete. The engine writes it, so its user needs the rights.

    \b
    Examples:
      jetsql backup /backup/monday
      jetsql backup /backup/$(date +%F) --home /var/lib/jetsql

    Tables with a LOCATION elsewhere, topics and databases are not in it, and neither are the token, the log and
    secrets. A catalogue in a database (the setting `catalog`) and a storage that is no folder cannot be backed up so.
    """
    settings = local_settings(parse_flags(context, params))
    context.exit(_backup(settings, Path(folder).absolute()))


@click.command()
@click.argument("folder", metavar="DIR")
@HOME_OPTION
@click.pass_context
@needs_engine("restore a home")
def restore(context: click.Context, /, folder: str, **params: Any) -> None:
    """Restore a home from a backup of `jetsql backup`.

    The home must be empty, or not exist, and have the path of the home that was backed up. The digests of all files
    are compared first. `jetsql start` then continues the jobs. If the command is killed, the home is not usable until
    the command is run again.

    \b
    Examples:
      jetsql restore /backup/monday --home /var/lib/jetsql
    """
    settings = local_settings(parse_flags(context, params))
    context.exit(_restore(settings, Path(folder).absolute()))


def _backup(settings: Settings, folder: Path) -> ExitCode:
    from jetsql.client import find_engine
    from jetsql.errors import JetSQLError, ReportedError
    from jetsql.output.console import process_console

    console = process_console()
    try:
        with console.report_if_slow("writing the backup"):
            engine = find_engine.find_engine(settings.home, keep_connection=True)
            written = _by_engine(engine, folder) if engine is not None else _without_engine(settings, folder)
    except (JetSQLError, ReportedError) as error:
        console.print_message(str(error))
        return ExitCode.NO_ENGINE
    _print(console, "written", folder, written)
    if written["outside"]:
        console.print_message(
            f"These tables are outside the home and not in the backup: {', '.join(written['outside'])}."
        )
    return ExitCode.SUCCESS


def _by_engine(engine: RunningEngine, folder: Path) -> Mapping[str, Any]:
    from jetsql.errors import EngineError

    client = engine.client
    assert client is not None, "the connection is kept"
    try:
        if engine.info.get("role") == "standby":
            raise EngineError(
                "NOT_LEADER",
                f"This engine is a standby of the leader at {engine.info.get('leader') or 'an unknown address'}.",
                hint="Run the command on the machine of the leader.",
            )
        response = client.open_response("/v1/backup", {"folder": str(folder)}, "application/json")
        written: Mapping[str, Any] = json.loads(response.read())
        return written
    finally:
        client.close()


def _without_engine(settings: Settings, folder: Path) -> Mapping[str, Any]:
    from jetsql.backup.backup_manifest import summary
    from jetsql.backup.make_backup import BackedUpHome, back_up_stopped
    from jetsql.home.storage import storage_of
    from jetsql.home.store_note import is_home
    from jetsql.jobs.model.redaction import show
    from jetsql.jobs.store.store_choice import find_database

    home = settings.home.expanduser().absolute()
    if not is_home(home):
        raise missing_home(home)
    given = settings.store
    database = find_database(home, given.store, given.store_password, given.times)
    catalog, confs = settings.catalog_database, show(settings.spark_conf)
    source = BackedUpHome(home, storage_of(home), database, catalog, confs, settings.iceberg_servers)
    return summary(back_up_stopped(source, folder))


def _restore(settings: Settings, folder: Path) -> ExitCode:
    from jetsql.backup import restore as restoring
    from jetsql.backup.backup_manifest import summary
    from jetsql.errors import JetSQLError
    from jetsql.output.console import process_console

    console = process_console()
    try:
        with console.report_if_slow("restoring the home"):
            restored = summary(restoring.restore(folder, settings.home))
    except JetSQLError as error:
        console.print_message(str(error))
        return ExitCode.NO_ENGINE
    _print(console, "restored", Path(restored["home"]), restored)
    if restored["store"]:
        console.print_message(
            f"The store was in {restored['store']}, and is in the home now. Run `jetsql store copy --to URL` before you"
            " start the engine with the setting store."
        )
    return ExitCode.SUCCESS


def _print(console: Console, verb: str, folder: Path, done: Mapping[str, Any]) -> None:
    console.write_line(f"{verb}: {folder}")
    console.write_line(
        f"{len(done['jobs'])} jobs, {len(done['snapshots'])} snapshots, {done['files']} files, {done['bytes']} bytes"
    )
    console.flush()


@click.group()
def store() -> None:
    """Move the store of a home.

    It has the jobs, their history, snapshots, functions and metrics.

    \b
    Examples:
      jetsql store copy --to postgresql://jetsql@db.example.com/jetsql
    """


@store.command()
@click.option("--to", "target", required=True, metavar="URL|home", help="A URL of PostgreSQL, or `home` for its file.")
@HOME_OPTION
@click.pass_context
@needs_engine("copy the store of a home")
def copy(context: click.Context, /, target: str, **params: Any) -> None:
    """Copy the store of a home to PostgreSQL, or back into the home.

    No engine may run, not even a standby. The copy is one transaction, and its rows are compared with the source, which
    keeps its rows. After it, engines start only with the copy: set `store` to its URL, or remove the setting.

    \b
    Examples:
      jetsql store copy --to postgresql://jetsql@db.example.com/jetsql
      jetsql store copy --to home

    The password is that of the setting `store_password`, or a reference in the URL
    (`postgresql://jetsql:secret:env:NAME@host/jetsql`). After a crash, repeat the command.
    """
    settings = local_settings(parse_flags(context, params))
    context.exit(_copy(settings, target))


def _copy(settings: Settings, text: str) -> ExitCode:
    from jetsql.errors import EngineError
    from jetsql.jobs.store.store_copy import copy_store
    from jetsql.output.console import process_console

    console, given = process_console(), settings.store
    try:
        target = None if text == _HOME else _target(text, given.store_password)
        copied = copy_store(settings.home, given.store, given.store_password, target)
    except EngineError as error:
        console.print_message(str(error))
        return ExitCode.NO_ENGINE
    verb = "was copied already" if copied.was_complete else "copied"
    console.write_line(f"{verb}: {copied.source} to {copied.target}")
    console.write_line(f"rows: {', '.join(f'{count} {table}' for table, count in copied.counts.items())}")
    console.flush()
    setting = "Remove the setting store" if target is None else f'Set store = "{target}"'
    console.print_message(f"{setting} before you start the engine. The old store is not used any more.")
    return ExitCode.SUCCESS


def _target(text: str, password: str | None) -> StoreUrl:
    from jetsql.home.store_url import open_url, parse_setting

    try:
        setting = parse_setting(text)
    except ValueError as expected:
        raise click.UsageError(f"The value of --to is not valid. It must be {expected}, or home.") from None
    return open_url(setting, password)
