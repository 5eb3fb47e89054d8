"""The shell's own settings: the table [shell] of the file that the engine's stand in, and JETSQL_SHELL_... variables.

A bad value is told as those of the engine are, see `jetsql.settings`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from jetsql.settings import SHELL, GivenSetting, config_file, file_table, read, refusal, truth

SHELL_WORDS: Final = {
    "mode": ("table", "vertical", "csv", "json", "markdown"),
    "keys": ("emacs", "vi"),
    "submit_key": ("alt-enter", "f5", "ctrl-o"),
    "completion": ("typing", "tab"),
}
"""The settings of the shell that are one of a few words."""


@dataclass(frozen=True)
class ShellSettings:
    """How the shell (`jetsql` without arguments) looks and acts; the table `[shell]` of the file.

    mode: how results are shown. keys: of which editor. submit_key: runs what was typed as it is, wherever the cursor
    stands. pager: `auto` for what is longer than the screen, `off`, or a command. timing: tell how long a statement
    took. ask_before_drop: ask before DROP JOB, TABLE, VIEW and SCHEMA. colours: `auto`, `off`, or the name of a style
    of Pygments. null_text: what NULL is shown as. suggest: offer what the history has. history: write what was entered
    to the history's file. status_bar: the last line of the screen. completion: the menu while typing, or at Tab alone.
    """

    mode: str = "table"
    keys: str = "emacs"
    submit_key: str = "alt-enter"
    pager: str = "auto"
    timing: bool = True
    ask_before_drop: bool = True
    colours: str = "auto"
    null_text: str = "NULL"
    suggest: bool = True
    history: bool = True
    status_bar: bool = True
    completion: str = "typing"


def load_shell(environ: Mapping[str, str] = os.environ) -> ShellSettings:
    """The settings of the shell: JETSQL_SHELL_... in the environment over the table [shell] of the file over defaults.

    Raises EngineError (INVALID_SETTING) that names where the wrong value stands.
    """
    path = config_file(environ)
    table = file_table(environ).get(SHELL, {})
    if not isinstance(table, Mapping):
        raise refusal(f"{path}: {SHELL} is {table!r}.", f"Write a table: [{SHELL}].")
    values: dict[str, Any] = {}
    for name, value in table.items():
        values[name] = shell_value(name, value, f"{name} of [{SHELL}] in {path}")
    for name in SHELL_READERS:
        variable = f"JETSQL_SHELL_{name.upper()}"
        if environ.get(variable):
            values[name] = shell_value(name, environ[variable], f"{variable} in the environment")
    return ShellSettings(**values)


def shell_value(name: str, value: object, origin: str) -> Any:
    """A setting of the shell as it is kept. Raises EngineError INVALID_SETTING."""
    if name not in SHELL_READERS:
        near = get_close_matches(name, SHELL_READERS, n=1)
        known = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(SHELL_READERS)}."
        raise refusal(f"{origin}: the shell has no setting {name!r}.", known)
    return read(GivenSetting(name, value, origin), SHELL_READERS)


def _one_of(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return word

    return read


def _words(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value.strip()


def _colours(value: object) -> str:
    """Names of styles are looked up where they are used: Pygments takes its time to load."""
    if not isinstance(value, str) or not re.fullmatch(r"[\w-]+", value.strip()):
        raise ValueError("auto, off, or a style of Pygments such as monokai")
    return value.strip().lower()


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError("a text on one line")
    return value


def _switch(value: object) -> bool:
    """Also on and off: what people write in the shell and in the environment."""
    word = str(value).strip().lower()
    return truth({"on": "true", "off": "false"}.get(word, word))


# How each is read; a ValueError's text completes "It must be ...".
SHELL_READERS: Mapping[str, Callable[[object], object]] = {
    "mode": _one_of(*SHELL_WORDS["mode"]),
    "keys": _one_of(*SHELL_WORDS["keys"]),
    "submit_key": _one_of(*SHELL_WORDS["submit_key"]),
    "pager": _words,
    "timing": _switch,
    "ask_before_drop": _switch,
    "colours": _colours,
    "null_text": _text,
    "suggest": _switch,
    "history": _switch,
    "status_bar": _switch,
    "completion": _one_of(*SHELL_WORDS["completion"]),
}
