"""The commands of `tools.kubernetes`."""

from __future__ import annotations

import sys
from typing import Final

import click

from tools.kubernetes.cache import BuildFailed, NotAvailable
from tools.kubernetes.image import build_image
from tools.kubernetes.system_packages import check_machine

SKIPPED: Final = 77
"""The exit code of what this machine cannot do, as for Automake."""


@click.group()
def main() -> None:
    """Build the image of the engine."""


@main.command("image")
def image() -> None:
    """Build the image, and print the path of its archive."""
    check_machine()
    click.echo(build_image())


if __name__ == "__main__":
    try:
        main()
    except NotAvailable as error:
        sys.stderr.write(f"Skipped: {error}\n")
        sys.exit(SKIPPED)
    except BuildFailed as error:
        sys.exit(str(error))
