"""The shell's settings in words: for `.set`, and as a commented file for those who want to keep some."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Final

from jetsql.home.private_files import write_private
from jetsql.settings import SHELL
from jetsql.shell.settings.shell_settings import ShellSettings

EXPLAINED: Final = {
    "mode": "how results are shown: table, vertical, csv, json or markdown",
    "keys": "the editing keys: emacs or vi",
    "submit_key": "runs what was typed as it is: alt-enter, f5 or ctrl-o",
    "pager": "for results that are longer than the screen: auto, off, or a command",
    "timing": "tell how long each statement took",
    "ask_before_drop": "ask before DROP JOB, TABLE, VIEW and SCHEMA",
    "colours": "auto, off, or the name of a style of Pygments, such as monokai",
    "null_text": "what NULL is shown as",
    "suggest": "offer what the history has; the right arrow takes it",
    "history": "write what is entered to the history's file, secrets hidden",
    "status_bar": "the last line of the screen: the engine, and how the jobs are",
    "completion": "the menu of completions: typing (while you type) or tab",
}


def shown(settings: ShellSettings, name: str) -> str:
    """A setting's value as it is written in the file."""
    value = getattr(settings, name)
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def listed(settings: ShellSettings) -> list[str]:
    """All settings, one a line."""
    names = [each.name for each in fields(ShellSettings)]
    size = max(map(len, names))
    values = {name: shown(settings, name) for name in names}
    wide = max(map(len, values.values()))
    return [f"{name:<{size}} = {values[name]:<{wide}}  {EXPLAINED[name]}" for name in names]


def table() -> str:
    """The table [shell] with every setting in a comment, at its default."""
    default = ShellSettings()
    lines = ["# The shell. Take the # away from what is to be different.", f"[{SHELL}]"]
    for each in fields(ShellSettings):
        lines += [f"# {EXPLAINED[each.name]}", f"#{each.name} = {shown(default, each.name)}"]
    return "\n".join(lines) + "\n"


def add_table(file: Path) -> bool:
    """Put the commented table into the file, unless it has one. Whether it was done. Raises OSError, ValueError."""
    file = file.resolve()  # a link stays one: what it leads to is written
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if SHELL in tomllib.loads(before):
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    gap = "\n" if before and not before.endswith("\n\n") else ""
    ended = "" if not before or before.endswith("\n") else "\n"
    write_private(file, f"{before}{ended}{gap}{table()}")
    return True
