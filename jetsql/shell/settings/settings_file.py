"""The shell's settings as text: for `.set`, and as a commented configuration file."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Final

from jetsql.home.private_files import write_private
from jetsql.settings.given_settings import SHELL
from jetsql.shell.settings.shell_settings import ShellSettings

DESCRIPTIONS: Final = {
    "mode": "the format of results: table, vertical, csv, json or markdown",
    "keys": "the editing keys: emacs or vi",
    "submit_key": "the key that runs the text as it is: alt-enter, f5 or ctrl-o",
    "pager": "the pager for results longer than the screen: auto, off or a command",
    "timing": "show how long each statement took",
    "ask_before_drop": "ask before DROP, and before a job without STREAM",
    "colours": "auto, off or the name of a Pygments style, such as monokai",
    "null_text": "the text for NULL",
    "suggest": "suggest entries of the history; the right arrow accepts",
    "history": "write entries to the history file, with secrets redacted",
    "status_bar": "show the engine and the job counts in the last line",
    "completion": "the trigger of the completion menu: typing (while you type) or tab",
}


def format_value(settings: ShellSettings, name: str) -> str:
    """Return a setting's value in TOML."""
    value = getattr(settings, name)
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def format_all(settings: ShellSettings) -> list[str]:
    """Return all settings, one per line."""
    names = [each.name for each in fields(ShellSettings)]
    size = max(map(len, names))
    values = {name: format_value(settings, name) for name in names}
    value_size = max(map(len, values.values()))
    return [f"{name:<{size}} = {values[name]:<{value_size}}  {DESCRIPTIONS[name]}" for name in names]


def default_table() -> str:
    """Return the table [shell] with every setting in a comment, at its default."""
    default = ShellSettings()
    lines = ["# The shell. Remove the # to change a setting.", f"[{SHELL}]"]
    for each in fields(ShellSettings):
        lines += [f"# {DESCRIPTIONS[each.name]}", f"#{each.name} = {format_value(default, each.name)}"]
    return "\n".join(lines) + "\n"


def add_table(file: Path) -> bool:
    """Append the commented table to the file, unless it has one. Return whether it did. Raises OSError, ValueError."""
    file = file.resolve()  # write to the target of a symbolic link, and keep the link
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if SHELL in tomllib.loads(before):
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    gap = "\n" if before and not before.endswith("\n\n") else ""
    line_end = "" if not before or before.endswith("\n") else "\n"
    write_private(file, f"{before}{line_end}{gap}{default_table()}")
    return True
