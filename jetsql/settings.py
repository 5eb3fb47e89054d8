"""Where the engine's settings come from: flags over environment over file over defaults.

One table (`READERS`) says how each setting is read, whatever it came from, so a bad value gets the same answer
everywhere: what is wrong, where it stands (the flag, the variable, the key and its file), and what would be right.
The file is `config.toml` in the platform's configuration folder (Linux: `~/.config/jetsql`), or what JETSQL_CONFIG
names. Its keys are the names of the settings; Spark's own settings stand in it as they are, since TOML's dotted keys
spell them the same way: `spark.sql.shuffle.partitions = 4`.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import platformdirs

from jetsql.errors import EngineError
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.secret_references import resolved

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_PATHS: Final = ("home", "storage", "cluster_secret_file")
SHELL: Final = "shell"
"""The table of the file that is the shell's, see `jetsql.shell.settings.shell_settings`."""
RENAMED: Final = {"look_seconds": "streaming_select_seconds"}
"""Settings by the spelling of release 0.1, which is still read in this one."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class EndpointSettings:
    """Settings of the endpoints of an engine that runs as a process of its own."""

    http_host: str = "127.0.0.1"  # the address that the HTTP server listens at
    http_port: int = 0  # 0 takes any free port; `engine.json` in the home has the number
    http_hosts: tuple[str, ...] = ()  # further names by which clients may address the HTTP server
    connect: bool = True  # whether Spark Connect is open
    connect_host: str = "127.0.0.1"
    connect_port: int = 0
    thrift: bool = False  # whether Spark's Thrift server (JDBC) is open
    thrift_host: str = "127.0.0.1"
    thrift_port: int = 0
    session_idle_seconds: float = 3600.0  # an unused session of a client is closed after this time
    sessions_most: int = 1000  # the limit of sessions at the HTTP server
    login_seconds: float = 10.0
    """An HTTP or Thrift connection that has not shown the token for so long is closed, and so is an HTTP connection
    that sends nothing of a request's body for so long."""
    logins_most: int = 256
    """The limit of connections that have not shown the token, of HTTP and of Thrift each; beyond it the oldest one is
    closed."""


@dataclass(frozen=True)
class Settings:
    """Settings of an engine."""

    home: Path  # the folder of store, checkpoints, warehouse and log
    master: str = "local[*]"  # Spark's master URL
    driver_memory: str | None = None  # as Spark writes sizes (`2g`); None leaves it to Spark
    spark_conf: Mapping[str, str] = field(default_factory=dict)  # further settings of Spark
    single_file_bytes: int = 256 * 1024
    """A batch whose expected size is at most this becomes one file, see `jetsql.engine.sinks.file_sizing`."""
    old_versions_seconds: float = 600.0  # the previous version of an overwritten table is kept for this time
    streaming_select_seconds: float = 10.0  # a SELECT with LIMIT over a stream waits so long for its rows
    kafka: bool = False  # load Spark's Kafka connector at the start instead of when a Kafka table is first used
    storage: str | None = None
    """A path or URI, which the engine and all executors reach, for checkpoints, snapshots and tables. None: the home's
    own folder, or the storage that the home already has."""
    cluster_secret_file: Path | None = None
    """The file with the secret of a standalone cluster; None: `cluster.secret` next to `config.toml`."""
    jobs: JobSettings = field(default_factory=JobSettings)
    endpoints: EndpointSettings = field(default_factory=EndpointSettings)


@dataclass(frozen=True)
class GivenSetting:
    """A value as the user wrote it."""

    name: str
    value: object
    origin: str  # its source, as error messages name it


