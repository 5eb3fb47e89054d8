"""`jetsql apply`: bring an engine to what the SQL files of a folder declare."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetsql.cli.connect import connect
from jetsql.cli.flags import (
    CONF_OPTION,
    HOME_OPTION,
    MASTER_OPTION,
    NO_START_OPTION,
    TRACES_OPTION,
    URL_OPTION,
    VARIABLES_OPTION,
    ExitCode,
    Flags,
    add_options,
    load_settings,
    parse_flags,
)
from jetsql.cli.run_scripts import script_variables
from jetsql.cli.sql_file_commands import read_files, silence_sqlglot
from jetsql.cli.statement_commands import run_and_report

if TYPE_CHECKING:
    from jetsql.output.console import Console


class _ApplyUsageError(click.UsageError):
    exit_code = ExitCode.STATEMENT_FAILED


class ApplyCommand(click.Command):
    """A command whose usage errors exit with 1, because 2 is the exit code of a plan with something to do."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments."""
        with _usage_exits_with_1():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _usage_exits_with_1():
            return super().invoke(ctx)


@contextmanager
def _usage_exits_with_1() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        raise _ApplyUsageError(error.format_message(), error.ctx) from error


@click.command(cls=ApplyCommand)
@click.argument("folder", metavar="DIR")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be done, and do nothing.")
@click.option(
    "--group",
    metavar="NAME",
    default="",
    help="The group of the folder's jobs and alerts, noted in their option applyGroup. Needed for --prune.",
)
@click.option(
    "--prune",
    is_flag=True,
    help="Drop the jobs and alerts of the group that no file declares any more, and revoke the rights of the folder's"
    " users and roles that no file grants.",
)
@click.option("-y", "--yes", "assume_yes", is_flag=True, help="Do not ask before something is replaced or dropped.")
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The format of plan and outcome [default: text]. json is one object.",
)
@add_options(HOME_OPTION, URL_OPTION, NO_START_OPTION, MASTER_OPTION, CONF_OPTION, VARIABLES_OPTION, TRACES_OPTION)
@click.pass_context
def apply(
    context: click.Context,
    /,
    folder: str,
    only_plan: bool,
    group: str,
    prune: bool,
    assume_yes: bool,
    report: str,
    **params: Any,
) -> None:
    """Bring an engine to what the SQL files of a folder declare.

    The CREATE and GRANT statements of all `.sql` files in DIR are the wanted state: schemas, tables, views, functions,
    jobs, streaming tables, materialized views, secrets, connections, users, roles and rights. What is missing is
    created; jobs, views, functions, secrets and connections that differ are replaced; and everything else is left as it
    is. Tables are never changed or dropped: a difference is an error.

    \b
    Examples:
      jetsql apply --plan sql/
      jetsql apply --set topic=orders sql/
      jetsql apply --group shop --prune sql/
      jetsql apply --plan --format json --url https://engine.example.com:8770 sql/

    The files are checked and the plan is made before anything is changed. For each job that would be replaced, the plan
    has the engine's verdict on its state. The statements run in the order of their dependencies. The first one that
    fails ends the run, which then reports what was done. The command can be repeated and interrupted at any time.

    Exit codes: 0 done, or nothing to do; 1 an error; 2 with --plan: there is something to do; 3 no engine; 130
    interrupted (Ctrl-C).
    """
    if prune and not group:
        raise click.UsageError("--prune needs --group NAME: only jobs of a group are dropped.", context)
    flags = parse_flags(context, params)
    context.exit(
        run_and_report(lambda console: _apply(console, flags, folder, only_plan, group, prune, assume_yes, report))
    )


def _apply(
    console: Console,
    flags: Flags,
    folder: str,
    only_plan: bool,
    group: str,
    prune: bool,
    assume_yes: bool,
    report: str,
) -> ExitCode:
    from jetsql.sqlfiles.apply.apply_folder import ApplyOptions, ApplyStatus, FolderApply

    silence_sqlglot()
    if not Path(folder).is_dir():
        raise click.UsageError(f"There is no folder {folder}. Name the folder with the SQL files.")
    settings, values = load_settings(flags), script_variables(flags)
    files = read_files([folder], console)
    if not files:
        raise click.UsageError(f"There are no .sql files in {folder}. To drop all jobs of a group, use DROP JOB.")

    def confirm(question: str) -> bool:
        is_asked = not assume_yes and sys.stdin is not None and sys.stdin.isatty()
        return not is_asked or click.confirm(question, err=True)

    options = ApplyOptions(group, prune, only_plan, as_json=report == "json")
    command = FolderApply(options, console, confirm)
    if not command.check(files, values):
        return ExitCode.PROBLEMS_FOUND
    with closing(connect(settings, flags, console, only_existing_home=only_plan)) as engine:
        status = command.run(engine)
    codes = {
        ApplyStatus.NOTHING_TO_DO: ExitCode.SUCCESS,
        ApplyStatus.APPLIED: ExitCode.SUCCESS,
        ApplyStatus.PLANNED: ExitCode.CHANGES_PLANNED,
        ApplyStatus.INTERRUPTED: ExitCode.INTERRUPTED,
    }
    return codes.get(status, ExitCode.STATEMENT_FAILED)
