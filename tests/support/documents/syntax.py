"""Check blocks without running them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from typing import Final

from jetsql.errors import JetSQLError
from jetsql.language import parse, split
from jetsql.settings.catalog_settings import read_catalogs
from jetsql.settings.engine_settings import SPECS
from jetsql.settings.given_settings import GivenSetting, conf_of, read
from jetsql.shell.settings.shell_settings import ShellSettings
from tests.support.documents.blocks import Step, console_commands

_VARIABLE: Final = re.compile(r"(?<!\$)\$\{\w+(?::-(?P<default>[^}]*))?\}")


def check_syntax(step: Step) -> None:
    """Raise ValueError for a block that its language does not take."""
    if step.fails is not None:
        return  # its mistake may be one of syntax
    match step.language:
        case "sql":
            _check_sql(step.text)
        case "python":
            compile(step.text, "block", "exec")  # SyntaxError is a ValueError's sister: the test shows either
        case "shell":
            _check_shell(step.text)
        case "console":
            for command, _ in console_commands(step.text):
                _check_shell(command)
        case "json":
            json.loads(step.text)
        case "toml" if step.not_run is None:
            _check_settings(step.text)


def _check_sql(text: str) -> None:
    """Parse statements about jobs; other statements are checked by Spark when they run."""
    filled = _VARIABLE.sub(lambda variable: variable["default"] or "0", text)
    try:
        for fragment in split(filled, strict=True):
            parse(fragment.text)
    except JetSQLError as error:
        raise ValueError(str(error)) from error


def _check_shell(text: str) -> None:
    checked = subprocess.run(("bash", "-n"), input=text, capture_output=True, text=True, check=False)
    if checked.returncode:
        raise ValueError(checked.stderr)


def _check_settings(text: str) -> None:
    """Check a block that is a part of `config.toml`."""
    for name, value in tomllib.loads(text).items():
        if name == "spark":
            conf_of({f"spark.{key}": str(each) for key, each in value.items()}, "block")
        elif name == "shell":
            known = set(ShellSettings.__dataclass_fields__)
            if not set(value) <= known:
                raise ValueError(f"there are no settings {set(value) - known} of the shell")
        elif name == "catalogs":
            read_catalogs(value, "block")
        elif name not in SPECS:
            raise ValueError(f"there is no setting {name}")
        elif not str(value).startswith("secret:"):
            read(GivenSetting(name, value, os.devnull), SPECS)
