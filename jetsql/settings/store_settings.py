"""The settings of a store on PostgreSQL, and of Spark's catalogue in a database.

Passwords are references to secrets. They are resolved when the store is opened and when Spark is started, which redacts
them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from jetsql.home.store_url import open_url, parse_setting
from jetsql.jobs.model.leadership import LeaseTimes
from jetsql.setting_fields import setting
from jetsql.setting_values import parse_positive_seconds, parse_reference, parse_user, refusal

POSTGRESQL: Final = "postgresql"
"""The connector's key in `connectors.properties`, and the value of `catalog` for the server of the store."""
_KEY: Final = "spark.hadoop.javax.jdo.option"
_DRIVER: Final = "org.postgresql.Driver"
_SCHEME: Final = f"jdbc:{POSTGRESQL}:"
_CLASSES: Final = (
    *("MDatabase", "MSerDeInfo", "MColumnDescriptor", "MStringList", "MStorageDescriptor", "MTable", "MConstraint"),
    *("MPartition", "MIndex", "MRole", "MRoleMap", "MGlobalPrivilege", "MDBPrivilege", "MTablePrivilege"),
    *("MPartitionPrivilege", "MTableColumnPrivilege", "MPartitionColumnPrivilege", "MPartitionEvent"),
    *("MTableColumnStatistics", "MPartitionColumnStatistics", "MVersionTable", "MDelegationToken", "MMasterKey"),
    *("MType", "MFunction", "MNotificationLog", "MNotificationNextId"),
)
"""The classes that Hive stores."""
SCHEMA_CONFS: Final[Mapping[str, str]] = {
    "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
    # All tables are created at the start. Hive would create each one when it first needs it, while its transaction has
    # locks on others that the new table references: on PostgreSQL, it would wait for itself.
    "spark.hadoop.datanucleus.autoStartMechanism": "Classes",
    "spark.hadoop.datanucleus.autoStartMechanismMode": "Checked",
    "spark.hadoop.datanucleus.autoStartClassNames": ",".join(
        f"org.apache.hadoop.hive.metastore.model.{name}" for name in _CLASSES
    ),
}
"""Spark's settings for a catalogue whose tables are created when they are missing."""


def _parse_catalog(value: object) -> str:
    expected = ValueError("postgresql, for the database of the store, or a URL such as jdbc:postgresql://host/database")
    if not isinstance(value, str) or not re.fullmatch(r"postgresql|jdbc:\w+:\S+", value.strip()):
        raise expected
    if re.search(r"password|//[^/?]*@", value, re.IGNORECASE):
        raise ValueError("a URL without user and password; set catalog_user and catalog_password")
    return value.strip()


@dataclass(frozen=True)
class StoreSettings:
    """Settings of the store and of Spark's catalogue."""

    store: str | None = setting(
        None,
        parse_setting,
        "The database of jobs, history, snapshots, functions and metrics, in PostgreSQL. `?schema=NAME` names the "
        "schema, by default `jetsql`.",
        is_secret=True,
    )
    store_password: str | None = setting(None, parse_reference, "The password of the user of `store`.", is_secret=True)
    catalog: str | None = setting(
        None,
        _parse_catalog,
        "The database of the definitions of tables and views: `postgresql` for that of `store`, or any URL of JDBC.",
    )
    catalog_user: str | None = setting(None, parse_user, "The user of `catalog`, if it is a URL.")
    catalog_password: str | None = setting(None, parse_reference, "The password of `catalog_user`.", is_secret=True)
    heartbeat_seconds: float = setting(
        LeaseTimes.heartbeat_seconds,
        parse_positive_seconds,
        "The time between two heartbeats of an engine whose store is on PostgreSQL.",
    )
    lease_seconds: float = setting(
        LeaseTimes.lease_seconds,
        parse_positive_seconds,
        "A standby leads when it has seen no heartbeat of the leader for this time; a leader that cannot send one"
        " for this time commits no batch.",
    )

    @property
    def times(self) -> LeaseTimes:
        """Return the times of the lease on a store on PostgreSQL."""
        return LeaseTimes(self.heartbeat_seconds, self.lease_seconds)

    @property
    def connectors(self) -> tuple[str, ...]:
        """Return the connectors that the catalogue needs."""
        in_postgresql = self.catalog == POSTGRESQL or (self.catalog or "").startswith(_SCHEME)
        return (POSTGRESQL,) if in_postgresql else ()


DEFAULTS: Final = StoreSettings()
_CATALOG_SECONDS: Final = "30"
"""The time that a statement waits for the catalogue. By default, it waits for ever if the network is cut."""


def metastore_confs(settings: StoreSettings, application_name: str | None = None) -> dict[str, str]:
    """Return Spark's settings for a catalogue in a database; none for Derby.

    application_name: the name of the connections to the database of the store.
    Raises EngineError INVALID_SETTING, and SECRET_NOT_READABLE for a URL of the store that is a secret.
    """
    if settings.catalog is None:
        return {}
    url, user, password = settings.catalog, settings.catalog_user, settings.catalog_password
    if settings.catalog == POSTGRESQL:
        url, user, password = _of_store(settings, application_name)
    confs = {
        f"{_KEY}.ConnectionURL": url,
        f"{_KEY}.ConnectionUserName": user,
        f"{_KEY}.ConnectionPassword": password,
        f"{_KEY}.ConnectionDriverName": _DRIVER if settings.connectors else None,
    }
    return {**{key: value for key, value in confs.items() if value}, **SCHEMA_CONFS}


def _of_store(settings: StoreSettings, application_name: str | None) -> tuple[str, str, str | None]:
    """Return the JDBC URL, the user and the password, which may be a reference, of the store's schema."""
    if settings.store is None:
        raise refusal("catalog is 'postgresql', but store is not set.", "Set store to the URL of a database.")
    url = open_url(settings.store, None, resolve=False)
    host = f"[{url.host}]" if ":" in url.host else url.host
    parameters = {"currentSchema": url.schema, "socketTimeout": _CATALOG_SECONDS, **url.tls}
    if application_name is not None:
        parameters["ApplicationName"] = application_name
    jdbc = f"{_SCHEME}//{host}:{url.port}/{url.database}?{urlencode(parameters)}"
    return jdbc, url.user, url.password or settings.store_password
