"""Run a standalone Spark cluster on this machine or several: `jetsql master` and `jetsql join`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from jetsql.cli.flags import ExitCode, Flags, load_settings
from jetsql.cli.needs_engine import needs_engine

# Several masters, of which all but one are standby, are written as in Spark: spark://one:7077,two:7077.
_MASTERS: Final = re.compile(r"spark://[^\s/,@]+:\d+(,[^\s/,@]+:\d+)*", re.ASCII)
_PORT: Final = re.compile(r":(\d+)(?:,|$)")
_MAX_PORT: Final = 65535
_MEMORY: Final = re.compile(r"[1-9]\d*[mgt]b?", re.ASCII | re.IGNORECASE)


class _MasterUrl(click.ParamType[str]):
    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        ports = map(int, _PORT.findall(value))
        if not _MASTERS.fullmatch(value) or not all(1 <= port <= _MAX_PORT for port in ports):
            self.fail(f"{value!r} is not the URL of a master, such as spark://127.0.0.1:7077.", param, ctx)
        return value


class _Memory(click.ParamType[str]):
    name = "size"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not _MEMORY.fullmatch(value):
            self.fail(f"{value!r} is not a size, such as 512m or 2g.", param, ctx)
        return value


_SECRET_OPTION: Final = click.option(
    "--secret-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file with the cluster's secret, with mode 0600 [default: cluster.secret next to config.toml].",
)
_WEB_OPTION: Final = click.option(
    "--web-ui",
    "web_host",
    metavar="HOST",
    help="Serve Spark's web UI, which has no login, at this address on any free port [default: no web UI].",
)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=7077, show_default=True, help="The port to listen on.")
@click.option(
    "--recovery-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Store members and engines in this folder, so that a restarted master continues with them.",
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

    It is the master of Spark's standalone mode. Members join it with `jetsql join`, and an engine uses it with
    --master. They need the cluster's secret: the first start makes a file with it, which you copy to the other
    machines.

    \b
    Examples:
      jetsql master
      jetsql master --recovery-dir /var/lib/spark-master
      jetsql join spark://127.0.0.1:7077 --cores 1
      jetsql start --master spark://127.0.0.1:7077
    """
    from jetsql.engine.spark.standalone_cluster import MasterStart, become_master, check_address
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    start = MasterStart(host, port, _absolute(recovery_dir), _secret_file(secret_file), web_host)
    console = process_console()
    try:
        check_address("The master", host, port)
        console.print_message(f"The master is {start.url}. Join it with: jetsql join {start.url}")
        become_master(start)
    except EngineError as error:
        console.print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)


@click.command()
@click.argument("url", metavar="spark://HOST:PORT", type=_MasterUrl())
@click.option(
    "--cores",
    type=click.IntRange(1),
    metavar="N",
    help="The number of tasks that run in parallel [default: all cores].",
)
@click.option(
    "--memory",
    type=_Memory(),
    metavar="SIZE",
    help="The memory of all executors together, such as 2g [default: Spark's].",
)
@click.option("--host", help="The address at which the cluster reaches the member [default: detected].")
@click.option(
    "--work-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of its executors' files [default: a new temporary folder].",
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

    The member needs the cluster's secret: copy the file that `jetsql master` makes from the master's machine. Jobs of
    engines in the cluster restart to use the new member, see the job option `autoScaling`. Ctrl-C leaves the cluster,
    and jobs lose the member. After `kill -PWR PID`, it leaves as planned: its tasks end first, and no job restarts.

    \b
    Examples:
      jetsql join spark://127.0.0.1:7077
      jetsql join spark://127.0.0.1:7077 --cores 1 --memory 2g
    """
    from jetsql.engine.spark.standalone_cluster import WorkerStart, become_worker, check_address
    from jetsql.engine.spark.startup import find_unreachable_masters
    from jetsql.errors import EngineError
    from jetsql.output.console import process_console

    silent = find_unreachable_masters(url)
    if silent:
        process_console().print_message(
            f"No master answers at {silent}. The member retries for about ten minutes. Start a master there with"
            " 'jetsql master', or press Ctrl-C."
        )
    try:
        if host is not None:
            check_address("The member", host)
        secret = _secret_file(secret_file)
        archives = load_settings(Flags()).class_archives
        start = WorkerStart(url, host, cores, memory, _absolute(work_dir), secret, web_host, archives)
        become_worker(start)
    except EngineError as error:
        process_console().print_message(str(error))
        context.exit(ExitCode.NO_ENGINE)


def _absolute(path: Path | None) -> Path | None:
    return path and path.absolute()


def _secret_file(flag: Path | None) -> Path | None:
    """Return the file that the flag names, otherwise the one in the settings."""
    return _absolute(flag) or load_settings(Flags()).cluster_secret_file