def load(
    *,
    home: str | os.PathLike[str] | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Return the settings that hold, with what is passed here above everything else.

    conf: Spark's settings; those of file and environment that are not named here hold too. flags: further settings by
    their names, None where the flag was not given.
    Raises EngineError (INVALID_SETTING) that names where the wrong value stands.
    """
    file = file_table(environ)
    flags = {"home": None if home is None else os.fspath(home), "master": master, **(flags or {})}
    sources = (_from_file(file, environ), _from_environment(environ), _from_flags(flags))
    givens = [given for source in sources for given in _with_new_names(source)]
    values = {given.name: read(given, READERS) for given in givens}
    spark_conf = {**_file_conf(file, environ), **_environment_conf(environ), **conf_of(conf or {}, "--conf")}
    jobs = JobSettings(**{name: values.pop(name) for name in _names(JobSettings) if name in values})
    endpoints = EndpointSettings(**{name: values.pop(name) for name in _names(EndpointSettings) if name in values})
    values.setdefault("home", platformdirs.user_data_path("jetsql", appauthor=False))
    return Settings(**values, spark_conf=spark_conf, jobs=jobs, endpoints=endpoints)


def conf_of(conf: Mapping[str, object], origin: str) -> dict[str, str]:
    """Settings of Spark with their values as Spark reads them. Raises EngineError where a key is none of Spark's."""
    for key in conf:
        if not re.fullmatch(r"spark(\.[^\s.=]+)+", key):
            raise refusal(f"{origin}: {key!r} is no setting of Spark.", "They all begin with `spark.`.")
    return {key: _spark_text(value) for key, value in conf.items()}


def read(given: GivenSetting, readers: Mapping[str, Callable[[object], object]]) -> Any:
    """Return a value as it is kept. Raises EngineError INVALID_SETTING, SECRET_NOT_READABLE."""
    value = resolved(given.value, given.origin) if isinstance(given.value, str) else given.value
    try:
        return readers[given.name](value)
    except ValueError as wrong:
        raise refusal(f"{given.origin} is {given.value!r}.", f"It must be {wrong}.") from None


def _with_new_names(source: Iterable[GivenSetting]) -> Iterator[GivenSetting]:
    """Replace old spellings, with a warning. In one source the new spelling takes precedence."""
    for given in sorted(source, key=lambda given: given.name not in RENAMED):
        name = RENAMED.get(given.name)
        if name is not None:
            _LOG.warning("%s: the setting is called %s now; the old name will be removed.", given.origin, name)
        yield given if name is None else replace(given, name=name)


def _from_flags(flags: Mapping[str, object]) -> Iterator[GivenSetting]:
    return (
        GivenSetting(name, value, f"--{name.replace('_', '-')}") for name, value in flags.items() if value is not None
    )


def _from_environment(environ: Mapping[str, str]) -> Iterator[GivenSetting]:
    for name in (*READERS, *RENAMED):
        variable = f"JETSQL_{name.upper()}"
        if environ.get(variable):
            yield GivenSetting(name, environ[variable], f"{variable} in the environment")


def _from_file(table: Mapping[str, object], environ: Mapping[str, str]) -> Iterator[GivenSetting]:
    path = config_file(environ)
    for name, value in table.items():
        if name in ("spark", SHELL):
            continue
        if name not in READERS and name not in RENAMED:
            near = get_close_matches(name, [*READERS, "spark", SHELL], n=1)
            known = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(READERS)}, and Spark's own."
            raise refusal(f"{path}: there is no setting {name!r}.", known)
        yield GivenSetting(name, _beside(path, value) if name in _PATHS else value, f"{name} in {path}")


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the file that settings are read from, whether or not it exists."""
    named = environ.get("JETSQL_CONFIG")
    return Path(named) if named else platformdirs.user_config_path("jetsql", appauthor=False) / "config.toml"


def file_table(environ: Mapping[str, str]) -> dict[str, object]:
    """What stands in the file; nothing where there is none. Raises EngineError INVALID_SETTING."""
    path = config_file(environ)
    if not environ.get("JETSQL_CONFIG") and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise refusal(f"{path} can't be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise refusal(f"{path} is not UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise refusal(f"{path} is not TOML: {error}.") from error


def _file_conf(table: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, str]:
    spark = table.get("spark", {})
    path = str(config_file(environ))
    if not isinstance(spark, Mapping):
        raise refusal(f"{path}: spark is {spark!r}.", "Write Spark's settings by their whole names.")
    return conf_of(dict(_flat(spark, "spark")), path)


def _flat(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        name = f"{prefix}.{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, name)
        else:
            yield name, value


def _environment_conf(environ: Mapping[str, str]) -> dict[str, str]:
    """JETSQL_CONF holds `key=value` pairs with blanks between them, quoted as in a shell where a value has some."""
    origin = "JETSQL_CONF in the environment"
    try:
        words = shlex.split(environ.get("JETSQL_CONF", ""))
    except ValueError as error:
        raise refusal(f"{origin} can't be read: {error}.") from error
    return conf_of(dict(pair(word, origin) for word in words), origin)


def pair(text: str, origin: str) -> tuple[str, str]:
    """`key=value` in its two parts. Raises EngineError where there is no `=` or nothing before it."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise refusal(f"{origin}: {text!r} is no `key=value`.")
    return key.strip(), value


