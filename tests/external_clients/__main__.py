"""Which of other people's clients can do what with an engine: the table of the README, tried.

    python -m tests.external_clients [--only NAME] [--home DIR]

Each client runs in an environment of its own and says a line for each step; a step that fails, and that is not known to
fail, makes the exit code 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tests.external_clients.clients import CLIENTS, Client
from tests.external_clients.engine import RunningEngine, running
from tests.external_clients.environments import NotMade


@dataclass(frozen=True)
class Step:
    """One line of a client's program."""

    name: str
    ok: bool
    note: str


@click.command()
@click.option("--only", multiple=True, type=click.Choice([client.name for client in CLIENTS]), help="This client.")
@click.option("--home", type=click.Path(path_type=Path), help="The engine's home [a temporary folder].")
def main(only: Sequence[str], home: Path | None) -> None:
    """Try the clients against one engine."""
    chosen = [client for client in CLIENTS if not only or client.name in only]
    with tempfile.TemporaryDirectory() as temporary, running(home or Path(temporary) / "home") as engine:
        wrong = [client.name for client in chosen if not tell(client, tried(client, engine))]
    if wrong:
        click.echo(f"went wrong: {', '.join(wrong)}")
        sys.exit(1)


def tried(client: Client, engine: RunningEngine) -> list[Step]:
    """What a client's program says; a step of its own where it could not be run or broke off."""
    try:
        command = client.command()
    except NotMade as reason:
        return [Step("environment", False, str(reason))]
    environment = {**engine.environment(f"clients_{client.name.replace('-', '_')}"), **client.environment()}
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=client.seconds, check=False
        )
    except subprocess.TimeoutExpired as late:
        told = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return [*steps(told), Step("end", False, f"not at its end after {client.seconds:g} s")]
    found = steps(ended.stdout)
    if ended.returncode != 0:
        found.append(Step("end", False, (ended.stderr.strip().splitlines() or ["no word"])[-1]))
    return found or [Step("end", False, "it said nothing")]


def steps(told: str) -> list[Step]:
    """The lines of a program: JSON, or a name, a tab and what became of it."""
    found = []
    for line in told.splitlines():
        name, tab, outcome = line.partition("\t")
        if line.startswith('{"step"'):
            said = json.loads(line)
            found.append(Step(said["step"], said["ok"], said["note"]))
        elif tab:
            found.append(Step(name, outcome == "ok", "" if outcome == "ok" else outcome))
    return found


def tell(client: Client, found: Sequence[Step]) -> bool:
    """Say what came of it. Returns whether all went as it should."""
    failed = [step for step in found if not step.ok and step.name not in client.known]
    verdict = "ok" if not failed else "WRONG"
    click.echo(f"{client.name:18} {verdict:6} {', '.join(step.name for step in found if step.ok)}")
    for step in found:
        if not step.ok:
            known = f" (known: {client.known[step.name]})" if step.name in client.known else ""
            click.echo(f"{'':18} {step.name}: {step.note}{known}")
        elif step.note:
            click.echo(f"{'':18} {step.name}: {step.note}")
    return not failed


if __name__ == "__main__":
    main()
