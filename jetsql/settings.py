"""The engine's settings. Precedence: flags, environment, file, defaults.

One table (`READERS`) has a parser for each setting, for values from all sources. An invalid value gives the same error
everywhere: the value, its source (the flag, the variable, or the key and its file) and the valid values.
The file is `config.toml` in the platform's configuration folder (Linux: `~/.config/jetsql`), or the file in
JETSQL_CONFIG. Its keys are the names of the settings. Spark's settings keep their names, because TOML's dotted keys
have the same syntax: `spark.sql.shuffle.partitions = 4`.
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

from jetsql.catalog_settings import CatalogSettings, catalog_confs, formats_of, read_catalogs
from jetsql.errors import EngineError
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.jobs.model.redaction import REDACTED
from jetsql.s3_settings import (
    S3,
    S3_DESCRIPTIONS,
    S3_READERS,
    S3_SECRETS,
    SCHEME,
    S3Settings,
    s3_confs,
)
from jetsql.secret_references import resolved

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_PATHS: Final = ("home", "storage", "cluster_secret_file")
CATALOGS: Final = "catalogs"
"""The section of the file with the catalogues, see `jetsql.catalog_settings`."""
SHELL: Final = "shell"
"""The section of the file for the shell, see `jetsql.shell.settings.shell_settings`."""
RENAMED: Final = {"look_seconds": "streaming_select_seconds"}
"""Old names of settings, from release 0.1, that are still accepted."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class EndpointSettings:
    """Settings of the endpoints of an engine that runs as a process of its own."""

    http_host: str = "127.0.0.1"  # the address that the HTTP server listens on
    http_port: int = 0  # 0 selects a free port, which `engine.json` in the home names
    http_hosts: tuple[str, ...] = ()  # further names by which clients may address the HTTP server
    connect: bool = True  # whether to open the Spark Connect endpoint
    connect_host: str = "127.0.0.1"
    connect_port: int = 0
    thrift: bool = False  # whether to open Spark's Thrift endpoint (JDBC)
    thrift_host: str = "127.0.0.1"
    thrift_port: int = 0
    session_idle_seconds: float = 3600.0  # an unused session of a client is closed after this time
    sessions_most: int = 1000  # the limit of sessions at the HTTP server
    login_seconds: float = 10.0
    """An HTTP or Thrift connection is closed after this time without authentication. An HTTP connection is also closed
    after this time without data of a request's body."""
    logins_most: int = 256
    """The limit of connections without authentication, for HTTP and for Thrift each; above it the oldest is closed."""


@dataclass(frozen=True)
class Settings:
    """Settings of an engine."""

    home: Path  # the folder with store, checkpoints, warehouse and log
    master: str = "local[*]"  # Spark's master URL
    driver_memory: str | None = None  # in Spark's notation (`2g`); None for Spark's default
    spark_conf: Mapping[str, str] = field(default_factory=dict)  # further Spark settings
    single_file_bytes: int = 256 * 1024
    """A batch up to this expected size is written as one file, see `jetsql.engine.sinks.file_sizing`."""
    old_versions_seconds: float = 600.0  # the previous version of an overwritten table is kept for this time
    streaming_select_seconds: float = 10.0  # a SELECT with LIMIT over a stream waits this long for its rows
    kafka: bool = False  # load Spark's Kafka connector at the start instead of at the first use of a Kafka table
    delta: bool = False  # load the connector of Delta at the start
    iceberg: bool = False  # load the connector of Iceberg at the start
    catalogs: tuple[CatalogSettings, ...] = ()  # further catalogues of the sessions
    storage: str | None = None
    """A path or URI for checkpoints, snapshots and tables that the driver and all executors can reach. None: the
    storage that the home already has, or the home folder."""
    cluster_secret_file: Path | None = None
    """The file with the secret of a standalone cluster. None: `cluster.secret` next to `config.toml`."""
    s3: S3Settings = field(default_factory=S3Settings)
    jobs: JobSettings = field(default_factory=JobSettings)
    endpoints: EndpointSettings = field(default_factory=EndpointSettings)

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the table formats whose connectors are loaded at the start."""
        return formats_of(self.catalogs, self.delta, self.iceberg)

    @property
    def start_conf(self) -> dict[str, str]:
        """Return the Spark settings of a start, with those of the catalogues and table formats."""
        given = {**s3_confs(self.s3), **self.spark_conf}
        return catalog_confs(self.catalogs, self.formats, given, self.master)

    def connectors(self, storage: str) -> tuple[str, ...]:
        """Return the connectors that are loaded at the start. storage: the home's storage, a path or URI."""
        needs_s3 = self.s3.s3 or storage.startswith(SCHEME)
        return (*self.formats, *((S3,) if needs_s3 else ()))