def _beside(path: Path, value: object) -> object:
    """A relative folder in a file is meant from that file's place, not from wherever the engine is started."""
    if not isinstance(value, str) or not value or value.startswith("~") or _URI.match(value):
        return value
    return str(path.parent.absolute() / value)


def _spark_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _folder(value: object) -> Path:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("the path of a folder")
    try:
        folder = Path(value).expanduser().absolute()
    except RuntimeError:
        raise ValueError("the path of a folder, and nobody here has the name behind the ~") from None
    if any(char in str(folder) for char in '";\n\r'):
        raise ValueError("a path without \", ; and line breaks: Java and the catalogue's database can't take these")
    return folder


def _file(value: object) -> Path:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("the path of a file")
    return Path(os.path.expanduser(value)).absolute()


def _place(value: object) -> str:
    wrong = ValueError("the path of a folder, or a URI such as hdfs://host:8020/jetsql")
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise wrong
    if not _URI.match(value.strip()):
        return str(_folder(value))
    if re.search(r"[\s\"';]", value.strip()):
        raise wrong
    return value.strip().rstrip("/")


def _word(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a master URL of Spark, such as local[*] or spark://host:7077")
    return value.strip()


def _memory(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[1-9][0-9]*[kmgt]b?", value.strip().lower()):
        raise ValueError("a size such as 900m or 2g")
    return value.strip().lower()


def _bytes(value: object) -> int:
    wrong = ValueError("a whole number of bytes, 1 or more")
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)) or int(str(value)) < 1:
        raise wrong
    return int(str(value))


def _seconds(value: object) -> float:
    return _number(value, "seconds")


def _positive_seconds(value: object) -> float:
    seconds = _seconds(value)
    if seconds == 0:
        raise ValueError("a number of seconds, more than 0")
    return seconds


def _days(value: object) -> float:
    return _number(value, "days")


def _number(value: object, unit: str) -> float:
    wrong = ValueError(f"a number of {unit}, 0 or more")
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        raise wrong from None
    if not (math.isfinite(number) and number >= 0):
        raise wrong
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)):
        raise ValueError("a whole number, 0 or more")
    return int(str(value))


def _positive_count(value: object) -> int:
    count = _count(value)
    if count == 0:
        raise ValueError("a whole number, 1 or more")
    return count


def truth(value: object) -> bool:
    """A boolean in a file; a word in the environment."""
    word = str(value).strip().lower()
    if word not in ("true", "false"):
        raise ValueError("true or false")
    return word == "true"


def _port(value: object) -> int:
    wrong = ValueError("the number of a port, 0 to 65535 (0: any that is free)")
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,5}", str(value)) or int(str(value)) > 65535:
        raise wrong
    return int(str(value))


def _address(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w.:-]+", value.strip()):
        raise ValueError("an address or name of this machine, such as 127.0.0.1 or 0.0.0.0")
    return value.strip()


def _addresses(value: object) -> tuple[str, ...]:
    """A list in a file; with blanks or commas between them in the environment."""
    words = value if isinstance(value, list) else re.split(r"[\s,]+", str(value).strip())
    return tuple(_address(word) for word in words if word)


def _names(settings: type[JobSettings] | type[EndpointSettings]) -> list[str]:
    return [entry.name for entry in fields(settings)]


def refusal(message: str, hint: str = "") -> EngineError:
    """What a setting is refused with."""
    return EngineError("INVALID_SETTING", message, hint=hint)


# How each setting is read; a ValueError's text completes "It must be ...".
READERS: Mapping[str, Callable[[object], object]] = {
    "home": _folder,
    "master": _word,
    "driver_memory": _memory,
    "single_file_bytes": _bytes,
    "old_versions_seconds": _seconds,
    "streaming_select_seconds": _seconds,
    "kafka": truth,
    "storage": _place,
    "cluster_secret_file": _file,
    **dict.fromkeys(_names(JobSettings), _seconds),
    "ended_jobs_days": _days,
    "ended_jobs_most": _count,
    "http_host": _address,
    "http_port": _port,
    "http_hosts": _addresses,
    "connect": truth,
    "connect_host": _address,
    "connect_port": _port,
    "thrift": truth,
    "thrift_host": _address,
    "thrift_port": _port,
    "session_idle_seconds": _seconds,
    "sessions_most": _count,
    "login_seconds": _positive_seconds,
    "logins_most": _positive_count,
}
