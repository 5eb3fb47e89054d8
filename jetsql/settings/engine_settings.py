"""The engine's settings. Precedence: flags, environment, file, defaults.

`settings_table` has a parser for each setting, for values from all sources. An invalid value gives the same error
everywhere: the value, its source (the flag, the variable, or the key and its file) and the valid values.
The file is `config.toml` in the platform's configuration folder (Linux: `~/.config/jetsql`), or the file in
JETSQL_CONFIG. Its keys are the names of the settings. Spark's settings keep their names, because TOML's dotted keys
have the same syntax: `spark.sql.shuffle.partitions = 4`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

import platformdirs

from jetsql.jobs.model.job_settings import JobSettings
from jetsql.jobs.model.redaction import show
from jetsql.settings.catalog_settings import CatalogSettings, catalog_confs, formats_of, iceberg_servers, read_catalogs
from jetsql.settings.given_settings import (
    CATALOGS,
    conf_of,
    config_file,
    environment_conf,
    file_conf,
    file_table,
    from_environment,
    from_file,
    from_flags,
    read,
    with_new_names,
)
from jetsql.settings.s3_settings import S3, SCHEME, S3Settings, s3_confs
from jetsql.settings.settings_table import READERS, setting_names
from jetsql.settings.store_settings import StoreSettings, metastore_confs
from jetsql.settings.watchdog_settings import WatchdogSettings


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
    console_idle_seconds: float = 3600.0  # a login at the web console ends after this time without use
    console_login_seconds: float = 12 * 3600.0  # it ends after this time in any case
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
    class_archives: Path | None = None  # the folder of the archives of Spark's classes; None for none
    s3: S3Settings = field(default_factory=S3Settings)
    store: StoreSettings = field(default_factory=StoreSettings)
    jobs: JobSettings = field(default_factory=JobSettings)
    watchdog: WatchdogSettings = field(default_factory=WatchdogSettings)
    endpoints: EndpointSettings = field(default_factory=EndpointSettings)
    new_store: bool = False
    """The engine creates the store although the home has files of jobs. Only the flag --new-store sets it."""
    catalog_connections: str | None = None
    """The name of the catalogue's connections in the database of the store, which the start of an engine sets."""

    @property
    def formats(self) -> tuple[str, ...]:
        """Return the table formats whose connectors are loaded at the start."""
        return formats_of(self.catalogs, self.delta, self.iceberg)

    @property
    def catalog_names(self) -> tuple[str, ...]:
        """Return the names of all catalogues, those of Spark's settings as well; `spark_catalog` is the first."""
        keys = (key.split(".") for key in self.spark_conf if key.startswith("spark.sql.catalog."))
        names = ("spark_catalog", *(each.name for each in self.catalogs), *(key[3] for key in keys if len(key) == 4))
        return tuple(dict.fromkeys(names))

    @property
    def start_conf(self) -> dict[str, str]:
        """Return the Spark settings of a start, with those of the catalogues and table formats.

        Raises EngineError INVALID_SETTING, SECRET_NOT_READABLE, see `metastore_confs`.
        """
        given = {**s3_confs(self.s3), **metastore_confs(self.store, self.catalog_connections), **self.spark_conf}
        return catalog_confs(self.catalogs, self.formats, given, self.master)

    @property
    def catalog_database(self) -> str | None:
        """Return the database of the catalogue; None for Derby in the home."""
        return self.store.catalog or self.spark_conf.get("spark.hadoop.javax.jdo.option.ConnectionURL")

    @property
    def iceberg_servers(self) -> dict[str, str]:
        """Return the warehouses of Iceberg's catalogues that a database or a server keeps, by their names."""
        return iceberg_servers(self.catalogs)

    def connectors(self, storage: str) -> tuple[str, ...]:
        """Return the connectors that are loaded at the start. storage: the home's storage, a path or URI."""
        needs_s3 = self.s3.s3 or storage.startswith(SCHEME)
        return (*self.formats, *((S3,) if needs_s3 else ()), *self.store.connectors)


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
    sources = (from_file(file, environ), from_environment(environ), from_flags(flags))
    givens = [given for source in sources for given in with_new_names(source)]
    values = {given.name: read(given, READERS) for given in givens}
    spark_conf = {**file_conf(file, environ), **environment_conf(environ), **conf_of(conf or {}, "--conf")}
    jobs = JobSettings(**{name: values.pop(name) for name in setting_names(JobSettings) if name in values})
    endpoints = EndpointSettings(
        **{name: values.pop(name) for name in setting_names(EndpointSettings) if name in values}
    )
    s3 = S3Settings(**{name: values.pop(name) for name in setting_names(S3Settings) if name in values})
    store = StoreSettings(**{name: values.pop(name) for name in setting_names(StoreSettings) if name in values})
    watchdog = WatchdogSettings(
        **{name: values.pop(name) for name in setting_names(WatchdogSettings) if name in values}
    )
    values.setdefault("home", default_home())
    values.setdefault("class_archives", default_class_archives())
    catalogs = read_catalogs(file.get(CATALOGS, {}), str(config_file(environ)))
    return Settings(
        **values,
        spark_conf=spark_conf,
        catalogs=catalogs,
        s3=s3,
        store=store,
        jobs=jobs,
        watchdog=watchdog,
        endpoints=endpoints,
    )


def shown_settings(settings: Settings) -> dict[str, str]:
    """Return the settings and Spark's settings by name, without secrets. Catalogues are left out."""
    values: dict[str, str] = {}
    for part in (settings, settings.endpoints, settings.jobs, settings.watchdog, settings.store, settings.s3):
        for entry in fields(part):
            value = getattr(part, entry.name)
            if isinstance(value, str | int | float | Path):
                values[entry.name] = str(value).lower() if isinstance(value, bool) else str(value)
            elif isinstance(value, tuple) and all(isinstance(each, str) for each in value):
                values[entry.name] = ", ".join(value)
    return show(values | dict(settings.spark_conf))


def default_home() -> Path:
    """Return the home that is used when no source names one."""
    return platformdirs.user_data_path("jetsql", appauthor=False)


def default_class_archives() -> Path:
    """Return the folder of the archives of Spark's classes that is used when no source names one."""
    return platformdirs.user_cache_path("jetsql", appauthor=False) / "classes"
