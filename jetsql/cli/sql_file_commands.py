"""The commands for SQL files that start no engine: `jetsql lint`, `format`, `convert`, `test` and `lsp`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from jetsql.cli.connect import connect, remote_url
from jetsql.cli.flags import (
    HOME_OPTION,
    URL_OPTION,
    VARIABLES_OPTION,
    ExitCode,
    Flags,
    add_options,
    load_settings,
    parse_flags,
)
from jetsql.cli.needs_engine import needs_engine
from jetsql.cli.run_scripts import script_variables
from jetsql.cli.statement_commands import run_and_report

if TYPE_CHECKING:
    from jetsql.client.background_connection import BackgroundStartupReporter, Connect
    from jetsql.client.engine_client import EngineClient
    from jetsql.output.console import Console
    from jetsql.sqlfiles.lint_files import LintRun
    from jetsql.sqlfiles.lint_problems import LintProblem
    from jetsql.sqlfiles.read_sql_files import SqlFile

_LINKS_SHOWN: Final = 3

FILES_ARGUMENT = click.argument("files", nargs=-1, required=True, metavar="FILE...")


@click.command()
@FILES_ARGUMENT
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="The format of the report [default: text]. sarif and github are for code review.",
)
@click.option(
    "--schema",
    "schema",
    multiple=True,
    metavar="FILE",
    help="A file or folder that creates the other tables which exist; report tables that no file creates. May be"
    " repeated.",
)
@click.option("--engine", "on_engine", is_flag=True, help="Also ask a running engine about each job (EXPLAIN).")
@add_options(HOME_OPTION, URL_OPTION, VARIABLES_OPTION)
@click.pass_context
def lint(
    context: click.Context,
    /,
    files: tuple[str, ...],
    report: str,
    schema: tuple[str, ...],
    on_engine: bool,
    **params: Any,
) -> None:
    """Check SQL files without running them.

    The files are read one after the other, with all `.sql` files of folders; - reads standard input. Nothing is run,
    and neither Java nor an engine is needed.

    \b
    Examples:
      jetsql lint jobs.sql
      jetsql lint sql/ --schema tables.sql
      jetsql lint --format github --set day=2013-01-01 sql/
      jetsql lint --engine --home ./engine jobs.sql

    The check covers the grammar of JetSQL's statements, names, options and their values, variables without a value,
    jobs that are created twice, jobs that read what they write, functions of other systems, and queries. With --engine,
    the engine analyses each job and creates nothing.

    Exit codes: 0 no errors and no warnings, 1 errors or warnings, 2 wrong usage, 3 no engine.
    """
    flags = parse_flags(context, params)
    context.exit(run_and_report(lambda console: _lint(console, flags, files, report, schema, on_engine)))


def _lint(
    console: Console, flags: Flags, names: Sequence[str], report: str, schema: Sequence[str], on_engine: bool
) -> ExitCode:
    from jetsql.sqlfiles.lint_files import LintRun
    from jetsql.sqlfiles.lint_problems import ProblemLevel
    from jetsql.sqlfiles.lint_report import LintFormat, report_problems, summary

    silence_sqlglot()
    files = read_files(names, console)
    run = LintRun(script_variables(flags), read_files(schema, console) if schema else None)
    problems = run.check(files)
    if on_engine:
        problems = [*problems, *_lint_on_engine(console, flags, run)]
    form = LintFormat(report)
    for line in report_problems(problems, form):
        console.write_line(line)
    console.flush()
    if form is LintFormat.TEXT:
        console.print_message(summary(problems, len(files)))
    fails = any(problem.level is not ProblemLevel.NOTE for problem in problems)
    return ExitCode.PROBLEMS_FOUND if fails else ExitCode.SUCCESS


def _lint_on_engine(console: Console, flags: Flags, run: LintRun) -> Sequence[LintProblem]:
    from jetsql.sqlfiles.lint_on_engine import lint_on_engine

    running = replace(flags, no_start=True)
    with closing(connect(load_settings(running), running, console, only_existing_home=True)) as engine:
        return list(lint_on_engine(run.statements, engine))


@click.command("format")
@FILES_ARGUMENT
@click.option("--check", "only_check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show the changes, and exit as with --check.")
@click.pass_context
def format_files(context: click.Context, /, files: tuple[str, ...], only_check: bool, show_diff: bool) -> None:
    """Format SQL files.

    The files are written again in place, with all `.sql` files of folders; - formats standard input to standard output.

    \b
    Examples:
      jetsql format jobs.sql
      jetsql format --check sql/
      jetsql format --diff jobs.sql
      jetsql format - < jobs.sql

    Only white space and the case of keywords change, so the statements mean the same. Comments stay in their places.
    Queries get the layout of sqlglot. A statement that cannot be formatted stays as it is, with a note.

    Exit codes: 0 success, 1 a file would change (--check, --diff) or has an error, 2 wrong usage.
    """
    parse_flags(context, {})
    context.exit(run_and_report(lambda console: _format(console, files, only_check or show_diff, show_diff)))


def _format(console: Console, names: Sequence[str], only_check: bool, show_diff: bool) -> ExitCode:
    from jetsql.sqlfiles.formatting.format_files import FileFormatter
    from jetsql.sqlfiles.read_sql_files import STDIN

    silence_sqlglot()
    formatter = FileFormatter(only_check)
    for file in read_files(names, console):
        try:
            formatted = formatter.format(file)
        except OSError as error:
            raise click.UsageError(f"{file.name}: {error.strerror}.") from error
        for problem in formatted.problems:
            console.show_error(str(problem.diagnostic()))
        if show_diff:
            for line in formatted.diff():
                console.write_line(line)
        elif file.name == STDIN and not only_check:
            console.write_line(formatted.text.removesuffix("\n"))
        console.flush()
    console.print_message(formatter.summary())
    fails = formatter.failed or (only_check and formatter.changed)
    return ExitCode.PROBLEMS_FOUND if fails else ExitCode.SUCCESS


@click.command()
@FILES_ARGUMENT
@click.option(
    "--from",
    "dialect",
    required=True,
    metavar="DIALECT",
    help="The system that the SQL is written for: postgres, trino, snowflake, duckdb, bigquery, mysql, ...",
)
@click.pass_context
def convert(context: click.Context, /, files: tuple[str, ...], dialect: str) -> None:
    """Convert SQL of another system to Spark's.

    The files are read one after the other, with all `.sql` files of folders; - reads standard input. The result goes to
    standard output. Statements of JetSQL stay; the queries in the bodies of jobs are converted.

    \b
    Examples:
      jetsql convert --from postgres views.sql > jobs.sql
      jetsql convert --from trino - < query.sql

    What cannot be converted stays as it is, and is reported with its place. sqlglot does the conversion; review its
    result, because functions of the same name can differ.

    Exit codes: 0 everything was converted, 1 not everything, 2 wrong usage.
    """
    parse_flags(context, {})
    context.exit(run_and_report(lambda console: _convert(console, files, dialect)))


def _convert(console: Console, names: Sequence[str], dialect: str) -> ExitCode:
    from jetsql.sqlfiles.convert_script import convert_script, known_dialects
    from jetsql.sqlfiles.lint_problems import ProblemLevel
    from jetsql.sqlfiles.lint_report import summary

    silence_sqlglot()
    known = known_dialects()
    if dialect.lower() not in known:
        raise click.UsageError(f"There is no dialect {dialect!r}. The dialects are: {', '.join(known)}.")
    problems: list[LintProblem] = []
    files = read_files(names, console)
    for file in files:
        if file.problem is not None:
            problems.append(file.problem)
            continue
        converted = convert_script(file.script, dialect.lower())
        problems += converted.problems
        for line in converted.text.splitlines():
            console.write_line(line)
    console.flush()
    for problem in problems:
        console.show_error(str(problem.diagnostic()))
    console.print_message(summary(problems, len(files)))
    fails = any(problem.level is not ProblemLevel.NOTE for problem in problems)
    return ExitCode.PROBLEMS_FOUND if fails else ExitCode.SUCCESS


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-k", "pattern", default="", metavar="TEXT", help="Run only tests with this text in file or name.")
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "junit", "github", "json"]),
    default="text",
    help="The format of the report [default: text].",
)
@click.option("--coverage", "covered", is_flag=True, help="Report conditions, CASE branches and joins without rows.")
@click.option("--watch", is_flag=True, help="Run the tests again when a file changes, until Ctrl-C.")
@add_options(VARIABLES_OPTION)
@click.pass_context
@needs_engine("run tests")
def test_files(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    pattern: str,
    report: str,
    covered: bool,
    watch: bool,
    **params: Any,
) -> None:
    """Run unit tests of SQL files.

    A file NAME.test.sql tests NAME.sql in the same folder. Each test has tables in memory, jobs and a clock of its own:
    neither a broker nor a database nor an engine is needed. Without PATH, the files of the current folder are run.

    \b
    Examples:
      jetsql test
      jetsql test sql/totals.test.sql -k late
      jetsql test --coverage
      jetsql test --format junit > report.xml

    Exit codes: 0 all tests passed, 1 not all, 2 wrong usage, 3 Spark cannot start, 5 no tests, 130 Ctrl-C.
    """
    from jetsql.sqltests.sql_tests import NoTests, SqlTests

    variables = script_variables(parse_flags(context, params))

    def run(console: Console) -> ExitCode:
        silence_sqlglot()
        try:
            passed = SqlTests(console, paths or (".",), pattern, report, variables, covered).run(watch)
        except OSError as error:
            raise click.UsageError(f"{error.filename}: {error.strerror}.", context) from error
        except NoTests as error:
            console.print_message(str(error))
            return ExitCode.NO_TESTS
        return ExitCode.SUCCESS if passed else ExitCode.PROBLEMS_FOUND

    context.exit(run_and_report(run))


@click.command()
@add_options(HOME_OPTION, URL_OPTION, VARIABLES_OPTION)
@click.option("--no-engine", is_flag=True, help="Take no names from an engine, even if it runs.")
@click.option("--stdio", is_flag=True, help="Use standard input and output, as always; some editors give this option.")
@click.pass_context
def lsp(context: click.Context, /, no_engine: bool, stdio: bool, **params: Any) -> None:
    """Serve an editor as a language server for SQL files.

    An editor starts the command and speaks with it over standard input and output. Install pygls for it: pip install
    'jetsql[lsp]'. Neither Java nor an engine is needed. If an engine runs on the home, or at --url, completion also
    offers its jobs, tables and columns; the command starts no engine.

    \b
    Examples:
      jetsql lsp
      jetsql lsp --home ./engine --set day=2013-01-01

    The editor can give the same as initialization options: home, url, engine, variables, documentation.

    Exit codes: 0 ended by the editor, 1 ended without the editor's request, 2 wrong usage.
    """
    flags = parse_flags(context, params)
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError as error:
        message = f"The language server needs pygls, which cannot be loaded: {error}. Run: pip install 'jetsql[lsp]'."
        raise click.ClickException(message) from error
    from jetsql.language_server.server_options import ServerOptions
    from jetsql.language_server.stdio_server import serve_stdio

    options = ServerOptions(_engine_of, flags.home, flags.url, not no_engine, script_variables(flags))
    if not no_engine:
        try:
            _engine_of(flags.home, flags.url)
        except ValueError as error:  # reported before the editor connects
            raise click.UsageError(str(error), context) from error
    serve_stdio(options)


def _engine_of(home: str | None, url: str | None) -> Connect:
    """Return how to connect to the engine of a home or at a URL, without starting one.

    Raises ValueError for an invalid address or setting.
    """
    flags = Flags(home=home, url=url, no_start=True)
    try:
        settings = load_settings(flags)
        remote_url(flags)
    except click.UsageError as error:
        raise ValueError(error.message) from error

    def connect_engine(progress: BackgroundStartupReporter) -> EngineClient:
        return connect(settings, flags, progress, only_existing_home=True)

    return connect_engine


def read_files(names: Sequence[str], console: Console) -> list[SqlFile]:
    """Return the files with these names, and report links that are not followed.

    Raises click.UsageError for an unreadable file.
    """
    from jetsql.sqlfiles.read_sql_files import find_sql_files, read_sql_file

    found = []
    name = ""
    try:
        files, outside = find_sql_files(names)
        for name in files:
            found.append(read_sql_file(name))
    except OSError as error:
        raise click.UsageError(f"{error.filename or name}: {error.strerror}.") from error
    if outside:
        named = ", ".join([*outside[:_LINKS_SHOWN], *(["..."] if len(outside) > _LINKS_SHOWN else [])])
        console.print_message(f"Links out of the folder are not followed: {named}")
    return found


def silence_sqlglot() -> None:
    """Keep sqlglot from printing warnings about statements that it keeps as they are."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
