"""The shell's own settings: the table [shell] of the engine's configuration file, and JETSQL_SHELL_... variables.

Invalid values are reported like those of the engine's settings, see `jetsql.settings`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from jetsql.setting_fields import setting, setting_specs
from jetsql.setting_values import parse_boolean, refusal
from jetsql.settings.given_settings import SHELL, GivenSetting, config_file, file_table, read

SHELL_CHOICES: Final = {
    "mode": ("table", "vertical", "csv", "json", "markdown"),
    "keys": ("emacs", "vi"),
    "submit_key": ("alt-enter", "f5", "ctrl-o"),
    "completion": ("typing", "tab"),
}
"""The settings of the shell with fixed values."""


def _one_of(*words: str) -> Callable[[object], str]:
    """Return a parser that accepts only these words."""

    def read(value: object) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return word

    return read


def _parse_nonempty(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def _parse_colours(value: object) -> str:
    """Parse `colours`. Names of styles are checked when they are used, because Pygments is slow to import."""
    if not isinstance(value, str) or not re.fullmatch(r"[\w-]+", value.strip()):
        raise ValueError("auto, off, or a Pygments style such as monokai")
    return value.strip().lower()


def _parse_line(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError("a text on one line")
    return value


def _parse_switch(value: object) -> bool:
    """Parse a boolean; on and off are accepted too."""
    word = str(value).strip().lower()
    return parse_boolean({"on": "true", "off": "false"}.get(word, word))


@dataclass(frozen=True)
class ShellSettings:
    """The settings of the shell (`jetsql` without arguments); the table `[shell]` of the file."""

    mode: str = setting(
        "table", _one_of(*SHELL_CHOICES["mode"]), "the format of results: table, vertical, csv, json or markdown"
    )
    keys: str = setting("emacs", _one_of(*SHELL_CHOICES["keys"]), "the editing keys: emacs or vi")
    submit_key: str = setting(
        "alt-enter",
        _one_of(*SHELL_CHOICES["submit_key"]),
        "the key that runs the text as it is: alt-enter, f5 or ctrl-o",
    )
    pager: str = setting(
        "auto", _parse_nonempty, "the pager for results longer than the screen: auto, off or a command"
    )
    timing: bool = setting(True, _parse_switch, "show how long each statement took")
    ask_before_drop: bool = setting(True, _parse_switch, "ask before DROP, and before a job without STREAM")
    colours: str = setting("auto", _parse_colours, "auto, off or the name of a Pygments style, such as monokai")
    null_text: str = setting("NULL", _parse_line, "the text for NULL")
    suggest: bool = setting(True, _parse_switch, "suggest entries of the history; the right arrow accepts")
    history: bool = setting(True, _parse_switch, "write entries to the history file, with secrets redacted")
    status_bar: bool = setting(True, _parse_switch, "show the engine and the job counts in the last line")
    completion: str = setting(
        "typing",
        _one_of(*SHELL_CHOICES["completion"]),
        "the trigger of the completion menu: typing (while you type) or tab",
    )


SHELL_SPECS: Final = setting_specs(ShellSettings)
"""The specifications of the settings by name."""


def load_shell_settings(environ: Mapping[str, str] = os.environ) -> ShellSettings:
    """Load the shell's settings: JETSQL_SHELL_... variables override the table [shell], which overrides the defaults.

    Raises EngineError (INVALID_SETTING) that names the source of the invalid value.
    """
    path = config_file(environ)
    table = file_table(environ).get(SHELL, {})
    if not isinstance(table, Mapping):
        raise refusal(f"{path}: {SHELL} is {table!r}.", f"Write a table: [{SHELL}].")
    values: dict[str, Any] = {}
    for name, value in table.items():
        values[name] = parse_shell_value(name, value, f"{name} of [{SHELL}] in {path}")
    for name in SHELL_SPECS:
        variable = f"JETSQL_SHELL_{name.upper()}"
        if environ.get(variable):
            values[name] = parse_shell_value(name, environ[variable], f"{variable} in the environment")
    return ShellSettings(**values)


def parse_shell_value(name: str, value: object, origin: str) -> Any:
    """Parse the value of a shell setting. Raises EngineError INVALID_SETTING."""
    if name not in SHELL_SPECS:
        near = get_close_matches(name, SHELL_SPECS)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(SHELL_SPECS)}."
        raise refusal(f"{origin}: the shell has no setting {name!r}.", hint)
    return read(GivenSetting(name, value, origin), SHELL_SPECS)
