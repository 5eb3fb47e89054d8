"""Settings as users give them: by flags, in the environment, and in `config.toml`."""

from __future__ import annotations

import logging
import os
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import platformdirs

from jetsql.jobs.model.redaction import REDACTED
from jetsql.secret_references import is_reference, resolved, with_absolute_path
from jetsql.setting_fields import SettingSpec
from jetsql.setting_values import NONE, URI, refusal

Specs = Mapping[str, SettingSpec]
RENAMED: Final = {"look_seconds": "streaming_select_seconds"}
"""Old names of settings, from release 0.1, that are still accepted."""
_FILE_LISTS: Final = (
    *("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"),
    *("spark.jars.ivy", "spark.jars.ivySettings", "spark.local.dir", "spark.eventLog.dir", "spark.metrics.conf"),
)
_CLASS_PATHS: Final = ("spark.driver.extraClassPath", "spark.driver.extraLibraryPath")
CATALOGS: Final = "catalogs"
"""The section of the file with the catalogues, see `jetsql.settings.catalog_settings`."""
SHELL: Final = "shell"
"""The section of the file for the shell, see `jetsql.shell.settings.shell_settings`."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class GivenSetting:
    """A setting with the value that the user gave."""

    name: str
    value: object
    origin: str  # the source of the value, as error messages name it


def read(given: GivenSetting, specs: Specs) -> Any:
    """Return the typed value of a setting. Raises EngineError INVALID_SETTING, SECRET_NOT_READABLE."""
    value, spec = given.value, specs[given.name]
    if isinstance(value, str) and not spec.is_secret:
        value = resolved(value, given.origin)
    try:
        return spec.parse(value)
    except ValueError as expected:
        shown = REDACTED if spec.is_secret else repr(given.value)
        raise refusal(f"{given.origin} is {shown}.", f"It must be {expected}.") from None


def conf_of(conf: Mapping[str, object], origin: str, folder: Path | None = None) -> dict[str, str]:
    """Return Spark settings with their values as text, and with absolute paths of this machine's files.

    folder: the one that relative paths mean; None for the current one, which an engine leaves.
    Raises EngineError for a key that is no Spark setting.
    """
    for key in conf:
        if not re.fullmatch(r"spark(\.[^\s.=]+)+", key):
            raise refusal(f"{origin}: {key!r} is not a Spark setting.", "Names of Spark settings begin with `spark.`.")
    base = str(folder or Path.cwd())
    return {key: _with_absolute_paths(key, _spark_text(value), base) for key, value in conf.items()}


def _with_absolute_paths(key: str, value: str, folder: str) -> str:
    if key not in (*_FILE_LISTS, *_CLASS_PATHS) or is_reference(value):
        return with_absolute_path(value, folder)
    separator = os.pathsep if key in _CLASS_PATHS else ","
    places = (place.strip() for place in value.split(separator))
    return separator.join(place if URI.match(place) or not place else os.path.join(folder, place) for place in places)


def pair(text: str, origin: str) -> tuple[str, str]:
    """Split `key=value` into its parts. Raises EngineError when the `=` or the key is missing."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise refusal(f"{origin}: {text!r} is not `key=value`.")
    return key.strip(), value


def with_new_names(source: Iterable[GivenSetting]) -> Iterator[GivenSetting]:
    """Replace old names, with a warning. In one source the new name takes precedence."""
    for given in sorted(source, key=lambda given: given.name not in RENAMED):
        name = RENAMED.get(given.name)
        if name is not None:
            _LOG.warning("%s: the setting is renamed to %s; the old name will be removed.", given.origin, name)
        yield given if name is None else replace(given, name=name)


def from_flags(flags: Mapping[str, object]) -> Iterator[GivenSetting]:
    return (
        GivenSetting(name, value, f"--{name.replace('_', '-')}") for name, value in flags.items() if value is not None
    )


def from_environment(environ: Mapping[str, str], specs: Specs) -> Iterator[GivenSetting]:
    for name in (*specs, *RENAMED):
        variable = f"JETSQL_{name.upper()}"
        if environ.get(variable):
            yield GivenSetting(name, environ[variable], f"{variable} in the environment")


def from_file(table: Mapping[str, object], environ: Mapping[str, str], specs: Specs) -> Iterator[GivenSetting]:
    path = config_file(environ)
    for name, value in table.items():
        if name in ("spark", CATALOGS, SHELL):
            continue
        if name not in specs and name not in RENAMED:
            near = get_close_matches(name, [*specs, "spark", CATALOGS, SHELL])
            hint = f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(specs)}, and Spark's settings."
            raise refusal(f"{path}: there is no setting {name!r}.", hint)
        yield GivenSetting(
            name, _resolve_path(path, value) if name in specs and specs[name].is_path else value, f"{name} in {path}"
        )


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the file that settings are read from, whether or not it exists."""
    named = environ.get("JETSQL_CONFIG")
    return Path(named) if named else platformdirs.user_config_path("jetsql", appauthor=False) / "config.toml"


def file_table(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the contents of the configuration file; empty without a file. Raises EngineError INVALID_SETTING."""
    path = config_file(environ)
    if not environ.get("JETSQL_CONFIG") and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise refusal(f"Cannot read {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise refusal(f"{path} is not UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise refusal(f"{path} is not valid TOML: {error}.") from error


def file_conf(table: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, str]:
    spark = table.get("spark", {})
    path = str(config_file(environ))
    if not isinstance(spark, Mapping):
        raise refusal(f"{path}: spark is {spark!r}.", "Write Spark settings with their full names.")
    return conf_of(dict(_flatten(spark, "spark")), path, config_file(environ).absolute().parent)


def _flatten(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        name = f"{prefix}.{key}"
        if isinstance(value, Mapping):
            yield from _flatten(value, name)
        else:
            yield name, value


def environment_conf(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the `key=value` pairs of JETSQL_CONF, which are separated by blanks and quoted as in a shell."""
    origin = "JETSQL_CONF in the environment"
    try:
        pairs = shlex.split(environ.get("JETSQL_CONF", ""))
    except ValueError as error:
        raise refusal(f"{origin} is not readable: {error}.") from error
    return conf_of(dict(pair(text, origin) for text in pairs), origin)


def _resolve_path(path: Path, value: object) -> object:
    """Return a path setting of a file; a relative path is relative to the file, not to the working directory."""
    if not isinstance(value, str) or value in ("", NONE) or value.startswith("~") or URI.match(value):
        return value
    return str(path.parent.absolute() / value)


def _spark_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
