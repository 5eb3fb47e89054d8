"""Measure the time from the start of a container of the image to its first answer, the result of `SELECT 1`.

Each container has an empty home, as a new pod has. The containers run in pairs, with the archive of Java's classes in
the image and without it. They are processes in the root file system of the image, so the time that a container runtime
takes for namespaces and networks comes on top of the figures. It needs what `make image` needs.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from benchmarks.reporting import figure, figures, introduce, middle, say, table, text
from tools.free_ports import free_ports

if TYPE_CHECKING:
    from tools.kubernetes.image import Variant

_USER: Final = 10001
_HOME: Final = "/var/lib/jetsql"
_COMMAND: Final = ("tini", "--", "/opt/jetsql/entrypoint", "serve")
_POLL_SECONDS: Final = 0.02
_DEADLINE_SECONDS: Final = 600.0


@contextmanager
def container(variant: Variant) -> Iterator[str]:
    """Make a container for the context, and yield its name."""
    from tools.kubernetes.image import buildah_command

    name = "jetsql-benchmark"
    subprocess.run(buildah_command("rm", name), capture_output=True, check=False)  # of an interrupted benchmark
    create = buildah_command("from", "--pull-never", "--name", name, variant.image)
    subprocess.run(create, check=True, capture_output=True)
    try:
        yield name
    finally:
        subprocess.run(buildah_command("rm", name), check=True, capture_output=True)


def measure(name: str, has_archive: bool) -> float:
    """Start a container, and return the seconds to its first answer. Raises ClickException if it ends before."""
    from tools.kubernetes.image import buildah_command

    with tempfile.TemporaryDirectory(prefix="jetsql-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir(mode=0o700)
        os.chown(home, _USER, _USER)
        [port] = free_ports(1)
        variables = {"JETSQL_HTTP_HOST": "127.0.0.1", "JETSQL_HTTP_PORT": str(port)}
        if not has_archive:
            variables["JETSQL_CLASS_ARCHIVES"] = "none"
        options = ["--isolation", "chroot", "--user", str(_USER), "--volume", f"{home}:{_HOME}"]
        options += [word for each in variables.items() for word in ("--env", "=".join(each))]
        log = Path(folder) / "log"
        with log.open("w") as output:
            began = time.perf_counter()
            process = subprocess.Popen(buildah_command("run", *options, name, "--", *_COMMAND), stderr=output)
        try:
            await_answer(f"http://127.0.0.1:{port}", home / "engine.token", process, began)
            return time.perf_counter() - began
        except TimeoutError as error:
            raise click.ClickException(f"{error}\n{log.read_text()}") from error
        finally:
            process.kill()  # the program that makes the namespaces ignores SIGTERM, and its end kills what is in them
            process.wait()


def await_answer(url: str, token: Path, process: subprocess.Popen[bytes], began: float) -> None:
    """Return when the engine has answered `SELECT 1`. Raises TimeoutError if it does not."""
    import jetsql
    from jetsql.client.dbapi import OperationalError

    while process.poll() is None and time.perf_counter() - began < _DEADLINE_SECONDS:
        try:
            with jetsql.connect(url, token=token.read_text().strip()) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                cursor.fetchall()
                return
        except (OSError, OperationalError):
            time.sleep(_POLL_SECONDS)
    raise TimeoutError("The container has ended, or it does not answer.")


@click.command(help=__doc__)
@click.option("--pairs", "count", type=click.IntRange(1), default=5, show_default=True, help="Starts of each kind.")
@click.option("--variant", default="plain", show_default=True, help="The image: plain, delta or iceberg.")
def main(count: int, variant: str) -> None:
    from tools.kubernetes.image import VARIANTS, build_image

    introduce("container: from the start of a container to its first answer", f"the image {variant}, an empty home")
    build_image(VARIANTS[variant])
    with container(VARIANTS[variant]) as name:
        measure(name, has_archive=True)  # warms the disk cache
        pairs = [(measure(name, has_archive=True), measure(name, has_archive=False)) for _ in range(count)]
    rows = [(str(number), *map(figure, pair)) for number, pair in enumerate(pairs, start=1)]
    table((text("pair"), *figures("with the archive, s", "without, s")), rows)
    with_archive, without = (middle(pair[each] for pair in pairs) for each in (0, 1))
    say(f"median {figure(with_archive)} s with the archive of classes, {figure(without)} s without")


if __name__ == "__main__":
    main()
