"""Options of jobs, settings of the engine and of the shell, and the shell's commands, as tables."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Final

from jetsql.jobs.model.job_settings import JobSettings
from jetsql.jobs.planning.options import OPTIONS
from jetsql.settings.engine_settings import EndpointSettings, Settings
from jetsql.settings.s3_settings import S3Settings
from jetsql.settings.settings_table import DESCRIPTIONS, READERS
from jetsql.settings.store_settings import StoreSettings
from jetsql.settings.watchdog_settings import WatchdogSettings
from jetsql.shell.session.command_table import COMMANDS
from jetsql.shell.settings.settings_file import DESCRIPTIONS as SHELL_DESCRIPTIONS
from jetsql.shell.settings.settings_file import format_value
from jetsql.shell.settings.shell_settings import ShellSettings
from tools.docs.markdown import table

# Defaults that are not a value.
_DEFAULTS: Final = {
    "home": "the platform's data folder (Linux: `~/.local/share/jetsql`)",
    "driver_memory": "Spark's",
    "storage": "the home",
    "s3_endpoint": "Amazon's",
    "s3_region": "that of the environment",
    "s3_access_key": "that of the environment or the machine",
    "s3_secret_key": "that of the environment or the machine",
    "cluster_secret_file": "`cluster.secret` next to `config.toml`",
    "class_archives": "`classes` in the platform's cache folder (Linux: `~/.cache/jetsql`)",
}


def options() -> str:
    rows = [(f"`{each.name}`", each.values, each.default, each.explanation) for each in OPTIONS]
    conf = (
        "`spark.*`",
        "a setting of Spark",
        "",
        "Holds for this job only. Those that delivery or state rest on are refused,"
        " and those that Spark does not have.",
    )
    return table(("option", "values", "default", "what it does"), [*rows, conf])


def option_values() -> str:
    """Return a section for each option that has fixed values."""
    parts = []
    for each in OPTIONS:
        if each.fixed:
            rows = [(f"`{value.word}`", value.explanation) for value in each.fixed]
            change = "" if each.changeable else "`ALTER JOB` cannot change it.\n\n"
            parts.append(f"### {each.name}\n\n{each.explanation}\n\n{change}{table(('value', 'meaning'), rows)}")
    return "\n".join(parts)


def settings() -> str:
    defaults = _settings_defaults()
    rows = [(f"`{name}`", defaults[name], _values(name), DESCRIPTIONS[name]) for name in READERS]
    return table(("setting", "default", "value", "what it is for"), rows)


def _settings_defaults() -> dict[str, str]:
    kinds = (Settings(Path()), JobSettings(), EndpointSettings(), S3Settings(), StoreSettings(), WatchdogSettings())
    values = {each.name: getattr(kind, each.name) for kind in kinds for each in fields(kind)}
    return {name: _DEFAULTS.get(name) or _default(values[name]) for name in READERS}


def _default(value: object) -> str:
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`"
        case () | None:
            return "none"
    return f"`{value}`"


def _values(name: str) -> str:
    """Return what a setting takes, in the words of the error for a value that it does not take."""
    try:
        READERS[name](object())
    except ValueError as error:
        return str(error)
    raise AssertionError(f"the setting {name} takes anything")


def shell_commands() -> str:
    rows = []
    for each in COMMANDS:
        also = f" Also {', '.join(f'`{alias}`' for alias in each.aliases)}." if each.aliases else ""
        summary = f"{each.summary[0].upper()}{each.summary[1:].rstrip('.')}."
        rows.append(
            (f"`{' '.join(filter(None, (each.word, each.usage)))}`", f"{summary} {each.details}".rstrip() + also)
        )
    return table(("command", "what it does"), rows)


def shell_settings() -> str:
    rows = [
        (f"`{name}`", f"`{format_value(ShellSettings(), name)}`", text) for name, text in SHELL_DESCRIPTIONS.items()
    ]
    return table(("`[shell]`", "default", "what it is for"), rows)
