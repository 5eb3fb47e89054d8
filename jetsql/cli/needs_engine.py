"""Refuse commands that need the engine where it is not installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from jetsql.cli.flags import ExitCode

Command = Callable[..., None]


def needs_engine(action: str) -> Callable[[Command], Command]:
    """Return a decorator for a command's function, next to it below `click.pass_context`.

    action: see `jetsql.installation.engine_missing`.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(context: click.Context, /, **params: Any) -> None:
            from jetsql.installation import engine_missing, has_engine

            if not has_engine():
                from jetsql.output.console import process_console

                process_console().print_message(str(engine_missing(action)))
                context.exit(ExitCode.NO_ENGINE)
            command(context, **params)

        return run

    return decorate
