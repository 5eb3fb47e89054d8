"""The engine's settings. Precedence: flags, environment, file, defaults.

Each setting has one parser, for values from all sources. An invalid value gives the same error
everywhere: the value, its source (the flag, the variable, or the key and its file) and the valid values.
The file is `config.toml` in the platform's configuration folder (Linux: `~/.config/jetsql`), or the file in
JETSQL_CONFIG. Its keys are the names of the settings. Spark's settings keep their names, because TOML's dotted keys
have the same syntax: `spark.sql.shuffle.partitions = 4`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import platformdirs

from jetsql.jobs.alerts.alert_commands import AlertSettings
from jetsql.jobs.audit.audit_settings import AuditSettings
from jetsql.jobs.model.job_settings import JobSettings, LimitSettings
from jetsql.jobs.model.redaction import show
from jetsql.jobs.openlineage.openlineage_settings import OpenLineageSettings
from jetsql.jobs.opentelemetry.opentelemetry_settings import OpenTelemetrySettings
from jetsql.loopback import is_loopback
from jetsql.request import ENGINE
from jetsql.setting_fields import SettingSpec, group, make_settings, metadata, setting, setting_specs, values_by_name
from jetsql.setting_values import (
    parse_address,
    parse_addresses,
    parse_boolean,
    parse_byte_count,
    parse_count,
    parse_file,
    parse_folder,
    parse_master_url,
    parse_memory,
    parse_optional_folder,
    parse_port,
    parse_positive_count,
    parse_positive_seconds,
    parse_seconds,
    parse_selector,
    parse_storage,
    parse_user,
)
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
from jetsql.settings.identity_settings import IdentitySettings
from jetsql.settings.s3_settings import S3, SCHEME, S3Settings, s3_confs
from jetsql.settings.store_settings import StoreSettings, metastore_confs
from jetsql.settings.watchdog_settings import WatchdogSettings

COLOURS: Final = ("none", "red", "orange", "green", "teal", "blue", "purple")
"""The colours of the web console; all have enough contrast to white text."""
_NAME_CHARS: Final = 40


def _parse_name(value: object) -> str:
    if isinstance(value, str) and len(value) <= _NAME_CHARS and value.isprintable():
        return value.strip()
    raise ValueError(f"a text of at most {_NAME_CHARS} characters")


def _parse_colour(value: object) -> str:
    if isinstance(value, str) and value.lower() in COLOURS:
        return value.lower()
    raise ValueError(f"one of {', '.join(COLOURS)}")


@dataclass(frozen=True)
class EndpointSettings:
    """Settings of the endpoints of an engine that runs as a process of its own."""

    http_host: str = setting("127.0.0.1", parse_address, "The address that the HTTP endpoint listens on.")
    http_port: int = setting(0, parse_port, "The port of the HTTP endpoint; 0 takes any free port.")
    http_hosts: tuple[str, ...] = setting(
        (),
        parse_addresses,
        "Further names that clients may use for the HTTP endpoint, such as that of this machine; with the port if"
        " it is another one.",
    )
    pod_selector: str | None = setting(
        None,
        parse_selector,
        "In a pod of Kubernetes: the labels of the pods of all engines of a store, and of no other pods. The leader"
        " gets the label `jetsql.io/role=leader` then, and the others `jetsql.io/role=standby`.",
    )
    connect: bool = setting(True, parse_boolean, "Open Spark Connect.")
    connect_host: str = setting("127.0.0.1", parse_address, "The address that Spark Connect listens on.")
    connect_port: int = setting(0, parse_port, "The port of Spark Connect; 0 takes any free port.")
    thrift: bool = setting(False, parse_boolean, "Open the Thrift endpoint, for JDBC and ODBC.")
    thrift_host: str = setting("127.0.0.1", parse_address, "The address that the Thrift endpoint listens on.")
    thrift_port: int = setting(0, parse_port, "The port of the Thrift endpoint; 0 takes any free port.")
    tls_cert: Path | None = setting(
        None,
        parse_file,
        "The certificate of all endpoints in PEM, followed by those of its authorities. With it, they use TLS.",
        is_path=True,
    )
    tls_key: Path | None = setting(
        None, parse_file, "The private key of `tls_cert` in PEM, which other users cannot read.", is_path=True
    )
    plain_endpoints: bool = setting(
        False,
        parse_boolean,
        "Open endpoints beyond loopback without TLS although the engine has users, because a proxy or a tunnel encrypts"
        " their traffic.",
    )
    console_name: str = setting(
        "",
        _parse_name,
        "The name of the engine in the web console, such as `production`: in the header and in the titles of tabs.",
    )
    console_colour: str = setting(
        "none",
        _parse_colour,
        "The colour of the engine in the web console, by which its tabs differ from those of other engines:"
        f" {', '.join(f'`{each}`' for each in COLOURS)}.",
    )
    console_idle_seconds: float = setting(
        3600.0, parse_positive_seconds, "A login at the web console that no page has used for this time ends."
    )
    console_login_seconds: float = setting(
        12 * 3600.0,
        parse_positive_seconds,
        "A login at the web console ends after this time in any case.",
        is_advanced=True,
    )
    session_idle_seconds: float = setting(
        3600.0, parse_seconds, "A session that no client has used for this time is closed."
    )
    sessions_most: int = setting(1000, parse_count, "The limit of sessions at the HTTP endpoint.", is_advanced=True)
    login_seconds: float = setting(
        10.0,
        parse_positive_seconds,
        "A connection of HTTP, Thrift or Spark Connect without the token is closed after this time.",
        is_advanced=True,
    )
    logins_most: int = setting(
        256,
        parse_positive_count,
        "The limit of connections without the token, for HTTP, Thrift and Spark Connect each; at more, the oldest "
        "ones are closed.",
        is_advanced=True,
    )

    @property
    def uses_tls(self) -> bool:
        """Return whether the endpoints use TLS."""
        return self.tls_cert is not None

    @property
    def readable_on_network(self) -> tuple[str, ...]:
        """Return the settings of the endpoints whose traffic others on the network can read, as `NAME = VALUE`."""
        if self.uses_tls or self.plain_endpoints:
            return ()
        hosts = {"http_host": self.http_host}
        hosts |= {"connect_host": self.connect_host} if self.connect else {}
        hosts |= {"thrift_host": self.thrift_host} if self.thrift else {}
        return tuple(f"{name} = {host}" for name, host in hosts.items() if not is_loopback(host))


_ENGINE_USERS: Final = (ENGINE.user, "system")


def _parse_jobs_user(value: object) -> str:
    from jetsql.jobs.model.job import name_key  # slow, and the command line reads settings

    user = parse_user(value)
    if name_key(user) in _ENGINE_USERS:
        raise ValueError("the name of a user other than those of the engine itself")
    return user


@dataclass(frozen=True)
class Settings:
    """Settings of an engine."""

    home: Path = field(
        metadata=metadata(
            SettingSpec(parse_folder, "The folder of the store, the checkpoints, the tables and the log.", is_path=True)
        )
    )
    master: str = setting("local[*]", parse_master_url, "Spark's master; `k8s` in a pod of Kubernetes.")
    driver_memory: str | None = setting(None, parse_memory, "The memory of the engine's Java process, such as `2g`.")
    single_file_bytes: int = setting(
        256 * 1024,
        parse_byte_count,
        "A batch whose expected size is at most this is written as one file. A higher value means fewer files, each"
        " written by one core.",
        is_advanced=True,
    )
    old_versions_seconds: float = setting(
        600.0, parse_seconds, "How long the previous version of an overwritten table is kept for its readers."
    )
    streaming_select_seconds: float = setting(
        10.0, parse_seconds, "How long a `SELECT` with `LIMIT` over a stream waits for its rows."
    )
    kafka: bool = setting(
        False,
        parse_boolean,
        "Load Spark's Kafka connector at the start instead of when a Kafka table is first used.",
    )
    delta: bool = setting(False, parse_boolean, "Load Delta at the start, for tables `USING delta`.")
    iceberg: bool = setting(False, parse_boolean, "Load Iceberg at the start, for catalogues of the type `iceberg`.")
    s3: S3Settings = group(S3Settings)
    storage: str | None = setting(
        None,
        parse_storage,
        "Where checkpoints, snapshots and tables are: a path or URI that the engine and all executors reach.",
        is_path=True,
    )
    store: StoreSettings = group(StoreSettings)
    cluster_secret_file: Path | None = setting(
        None,
        parse_file,
        "The file with the secret of a standalone cluster.",
        is_path=True,
    )
    class_archives: Path | None = setting(
        None,
        parse_optional_folder,
        "The folder of the archives of Spark's classes, with which engines start faster; `none` for starts without "
        "them.",
        is_path=True,
    )
    audit: AuditSettings = group(AuditSettings)
    limits: LimitSettings = group(LimitSettings)
    alerts: AlertSettings = group(AlertSettings)
    openlineage: OpenLineageSettings = group(OpenLineageSettings)
    opentelemetry: OpenTelemetrySettings = group(OpenTelemetrySettings)
    jobs: JobSettings = group(JobSettings)
    watchdog: WatchdogSettings = group(WatchdogSettings)
    endpoints: EndpointSettings = group(EndpointSettings)
    identity: IdentitySettings = group(IdentitySettings)
    kubernetes_jobs_user: str | None = setting(
        None,
        _parse_jobs_user,
        "The user with whose rights the resources `JetSQLJob` and `JetSQLSnapshot` in the namespace of the engine's pod"
        " run statements. Without it, resources are not read.",
    )
    spark_conf: Mapping[str, str] = field(default_factory=dict)  # further Spark settings
    catalogs: tuple[CatalogSettings, ...] = ()  # further catalogues of the sessions
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


SPECS: Final = setting_specs(Settings)
"""The specifications of the settings by name."""


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
    sources = (from_file(file, environ, SPECS), from_environment(environ, SPECS), from_flags(flags))
    givens = [given for source in sources for given in with_new_names(source)]
    values = {"home": default_home(), "class_archives": default_class_archives()}
    values |= {given.name: read(given, SPECS) for given in givens}
    spark_conf = {**file_conf(file, environ), **environment_conf(environ), **conf_of(conf or {}, "--conf")}
    catalogs = read_catalogs(file.get(CATALOGS, {}), str(config_file(environ)))
    return make_settings(Settings, values, spark_conf=spark_conf, catalogs=catalogs)


def shown_settings(settings: Settings) -> dict[str, str]:
    """Return the settings and Spark's settings by name, without secrets. Catalogues are left out."""
    values: dict[str, str] = {}
    for name, value in values_by_name(settings).items():
        if isinstance(value, str | int | float | Path):
            values[name] = str(value).lower() if isinstance(value, bool) else str(value)
        elif isinstance(value, tuple):
            values[name] = ", ".join(value)
    return show(values | dict(settings.spark_conf))


def default_home() -> Path:
    """Return the home that is used when no source names one."""
    return platformdirs.user_data_path("jetsql", appauthor=False)


def default_class_archives() -> Path:
    """Return the folder of the archives of Spark's classes that is used when no source names one."""
    return platformdirs.user_cache_path("jetsql", appauthor=False) / "classes"
