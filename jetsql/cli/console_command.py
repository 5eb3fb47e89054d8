"""Open the web console in a browser: `jetsql console`."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from jetsql.cli.connect import connect
from jetsql.cli.flags import START_OPTIONS, URL_OPTION, ExitCode, add_options, load_settings, parse_flags


@click.command()
@add_options(*START_OPTIONS, URL_OPTION)
@click.option("--no-browser", is_flag=True, help="Only print the address, for a browser on another machine.")
@click.pass_context
def console(context: click.Context, /, no_browser: bool, **params: Any) -> None:
    """Open the web console of an engine in the browser.

    The command prints the address with a link that logs in once, within a minute, without the token. The engine is
    started if it does not run. With --url, the command opens the console of an engine on another machine, with the
    token in JETSQL_TOKEN.

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
    try:
        with closing(connect(load_settings(flags), flags, out, sessionless=True)) as engine:
            path = engine.request("POST", "/console/links", {})["path"]
            url = f"{engine.leader_url}{path}"
    except (EngineError, ReportedError) as error:
        out.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
    out.write_line(url)
    out.flush()
    if not no_browser and not webbrowser.open(url):
        out.print_message("No browser was found. Open the address in a browser within a minute.")