@dataclass(frozen=True)
class GivenSetting:
    """A setting with the value that the user gave."""

    name: str
    value: object
    origin: str  # the source of the value, as error messages name it


def load(
    *,
    home: str | os.PathLike[str] | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """Return the settings from all sources; the arguments have the highest precedence.

    conf: Spark settings, added to those of file and environment. flags: further settings by name, None for a flag that
    was not given. Raises EngineError INVALID_SETTING, which names the source of the invalid value.
    """
    file = file_table(environ)
    flags = {"home": None if home is None else os.fspath(home), "master": master, **(flags or {})}
    sources = (_from_file(file, environ), _from_environment(environ), _from_flags(flags))
    givens = [given for source in sources for given in _with_new_names(source)]
    values = {given.name: read(given, READERS) for given in givens}
    spark_conf = {**_file_conf(file, environ), **_environment_conf(environ), **conf_of(conf or {}, "--conf")}
    jobs = JobSettings(**{name: values.pop(name) for name in _names(JobSettings) if name in values})
    endpoints = EndpointSettings(**{name: values.pop(name) for name in _names(EndpointSettings) if name in values})
    s3 = S3Settings(**{name: values.pop(name) for name in _names(S3Settings) if name in values})
    values.setdefault("home", default_home())
    catalogs = read_catalogs(file.get(CATALOGS, {}), str(config_file(environ)))
    return Settings(**values, spark_conf=spark_conf, catalogs=catalogs, s3=s3, jobs=jobs, endpoints=endpoints)


def default_home() -> Path:
    """Return the home that is used when no source names one."""
    return platformdirs.user_data_path("jetsql", appauthor=False)


def conf_of(conf: Mapping[str, object], origin: str) -> dict[str, str]:
    """Return Spark settings with their values as text. Raises EngineError for a key that is no Spark setting."""
    for key in conf:
        if not re.fullmatch(r"spark(\.[^\s.=]+)+", key):
            raise refusal(f"{origin}: {key!r} is not a Spark setting.", "Names of Spark settings begin with `spark.`.")
    return {key: _spark_text(value) for key, value in conf.items()}


def read(given: GivenSetting, readers: Mapping[str, Callable[[object], object]]) -> Any:
    """Return the typed value of a setting. Raises EngineError INVALID_SETTING, SECRET_NOT_READABLE."""
    value = given.value
    if isinstance(value, str) and given.name not in S3_SECRETS:
        value = resolved(value, given.origin)
    try:
        return readers[given.name](value)
    except ValueError as expected:
        shown = REDACTED if given.name in S3_SECRETS else repr(given.value)
        raise refusal(f"{given.origin} is {shown}.", f"It must be {expected}.") from None


def _with_new_names(source: Iterable[GivenSetting]) -> Iterator[GivenSetting]:
    """Replace old names, with a warning. In one source the new name takes precedence."""
    for given in sorted(source, key=lambda given: given.name not in RENAMED):
        name = RENAMED.get(given.name)
        if name is not None:
            _LOG.warning("%s: the setting is renamed to %s; the old name will be removed.", given.origin, name)
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
        if name in ("spark", CATALOGS, SHELL):
            continue
        if name not in READERS and name not in RENAMED:
            near = get_close_matches(name, [*READERS, "spark", CATALOGS, SHELL])
            hint = f"Did you mean {near[0]}?" if near else f"Settings: {', '.join(READERS)}, and Spark's settings."
            raise refusal(f"{path}: there is no setting {name!r}.", hint)
        yield GivenSetting(name, _resolve_path(path, value) if name in _PATHS else value, f"{name} in {path}")


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


def _file_conf(table: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, str]:
    spark = table.get("spark", {})
    path = str(config_file(environ))
    if not isinstance(spark, Mapping):
        raise refusal(f"{path}: spark is {spark!r}.", "Write Spark settings with their full names.")
    return conf_of(dict(_flatten(spark, "spark")), path)


def _flatten(table: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        name = f"{prefix}.{key}"
        if isinstance(value, Mapping):
            yield from _flatten(value, name)
        else:
            yield name, value


def _environment_conf(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the `key=value` pairs of JETSQL_CONF, which are separated by blanks and quoted as in a shell."""
    origin = "JETSQL_CONF in the environment"
    try:
        pairs = shlex.split(environ.get("JETSQL_CONF", ""))
    except ValueError as error:
        raise refusal(f"{origin} is not readable: {error}.") from error
    return conf_of(dict(pair(text, origin) for text in pairs), origin)


def pair(text: str, origin: str) -> tuple[str, str]:
    """Split `key=value` into its parts. Raises EngineError when the `=` or the key is missing."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise refusal(f"{origin}: {text!r} is not `key=value`.")
    return key.strip(), value


def _resolve_path(path: Path, value: object) -> object:
    """Return a path setting of a file; a relative path is relative to the file, not to the working directory."""
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
        raise ValueError("the path of a folder, with an existing user after ~") from None
    if any(char in str(folder) for char in '";\n\r'):
        raise ValueError("a path without \", ; and line breaks, which Java and the catalogue's database do not accept")
    return folder


def _file(value: object) -> Path:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("the path of a file")
    return Path(os.path.expanduser(value)).absolute()


def _storage(value: object) -> str:
    expected = ValueError("the path of a folder, or a URI such as hdfs://host:8020/jetsql")
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise expected
    if not _URI.match(value.strip()):
        return str(_folder(value))
    if re.search(r"[\s\"';]", value.strip()):
        raise expected
    return value.strip().rstrip("/")


def _master_url(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a master URL of Spark, such as local[*] or spark://host:7077")
    return value.strip()


def _memory(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[1-9][0-9]*[kmgt]b?", value.strip().lower()):
        raise ValueError("a size such as 900m or 2g")
    return value.strip().lower()


def _bytes(value: object) -> int:
    expected = ValueError("a whole number of bytes, 1 or more")
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,18}", str(value)) or int(str(value)) < 1:
        raise expected
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
    expected = ValueError(f"a number of {unit}, 0 or more")
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        raise expected from None
    if not (math.isfinite(number) and number >= 0):
        raise expected
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
    """Return the boolean of a value from a file (a boolean) or from the environment (a text)."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def _port(value: object) -> int:
    expected = ValueError("a port number, 0 to 65535 (0: any free port)")
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,5}", str(value)) or int(str(value)) > 65535:
        raise expected
    return int(str(value))


def _address(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[\w.:-]+", value.strip()):
        raise ValueError("an address or name of this machine, such as 127.0.0.1 or 0.0.0.0")
    return value.strip()


def _addresses(value: object) -> tuple[str, ...]:
    """Return the addresses of a list from a file, or of a text with blanks or commas from the environment."""
    addresses = value if isinstance(value, list) else re.split(r"[\s,]+", str(value).strip())
    return tuple(_address(address) for address in addresses if address)


def _names(settings: type[JobSettings | EndpointSettings | S3Settings]) -> list[str]:
    return [entry.name for entry in fields(settings)]


def refusal(message: str, hint: str = "") -> EngineError:
    """Return the error for an invalid setting."""
    return EngineError("INVALID_SETTING", message, hint=hint)


# The parser of each setting; the text of its ValueError completes "It must be ...".
READERS: Mapping[str, Callable[[object], object]] = {
    "home": _folder,
    "master": _master_url,
    "driver_memory": _memory,
    "single_file_bytes": _bytes,
    "old_versions_seconds": _seconds,
    "streaming_select_seconds": _seconds,
    "kafka": truth,
    "delta": truth,
    "iceberg": truth,
    **{name: S3_READERS.get(name, truth) for name in S3_DESCRIPTIONS},
    "storage": _storage,
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

# What each setting is for, in the order of `READERS`, as the reference manual has it.
DESCRIPTIONS: Final[Mapping[str, str]] = {
    "home": "The folder of the store, the checkpoints, the tables and the log.",
    "master": "Spark's master.",
    "driver_memory": "The memory of the engine's Java process, such as `2g`.",
    "single_file_bytes": "A batch whose expected size is at most this is written as one file. A higher value means"
    " fewer files, each written by one core.",
    "old_versions_seconds": "How long the previous version of an overwritten table is kept for its readers.",
    "streaming_select_seconds": "How long a `SELECT` with `LIMIT` over a stream waits for its rows.",
    "kafka": "Load Spark's Kafka connector at the start instead of when a Kafka table is first used.",
    "delta": "Load Delta at the start, for tables `USING delta`.",
    "iceberg": "Load Iceberg at the start, for catalogues of the type `iceberg`.",
    **S3_DESCRIPTIONS,
    "storage": "Where checkpoints, snapshots and tables are: a path or URI that the engine and all executors reach.",
    "cluster_secret_file": "The file with the secret of a standalone cluster.",
    "create_wait_seconds": "How long `CREATE JOB` waits for the first batch.",
    "stop_deadline_seconds": "How long a graceful stop may take before the job is stopped by force.",
    "statement_wait_seconds": "How long `SUSPEND`, `RESUME`, `RESTART` and `DROP` wait for the job.",
    "wait_timeout_seconds": "How long `WAIT FOR JOB` without `TIMEOUT` waits.",
    "retry_first_seconds": "The delay before the first restart after an error; it doubles with each further restart.",
    "retry_most_seconds": "The longest delay before a restart.",
    "store_retry_seconds": "The delay before an event is stored again that could not be stored.",
    "scale_up_delay_seconds": "Jobs restart on executors that have joined when none has come or gone for this time.",
    "close_wait_seconds": "How long the engine waits at its end for runs that do not stop even by force.",
    "ended_jobs_days": "Jobs that have ended are deleted after this many days.",
    "ended_jobs_most": "When more jobs than this have ended, the oldest of them are deleted.",
    "http_host": "The address that the HTTP endpoint listens on.",
    "http_port": "The port of the HTTP endpoint; 0 takes any free port.",
    "http_hosts": "Further names that clients may use for the HTTP endpoint, such as that of this machine.",
    "connect": "Open Spark Connect.",
    "connect_host": "The address that Spark Connect listens on.",
    "connect_port": "The port of Spark Connect; 0 takes any free port.",
    "thrift": "Open the Thrift endpoint, for JDBC and ODBC.",
    "thrift_host": "The address that the Thrift endpoint listens on.",
    "thrift_port": "The port of the Thrift endpoint; 0 takes any free port.",
    "session_idle_seconds": "A session that no client has used for this time is closed.",
    "sessions_most": "The limit of sessions at the HTTP endpoint.",
    "login_seconds": "An HTTP or Thrift connection that has not sent the token for this time is closed.",
    "logins_most": "The limit of connections without the token, for HTTP and for Thrift each; at more, the oldest ones"
    " are closed.",
}
