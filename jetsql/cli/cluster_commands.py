"""Run a standalone Spark cluster on this machine or several: `jetsql master` and `jetsql join`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from jetsql.cli.flags import ExitCode, Flags, load_settings
from jetsql.cli.needs_engine import needs_engine

# Several where one stands by for the other, as Spark writes them: spark://one:7077,two:7077.
_MASTERS: Final = re.compile(r"spark://[^\s/,@]+:\d+(,[^\s/,@]+:\d+)*", re.ASCII)
_PORT: Final = re.compile(r":(\d+)(?:,|$)")
_MAX_PORT: Final = 65535
_MEMORY: Final = re.compile(r"[1-9]\d*[mgt]b?", re.ASCII | re.IGNORECASE)


class _MasterUrl(click.ParamType[str]):
    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        ports = map(int, _PORT.findall(value))
        if not _MASTERS.fullmatch(value) or not all(1 <= port <= _MAX_PORT for port in ports):
            self.fail(f"{value!r} is no master's URL, such as spark://127.0.0.1:7077.", param, ctx)
        return value


class _Memory(click.ParamType[str]):
    name = "size"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not _MEMORY.fullmatch(value):
            self.fail(f"{value!r} is no size, such as 512m or 2g.", param, ctx)
        return value


_SECRET_OPTION: Final = click.option(
    "--secret-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file with the cluster's secret, mode 0600 [else cluster.secret next to config.toml].",
)
_WEB_OPTION: Final = click.option(
    "--web-ui",
    "web_host",
    metavar="HOST",
    help="Serve Spark's web pages at this address, on a port of its choice. They have no login [else no pages].",
)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address that it listens at.")
@click.option("--port", type=click.IntRange(1, 65535), default=7077, show_default=True, help="And the port.")
@click.option(
    "--recovery-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Note members and engines there: started again after its death, it goes on with them.",
)
@_SECRET_OPTION
@_WEB_OPTION
@click.pass_context
@needs_engine("run the master of a Spark cluster")
def master(
    context: click.Context,
    /,
    host: str,
    port: int,
    recovery_dir: Path | None,
    secret_file: Path | None,
    web_host: str | None,
) -> None:
    """Run the master of a Spark cluster, in the foreground.

    It is Spark's own; members join it with `jetsql join`, and an engine uses it with --master. They need the cluster's
    secret, which the first start makes: copy the file to the other machines.

    \b
    Examples:
      jetsql master
      jetsql master --recovery-dir /var/lib/spark-master
      jetsql join spark://127.0.0.1:7077 --cores 1
      jetsql start --master spark://127.0.0.1:7077
    """
    from jetsql.engine.session.standalone_cluster import MasterStart, become_master, check_address
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    start = MasterStart(host, port, _absolute(recovery_dir), _secret_file(secret_file), web_host)
    console = process_console()
    try:
        check_address("The master", host, port)
        console.print_message(f"The master is {start.url}; a member joins it with: jetsql join {start.url}")
        become_master(start)
    except EngineError as error:
        console.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)


@click.command()
@click.argument("url", metavar="spark://HOST:PORT", type=_MasterUrl())
@click.option("--cores", type=click.IntRange(1), metavar="N", help="How many tasks it runs at once [else all cores].")
@click.option(
    "--memory",
    type=_Memory(),
    metavar="SIZE",
    help="What its executors may take together, such as 2g [else Spark's].",
)
@click.option("--host", help="The address that it is reached at [else the one from which it reaches the master].")
@click.option(
    "--work-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where its executors write [else a new temporary folder].",
)
@_SECRET_OPTION
@_WEB_OPTION
@click.pass_context
@needs_engine("join a Spark cluster")
def join(
    context: click.Context,
    /,
    url: str,
    cores: int | None,
    memory: str | None,
    host: str | None,
    work_dir: Path | None,
    secret_file: Path | None,
    web_host: str | None,
) -> None:
    """Join a Spark cluster as a member, in the foreground.

    It needs the cluster's secret, a file that `jetsql master` makes: copy it from the master's machine.
    Jobs of engines that use the cluster restart to use it too, see `autoScaling`. Ctrl-C leaves the cluster.

    \b
    Examples:
      jetsql join spark://127.0.0.1:7077
      jetsql join spark://127.0.0.1:7077 --cores 1 --memory 2g
    """
    from jetsql.engine.session.standalone_cluster import WorkerStart, become_worker, check_address
    from jetsql.engine.session.startup import find_unreachable_masters
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    silent = find_unreachable_masters(url)
    if silent:
        process_console().print_message(
            f"No master answers at {silent}. The member goes on asking for some ten minutes: start one there with"
            " 'jetsql master', or end this with Ctrl-C."
        )
    try:
        if host is not None:
            check_address("The member", host)
        start = WorkerStart(url, host, cores, memory, _absolute(work_dir), _secret_file(secret_file), web_host)
        become_worker(start)
    except EngineError as error:
        process_console().print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)


def _absolute(path: Path | None) -> Path | None:
    return path and path.absolute()


def _secret_file(flag: Path | None) -> Path | None:
    """Return the file that the flag names, otherwise the one in the settings."""
    return _absolute(flag) or load_settings(Flags()).cluster_secret_file
