"""Try the clients of other projects with an engine, and print the table of docs/reference/clients.md."""

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
from tests.external_clients.engine import ClientTestEngine, run_engine, run_lakehouse, run_shared_engine
from tests.external_clients.environments import EnvironmentFailed


@dataclass(frozen=True)
class ClientStep:
    """One step of a client's program."""

    name: str
    ok: bool
    note: str


@click.command()
@click.option("--only", multiple=True, type=click.Choice([client.name for client in CLIENTS]), help="This client.")
@click.option("--tests", metavar="EXPRESSION", default="", help="Of dbt's suites, only these tests, as -k of pytest.")
@click.option("--home", type=click.Path(path_type=Path), help="The engine's home [a temporary folder].")
def main(only: Sequence[str], tests: str, home: Path | None) -> None:
    """Try the clients with one engine, those as users with a second one, and those of lakehouse tables with a third."""
    chosen = [client.with_tests(tests) for client in CLIENTS if not only or client.name in only]
    plain = [client for client in chosen if not (client.needs_lakehouse or client.needs_users)]
    shared = [client for client in chosen if client.needs_users]
    lakehouse = [client for client in chosen if client.needs_lakehouse]
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        if plain:
            with run_engine(home or Path(temporary) / "home") as engine:
                wrong += try_clients(plain, engine)
        if shared:
            with run_shared_engine(make_folder(temporary, "shared")) as engine:
                wrong += try_clients(shared, engine)
        if lakehouse:
            with run_lakehouse(make_folder(temporary, "lakehouse")) as engine:
                wrong += try_clients(lakehouse, engine)
    if wrong:
        click.echo(f"went wrong: {', '.join(wrong)}")
        sys.exit(1)


def make_folder(parent: str, name: str) -> Path:
    """Make a folder, and return it."""
    folder = Path(parent) / name
    folder.mkdir()
    return folder


def try_clients(clients: Sequence[Client], engine: ClientTestEngine) -> list[str]:
    """Try clients with an engine, report their steps, and return the names of those that went wrong."""
    return [client.name for client in clients if not report(client, try_client(client, engine))]


def try_client(client: Client, engine: ClientTestEngine) -> list[ClientStep]:
    """Return the steps of a client's program; a step of its own if it could not run or did not finish."""
    try:
        command = client.command()
    except EnvironmentFailed as reason:
        return [ClientStep("environment", False, str(reason))]
    environment = {**engine.environment(f"clients_{client.name.replace('-', '_')}"), **client.environment()}
    try:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=client.seconds, check=False
        )
    except subprocess.TimeoutExpired as late:
        output = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        return [*parse_steps(output), ClientStep("end", False, f"not at its end after {client.seconds:g} s")]
    found = parse_steps(ended.stdout)
    if ended.returncode != 0:
        found.append(ClientStep("end", False, (ended.stderr.strip().splitlines() or ["no word"])[-1]))
    return found or [ClientStep("end", False, "it said nothing")]


def parse_steps(output: str) -> list[ClientStep]:
    """Parse the lines of a program: JSON, or a name, a tab and the result."""
    found = []
    for line in output.splitlines():
        name, tab, outcome = line.partition("\t")
        if line.startswith("{") and '"step"' in line:
            step = json.loads(line)
            found.append(ClientStep(step["step"], step["ok"], step["note"]))
        elif tab:
            found.append(ClientStep(name, outcome == "ok", "" if outcome == "ok" else outcome))
    return found


def report(client: Client, steps: Sequence[ClientStep]) -> bool:
    """Print the steps of a client. Return whether all went as expected."""
    failed = [step for step in steps if not step.ok and step.name not in client.known_failures]
    verdict = "ok" if not failed else "WRONG"
    click.echo(f"{client.name:18} {verdict:6} {', '.join(step.name for step in steps if step.ok)}")
    for step in steps:
        if not step.ok:
            known = f" (known: {client.known_failures[step.name]})" if step.name in client.known_failures else ""
            click.echo(f"{'':18} {step.name}: {step.note}{known}")
        elif step.note:
            click.echo(f"{'':18} {step.name}: {step.note}")
    return not failed


if __name__ == "__main__":
    main()
