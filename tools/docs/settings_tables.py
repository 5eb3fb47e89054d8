"""Options of jobs, settings of the engine and of the shell, and the shell's commands, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jetsql.jobs.planning.options import OPTIONS
from jetsql.language.body.kafka_options import kafka_options
from jetsql.setting_fields import values_by_name
from jetsql.settings.engine_settings import SPECS, Settings
from jetsql.shell.input.command_table import COMMANDS
from jetsql.shell.settings.settings_file import format_value
from jetsql.shell.settings.shell_settings import SHELL_SPECS, ShellSettings
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


def kafka_table_options() -> str:
    """Return the options that have an explanation; the others are the same as in Spark."""
    rows = []
    for each in kafka_options():
        if each.text:
            values = each.values or ", ".join(f"`{choice}`" for choice in each.choices)
            rows.append((", ".join(f"`{name}`" for name in each.names), values, each.text))
    return table(("option of the table", "values", "meaning"), rows)


def settings() -> str:
    return _settings(advanced=False)


def advanced_settings() -> str:
    return _settings(advanced=True)


def _settings(advanced: bool) -> str:
    values = values_by_name(Settings(Path()))
    rows = [
        (f"`{name}`", _DEFAULTS.get(name) or _default(values[name]), _values(name), spec.description)
        for name, spec in SPECS.items()
        if spec.is_advanced is advanced
    ]
    return table(("setting", "default", "value", "what it is for"), rows)


def _default(value: object) -> str:
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`"
        case () | None:
            return "none"
        case tuple():
            return f"`{', '.join(value)}`"
    return f"`{value}`"


def _values(name: str) -> str:
    """Return what a setting takes, in the words of the error for a value that it does not take."""
    try:
        SPECS[name].parse(object())
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
        (f"`{name}`", f"`{format_value(ShellSettings(), name)}`", spec.description)
        for name, spec in SHELL_SPECS.items()
    ]
    return table(("`[shell]`", "default", "what it is for"), rows)
