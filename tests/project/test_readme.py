"""The README agrees with the code: its tables of options, settings and exit codes are compared with the code's."""

import re

import pytest

from jetsql.cli.flags import ExitCode
from jetsql.jobs.planning.options import OPTIONS
from jetsql.settings import READERS
from jetsql.shell.session.command_table import COMMANDS
from jetsql.shell.settings.settings_file import DESCRIPTIONS, format_value
from jetsql.shell.settings.shell_settings import ShellSettings
from tests.support.paths import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table with this first header, without the two lines of its head."""
    table = TEXT[TEXT.index(f"\n| {heading} |") :].strip().split("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[2:]]


def test_options() -> None:
    own = [[f"`{spec.name}`", spec.values, spec.default, spec.explanation] for spec in OPTIONS]
    assert rows("option")[: len(own)] == own


def test_settings() -> None:
    named = [name for row in rows("setting") for name in re.findall(r"`(\w+)`", row[0])]
    assert named == list(READERS)


def test_commands_and_settings_of_the_shell() -> None:
    named = [[f"{command.word} {command.usage}".strip(), command.summary] for command in COMMANDS]
    assert [[cell.replace("\\|", "|").strip("`") for cell in row] for row in rows("command")] == named
    settings = [[f"`{name}`", format_value(ShellSettings(), name), told] for name, told in DESCRIPTIONS.items()]
    assert rows("`[shell]`") == settings


def test_exit_codes() -> None:
    assert [int(row[0]) for row in rows("exit code")] == [int(code) for code in ExitCode]


@pytest.mark.parametrize("name", re.findall(r"`((?:examples|grammar|jetsql|tests)/[\w./]+)`", TEXT))
def test_files_that_are_named_are_there(name: str) -> None:
    assert (ROOT / name).exists()
