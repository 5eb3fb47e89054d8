"""`jetsql archive-classes`: make the archive of Spark's classes now."""

from __future__ import annotations

from typing import Any

import click

from jetsql.cli.flags import ExitCode, Flags, load_settings
from jetsql.cli.needs_engine import needs_engine


@click.command("archive-classes")
@click.pass_context
@needs_engine("archive Spark's classes")
def archive_classes(context: click.Context, /, **params: Any) -> None:
    """Make the archive of Spark's classes for faster starts.

    An engine that finds no archive for its Java, Spark and JetSQL makes it in the background some time after its start.
    This command makes it now, and waits for it: for an image of a container, or before the first start. It takes a
    minute, and 240 MB in the folder of the setting `class_archives`.

    \b
    Examples:
      jetsql archive-classes
      JETSQL_CLASS_ARCHIVES=/opt/jetsql/classes jetsql archive-classes
    """
    from jetsql.embedded.archive_classes import make_archive
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    folder = load_settings(Flags()).class_archives
    if folder is None:
        raise click.UsageError("The setting class_archives is none. Set it to a folder.", context)
    try:
        process_console().print_message(f"The archive is {make_archive(folder).file}.")
    except EngineError as error:
        process_console().print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)
