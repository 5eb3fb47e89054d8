"""`jetsql store copy`: move the store of a home to PostgreSQL, or back into the home."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.connect import local_settings
from jetsql.cli.flags import HOME_OPTION, ExitCode, parse_flags
from jetsql.cli.needs_engine import needs_engine

if TYPE_CHECKING:
    from jetsql.home.store_url import StoreUrl
    from jetsql.settings.engine_settings import Settings

_HOME: Final = "home"


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
