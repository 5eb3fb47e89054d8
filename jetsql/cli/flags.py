"""The flags of the command line and the exit codes of the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from jetsql.settings.engine_settings import Settings


class ExitCode(IntEnum):
    """The exit codes of the process."""

    SUCCESS = 0
    STATEMENT_FAILED = 1
    PROBLEMS_FOUND = 1
    USAGE = 2
    CHANGES_PLANNED = 2
    NO_ENGINE = 3
    NO_TESTS = 5
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """128 + SIGPIPE: the reader of the output (`| head`) closed it, and the remaining statements were not run."""


@dataclass(frozen=True)
class Flags:
    """The values given on the command line."""

    statements: tuple[str, ...] = ()
    home: str | None = None
    url: str | None = None
    master: str | None = None
    conf: tuple[str, ...] = ()
    form: str | None = None
    variables: tuple[str, ...] = ()
    keep_going: bool = False
    echo: bool = False
    embedded: bool = False
    stay: bool = False
    no_start: bool = False
    show_traces: bool = False
    thrift: bool = False
    thrift_port: int | None = None
    kafka: bool = False
    delta: bool = False
    iceberg: bool = False
    s3: bool = False
    storage: str | None = None
    secret_file: str | None = None
    new_store: bool = False

    def with_defaults(self, outer: Flags) -> Flags:
        """Return these flags with defaults. outer: the flags before the name of the command."""
        return Flags(
            statements=outer.statements + self.statements,
            home=self.home if self.home is not None else outer.home,
            url=self.url if self.url is not None else outer.url,
            master=self.master if self.master is not None else outer.master,
            conf=outer.conf + self.conf,
            form=self.form or outer.form,
            variables=outer.variables + self.variables,
            keep_going=self.keep_going or outer.keep_going,
            echo=self.echo or outer.echo,
            embedded=self.embedded or outer.embedded,
            stay=self.stay or outer.stay,
            no_start=self.no_start or outer.no_start,
            show_traces=self.show_traces or outer.show_traces,
            thrift=self.thrift,
            thrift_port=self.thrift_port,
            kafka=self.kafka,
            delta=self.delta,
            iceberg=self.iceberg,
            s3=self.s3,
            storage=self.storage,
            secret_file=self.secret_file,
            new_store=self.new_store,
        )


def _warn_of_secrets(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> tuple[str, ...]:
    """Warn about a secret on the command line, because every user of the machine can read it. Return the pairs."""
    if pairs:
        from jetsql.jobs.model.redaction import is_secret
        from jetsql.secret_references import is_reference

        for key, _, value in (pair.partition("=") for pair in pairs):
            if is_secret(key) and not is_reference(value):
                click.echo(
                    f"Warning: every user of this machine can read the value of --conf {key} while the command runs."
                    f" Write --conf {key}=secret:file:PATH or secret:env:NAME, or set it in config.toml.",
                    err=True,
                )
    return pairs


HOME_OPTION = click.option(
    "--home", metavar="DIR", help="The engine's folder [JETSQL_HOME; default: in the platform's data folder]."
)
FORMAT_OPTION = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "vertical", "csv", "json", "markdown"]),
    help="The format of results [default: table; check: text]. csv has a header, json is one object for each row.",
)
MASTER_OPTION = click.option(
    "--master", metavar="URL", help="The Spark master of an engine to start [JETSQL_MASTER; default: local[*]]."
)
CONF_OPTION = click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_warn_of_secrets,
    help="A Spark setting of an engine to start; may be repeated. Write a secret as KEY=secret:file:PATH.",
)
THRIFT_OPTIONS = (
    click.option("--thrift", is_flag=True, help="Open the Thrift endpoint for JDBC clients."),
    click.option(
        "--thrift-port", type=click.IntRange(0, 65535), metavar="PORT", help="The Thrift port [0: any free port]."
    ),
)
CONNECTOR_OPTIONS = (
    click.option(
        "--kafka",
        is_flag=True,
        help="Load Spark's Kafka connector at the start, not at the first use of a Kafka table.",
    ),
    click.option("--delta", is_flag=True, help="Load Delta at the start, for tables USING delta."),
    click.option("--iceberg", is_flag=True, help="Load Iceberg at the start, for catalogues of the type iceberg."),
    click.option("--s3", is_flag=True, help="Load the connector of S3 at the start, for paths with s3a://."),
)
STORAGE_OPTION = click.option(
    "--storage",
    metavar="PLACE",
    help="The path or URI for checkpoints, snapshots and tables of a new home; all members must reach it [the home].",
)
SECRET_FILE_OPTION = click.option(
    "--secret-file",
    metavar="FILE",
    help="The file with the secret of the cluster at --master [default: cluster.secret next to config.toml].",
)
NEW_STORE_OPTION = click.option(
    "--new-store",
    is_flag=True,
    help="Start with an empty store on a home whose store is lost. Its jobs are lost, and process all rows again when"
    " they are created again.",
)
START_OPTIONS: tuple[Callable[..., Any], ...] = (
    HOME_OPTION,
    MASTER_OPTION,
    SECRET_FILE_OPTION,
    CONF_OPTION,
    STORAGE_OPTION,
    NEW_STORE_OPTION,
    *CONNECTOR_OPTIONS,
    *THRIFT_OPTIONS,
)
"""The options of the commands that start an engine."""
NO_START_OPTION = click.option("--no-start", is_flag=True, help="Do not start an engine; exit with 3 if none runs.")
URL_OPTION = click.option(
    "--url",
    metavar="URL",
    help="The URL of an engine on another machine, instead of a home [JETSQL_URL]. Save its token with `jetsql login`.",
)
TRACES_OPTION = click.option("-v", "--verbose", "show_traces", is_flag=True, help="Show stack traces of errors.")
VARIABLES_OPTION = click.option(
    "--set",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable for ${NAME} in scripts; may be repeated. The environment variable JETSQL_VAR_NAME sets it too.",
)
ENGINE_OPTIONS: tuple[Callable[..., Any], ...] = (
    FORMAT_OPTION,
    HOME_OPTION,
    URL_OPTION,
    NO_START_OPTION,
    MASTER_OPTION,
    CONF_OPTION,
    TRACES_OPTION,
)
"""The options of every command that connects to an engine."""
OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("-e", "statements", multiple=True, metavar="STATEMENTS", help="Run these statements."),
    *ENGINE_OPTIONS,
    VARIABLES_OPTION,
    click.option("--continue", "keep_going", is_flag=True, help="Continue after a statement that failed."),
    click.option(
        "--echo",
        is_flag=True,
        help="Print each statement before its result, without its secrets; with --format csv, json and markdown to"
        " standard error.",
    ),
    click.option(
        "--embedded", is_flag=True, help="Run the engine in this process; its jobs stop gracefully when it ends."
    ),
    click.option("--stay", is_flag=True, help="With --embedded: keep the jobs running until Ctrl-C."),
)


def add_options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator that adds these options to a command, shown in their order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


add_statement_options = add_options(*OPTIONS)
"""Add the options of running statements to a command."""


def parse_flags(context: click.Context, params: Mapping[str, Any]) -> Flags:
    """Return the flags of a command and of those before its name.

    Raises click.UsageError for a flag that the command does not use.
    """
    outer: Flags = context.obj
    known = {parameter.name for parameter in context.command.params}
    for option in context.find_root().command.params:
        name = option.name or ""
        if name not in known and getattr(outer, name, None):
            raise click.UsageError(f"{option.opts[-1]} does not apply to {context.command.name}.", context)
    return Flags(**params).with_defaults(outer)


def load_settings(flags: Flags) -> Settings:
    """Return the settings with the flags applied. Raises click.UsageError for an invalid one."""
    from jetsql.errors import EngineError
    from jetsql.settings.engine_settings import load
    from jetsql.settings.given_settings import pair

    try:
        conf = dict(pair(text, "--conf") for text in flags.conf)
        flag_values = {
            "thrift": flags.thrift or None,
            "thrift_port": flags.thrift_port,
            "kafka": flags.kafka or None,
            "delta": flags.delta or None,
            "iceberg": flags.iceberg or None,
            "s3": flags.s3 or None,
            "storage": flags.storage,
            "cluster_secret_file": flags.secret_file,
        }
        settings = load(home=flags.home, master=flags.master, conf=conf, flags=flag_values)
        return replace(settings, new_store=flags.new_store)
    except EngineError as error:
        # No engine was started yet, so this is an error in the usage.
        raise click.UsageError(error.explanation) from error
