"""The commands that alerts may run: only the engine's configuration names them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from jetsql.setting_fields import setting


@dataclass(frozen=True)
class AlertCommand:
    """A command with its name."""

    name: str
    words: tuple[str, ...]  # the program with its full path, and its arguments; no shell reads them

    def __str__(self) -> str:
        return f"{self.name}={shlex.join(self.words)}"


def parse_commands(value: object) -> tuple[AlertCommand, ...]:
    """Return the commands of a list from a file, or of a text with semicolons from the environment.

    Raises ValueError, see `setting_values`.
    """
    texts = value if isinstance(value, list) else [each for each in str(value).split(";") if each.strip()]
    commands = tuple(_parse_command(str(text)) for text in texts)
    if len({command.name.casefold() for command in commands}) < len(commands):
        raise ValueError("commands with different names")
    return commands


def _parse_command(text: str) -> AlertCommand:
    name, _, line = text.partition("=")
    try:
        words = tuple(shlex.split(line))
    except ValueError:
        words = ()
    if not re.fullmatch(r"\w+", name.strip()) or not words or not words[0].startswith("/"):
        raise ValueError("commands such as page=/usr/local/bin/page --urgent, with the full path of the program")
    return AlertCommand(name.strip(), words)


@dataclass(frozen=True)
class AlertSettings:
    """Settings of alerts, a part of the engine's settings."""

    alert_commands: tuple[AlertCommand, ...] = setting(
        (),
        parse_commands,
        "Commands that alerts of an `ADMIN` may run, as a list of `NAME=/path/of/program arguments`; a text has"
        " semicolons between them. The program gets the message as JSON, and no shell reads the arguments.",
    )

    def command(self, name: str) -> AlertCommand | None:
        """Return the command with a name, or None."""
        return next((each for each in self.alert_commands if each.name.casefold() == name.casefold()), None)
