"""What can be given on the command line, and what the process ends with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from jetsql.settings import Settings


class ExitCode(IntEnum):
    """What the process ends with."""

    FINE = 0
    STATEMENT_FAILED = 1
    PROBLEMS_FOUND = 1
    USAGE = 2
    NO_ENGINE = 3
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """Whoever read the output (`| head`) stopped reading; what was not run by then was not run. 128 + SIGPIPE."""


@dataclass(frozen=True)
class Flags:
    """What was given on the command line."""

    statements: tuple[str, ...] = ()
    home: str | None = None
    url: str | None = None
    master: str | None = None
    conf: tuple[str, ...] = ()
    form: str | None = None
    variables: tuple[str, ...] = ()
    keep_going: bool = False
    embedded: bool = False
    stay: bool = False
    no_start: bool = False
    traces: bool = False
    thrift: bool = False
    thrift_port: int | None = None
    kafka: bool = False
    storage: str | None = None
    secret_file: str | None = None

    def under(self, outer: Flags) -> Flags:
        """These flags with those that stand before the command's name; where both say something, these hold."""
        return Flags(
            statements=outer.statements + self.statements,
            home=self.home if self.home is not None else outer.home,
            url=self.url if self.url is not None else outer.url,
            master=self.master if self.master is not None else outer.master,
            conf=outer.conf + self.conf,
            form=self.form or outer.form,
            variables=outer.variables + self.variables,
            keep_going=self.keep_going or outer.keep_going,
            embedded=self.embedded or outer.embedded,
            stay=self.stay or outer.stay,
            no_start=self.no_start or outer.no_start,
            traces=self.traces or outer.traces,
            thrift=self.thrift,
            thrift_port=self.thrift_port,
            kafka=self.kafka,
            storage=self.storage,
            secret_file=self.secret_file,
        )


def _warn_of_secrets(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> tuple[str, ...]:
    """Warn of a secret on the command line, which every user of the machine can read while the command runs."""
    if pairs:
        from jetsql.jobs.model.redaction import is_secret
        from jetsql.secret_references import is_reference

        for key, _, value in (pair.partition("=") for pair in pairs):
            if is_secret(key) and not is_reference(value):
                click.echo(
                    f"Warning: the value of --conf {key} can be read by every user of this machine while the command"
                    f" runs. Write --conf {key}=secret:file:PATH or secret:env:NAME, or set it in config.toml.",
                    err=True,
                )
    return pairs


HOME_OPTION = click.option(
    "--home", metavar="DIR", help="The engine's folder [JETSQL_HOME; else the platform's data folder]."
)
FORMAT_OPTION = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "vertical", "csv", "json", "markdown"]),
    help="How results are shown [table; check: text]. csv has a header, json is one object a line.",
)
MASTER_OPTION = click.option(
    "--master", metavar="URL", help="Spark's master, where an engine is started [JETSQL_MASTER; else local[*]]."
)
CONF_OPTION = click.option(
    "--conf",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_warn_of_secrets,
    help="A setting of Spark, where an engine is started; may be given often. A secret: KEY=secret:file:PATH.",
)
THRIFT_OPTIONS = (
    click.option("--thrift", is_flag=True, help="Open the Thrift door too, for JDBC and the tools that speak it."),
    click.option(
        "--thrift-port", type=click.IntRange(0, 65535), metavar="PORT", help="Its port [0: any that is free]."
    ),
)
KAFKA_OPTION = click.option(
    "--kafka", is_flag=True, help="Fetch Spark's Kafka connector at once, not when a Kafka table is first used."
)
STORAGE_OPTION = click.option(
    "--storage",
    metavar="PLACE",
    help="Where a new home has its checkpoints, snapshots and tables: a path or URI that all members reach [the home].",
)
SECRET_FILE_OPTION = click.option(
    "--secret-file",
    metavar="FILE",
    help="The file with the secret of the cluster at --master [else cluster.secret next to config.toml].",
)
NO_START_OPTION = click.option("--no-start", is_flag=True, help="Start no engine when none runs: exit with 3 instead.")
URL_OPTION = click.option(
    "--url",
    metavar="URL",
    help="An engine on another machine, instead of a home [JETSQL_URL]; its token stands in JETSQL_TOKEN.",
)
TRACES_OPTION = click.option(
    "-v", "--verbose", "traces", is_flag=True, help="Show where in the engine errors came from."
)
VARIABLES_OPTION = click.option(
    "--set",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable of the scripts, written ${NAME} there; may be given often. JETSQL_VAR_NAME in the environment "
    "sets one too.",
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
"""Those of every command that talks with an engine."""
OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("-e", "statements", multiple=True, metavar="STATEMENTS", help="Run these statements."),
    *ENGINE_OPTIONS,
    VARIABLES_OPTION,
    click.option("--continue", "keep_going", is_flag=True, help="Go on after a statement that failed."),
    click.option(
        "--embedded", is_flag=True, help="Run the engine in this process; its jobs stop gracefully when it ends."
    ),
    click.option("--stay", is_flag=True, help="With --embedded: keep the jobs running until Ctrl-C when all is done."),
)


def with_these(*options: Callable[..., Any]) -> Callable[..., Any]:
    """A command with these options, shown in their order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


with_options = with_these(*OPTIONS)
"""A command with the options of running statements."""


def flags_of(context: click.Context, given: Mapping[str, Any]) -> Flags:
    """The flags of a command and of those before its name. Raises click.UsageError for one that it has no use for."""
    outer: Flags = context.obj
    taken = {parameter.name for parameter in context.command.params}
    assert context.parent is not None
    for option in context.parent.command.params:
        name = option.name or ""
        if name not in taken and getattr(outer, name, None):
            raise click.UsageError(f"{context.command.name} has no use for {option.opts[-1]}.", context)
    return Flags(**given).under(outer)


def settings_of(flags: Flags) -> Settings:
    from jetsql import settings
    from jetsql.errors import EngineError

    try:
        conf = dict(settings.pair(text, "--conf") for text in flags.conf)
        more = {
            "thrift": flags.thrift or None,
            "thrift_port": flags.thrift_port,
            "kafka": flags.kafka or None,
            "storage": flags.storage,
            "cluster_secret_file": flags.secret_file,
        }
        return settings.load(home=flags.home, master=flags.master, conf=conf, flags=more)
    except EngineError as error:
        # Nothing was started yet: what is wrong is how we were called.
        raise click.UsageError(error.explanation) from error
