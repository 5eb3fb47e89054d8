"""Log in to an engine: its web console in a browser, and one on another machine."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.connect import connect, remote_url
from jetsql.cli.flags import START_OPTIONS, URL_OPTION, ExitCode, add_options, load_settings, parse_flags

if TYPE_CHECKING:
    from pathlib import Path

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>JetSQL</title>
<a href="{url}">Open the console</a>
"""


@click.command()
@add_options(*START_OPTIONS, URL_OPTION)
@click.option("--no-browser", is_flag=True, help="Only print the address, for a browser on another machine.")
@click.pass_context
def console(context: click.Context, /, no_browser: bool, **params: Any) -> None:
    """Open the web console of an engine in the browser.

    The command prints the address with a link that logs in once, within a minute, without the token. The browser gets
    the link through a file that only you can read, because other users can read its arguments. The engine is started
    if it does not run. With --url, the command opens the console of an engine on another machine, with the token in
    JETSQL_TOKEN.

    \b
    Examples:
      jetsql console
      jetsql console --no-browser
    """
    import webbrowser

    from jetsql.errors import EngineError, ReportedError
    from jetsql.output.console import process_console

    flags = parse_flags(context, params)
    out = process_console()
    settings = load_settings(flags)
    try:
        with closing(connect(settings, flags, out, sessionless=True)) as engine:
            path = engine.request("POST", "/console/links", {})["path"]
            url = f"{_shown_url(settings.home, engine.leader_url)}{path}"
    except (EngineError, ReportedError) as error:
        out.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    out.write_line(url)
    out.flush()
    if not no_browser and not webbrowser.open(_write_link(url)):
        out.print_message("No browser was found. Open the address in a browser within a minute.")


def _shown_url(home: Path, url: str) -> str:
    """Return the URL of an engine for a browser, which knows its certificate by a name only."""
    from jetsql.home.discovery import read_note

    with suppress(PermissionError):  # the home of another user, when --url names the engine
        note = read_note(home)
        if note is not None and note.certificate and note.url == url:
            return note.address
    return url


def _write_link(url: str) -> str:
    """Write a page that leads to the address, readable for its owner only, and return the address of its file.

    A browser's arguments can be read by all users of the machine, who would be faster to use the link.
    """
    from html import escape

    import platformdirs

    from jetsql.home.private_files import private_folder, write_private

    file = platformdirs.user_cache_path("jetsql", appauthor=False) / "console.html"
    private_folder(file.parent)
    write_private(file, _PAGE.format(url=escape(url)))
    return file.as_uri()


@click.command()
@URL_OPTION
@click.pass_context
def login(context: click.Context, /, **params: Any) -> None:
    """Save the token for an engine on another machine.

    The command asks for the token, or reads it from standard input, and saves it when the engine accepts it: in
    logins.json next to config.toml, which only you can read. Commands, Python and SQLAlchemy with the URL of the engine
    use it from then on. JETSQL_TOKEN has precedence.

    \b
    Examples:
      jetsql login --url https://engine.example.com:8630
      jetsql --url https://engine.example.com:8630 -e "SHOW JOBS"
    """
    from jetsql.client.engine_client import EngineClient
    from jetsql.client.saved_logins import save_token
    from jetsql.errors import EngineError, ReportedError
    from jetsql.output.console import process_console

    url, out = _remote(context, params), process_console()
    token = _ask_for_token()
    try:
        with closing(EngineClient(url, token, sessionless=True)) as engine:
            user = engine.request("GET", "/v1/engine")["user"]
        file = save_token(url, token)
    except (EngineError, ReportedError) as error:
        out.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    out.print_message(f"The token of the user {user} for {url} is saved in {file}.")


@click.command()
@URL_OPTION
@click.pass_context
def logout(context: click.Context, /, **params: Any) -> None:
    """Delete the saved token for an engine on another machine.

    The token itself stays valid. DROP TOKEN ends it.

    \b
    Examples:
      jetsql logout --url https://engine.example.com:8630
    """
    from jetsql.client.saved_logins import remove_token
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    url, out = _remote(context, params), process_console()
    try:
        is_removed = remove_token(url)
    except EngineError as error:
        out.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    out.print_message(f"The token for {url} is deleted." if is_removed else f"There was no saved token for {url}.")


def _remote(context: click.Context, params: dict[str, Any]) -> str:
    """Return the URL of the engine. Raises click.UsageError without one."""
    url = remote_url(parse_flags(context, params))
    if url is None:
        raise click.UsageError("Name the engine with --url. An engine of this machine needs no login.", context)
    return url


def _ask_for_token() -> str:
    """Return the token from the terminal, where it is not shown, or the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("Token", hide_input=True, err=True)).strip()
    return sys.stdin.readline().strip()
