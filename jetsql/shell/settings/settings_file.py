"""The shell's settings as text: for `.set`, and as a commented configuration file."""

from __future__ import annotations

import tomllib
from pathlib import Path

from jetsql.home.private_files import write_private
from jetsql.settings.given_settings import SHELL
from jetsql.shell.settings.shell_settings import SHELL_SPECS, ShellSettings


def format_value(settings: ShellSettings, name: str) -> str:
    """Return a setting's value in TOML."""
    value = getattr(settings, name)
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def format_all(settings: ShellSettings) -> list[str]:
    """Return all settings, one per line."""
    size = max(map(len, SHELL_SPECS))
    values = {name: format_value(settings, name) for name in SHELL_SPECS}
    value_size = max(map(len, values.values()))
    return [f"{name:<{size}} = {values[name]:<{value_size}}  {spec.description}" for name, spec in SHELL_SPECS.items()]


def default_table() -> str:
    """Return the table [shell] with every setting in a comment, at its default."""
    default = ShellSettings()
    lines = ["# The shell. Remove the # to change a setting.", f"[{SHELL}]"]
    for name, spec in SHELL_SPECS.items():
        lines += [f"# {spec.description}", f"#{name} = {format_value(default, name)}"]
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
