"""The commands of `tools.kubernetes`."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import Final

import click

from tools.kubernetes.cache import BuildFailed, NotAvailable
from tools.kubernetes.image import VARIANTS, build_image, compare_builds
from tools.kubernetes.local_cluster import running_cluster
from tools.kubernetes.programs import build_programs
from tools.kubernetes.system_packages import check_cluster_machine, check_machine

CLASSES: Final = "opt/jetsql/classes/"
"""The folder of the image with the archive of Java's classes."""
SKIPPED: Final = 77
"""The exit code of what this machine cannot do, as for Automake."""


@click.group()
def main() -> None:
    """Build the image of the engine, and run a Kubernetes on this machine."""


_variant: Final = click.option(
    "--variant", type=click.Choice(tuple(VARIANTS)), default="plain", show_default=True, help="The table formats."
)


@main.command("image")
@_variant
def image(variant: str) -> None:
    """Build the image, and print the path of its archive."""
    check_machine()
    click.echo(build_image(VARIANTS[variant]))


@main.command("compare-builds")
@_variant
def compare(variant: str) -> None:
    """Build the image twice, the second time from the beginning, and print what differs.

    The exit code is 1 if more than the archive of Java's classes differs.
    """
    check_machine()
    differences = compare_builds(VARIANTS[variant])
    for line in differences:
        click.echo(line)
    unexpected = [line for line in differences if CLASSES not in line]
    click.echo(f"{len(differences)} differences, {len(unexpected)} of them outside of {CLASSES}.")
    sys.exit(bool(unexpected))


@main.command("programs")
def programs() -> None:
    """Build the programs of Kubernetes, and print the path of their folder."""
    check_cluster_machine()
    click.echo(build_programs())


@main.command("run")
@click.option("--nodes", default=2, show_default=True, type=click.IntRange(1, 5), help="The number of nodes.")
def run(nodes: int) -> None:
    """Run a Kubernetes with the image until Ctrl-C, and print the path of its kubeconfig."""
    check_cluster_machine()
    with running_cluster([build_image()], nodes) as cluster:
        click.echo(cluster.kubeconfig)
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    try:
        main()
    except NotAvailable as error:
        sys.stderr.write(f"Skipped: {error}\n")
        sys.exit(SKIPPED)
    except BuildFailed as error:
        sys.exit(str(error))
