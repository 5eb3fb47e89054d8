"""The names of datasets by OpenLineage's specification, so that other programs mean the same dataset by them.

No name has a user, a password or another parameter of a URL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_JDBC_SCHEMES: Final[Mapping[str, tuple[str, int | None]]] = {
    "postgresql": ("postgres", 5432),
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "sqlserver": ("sqlserver", 1433),
    "oracle": ("oracle", 1521),
    "redshift": ("redshift", 5439),
    "db2": ("db2", 50000),
}
"""OpenLineage's names of databases, with their default ports, by the word after `jdbc:`."""
_DEFAULT_SCHEMAS: Final = {"postgres": "public", "sqlserver": "dbo", "redshift": "public"}
_OBJECT_STORES: Final = {"s3a": "s3", "s3n": "s3"}
_ORACLE: Final = re.compile(r"@(?://)?(?P<host>[^:/]+)(?::(?P<port>\d+))?[:/](?P<service>\w+)")
_PART: Final = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^.\s"`]+)')


def name_datasets(facts: Mapping[str, Any], namespace: str) -> tuple[tuple[str, str], ...]:
    """Return the namespaces and names of what a table or source reads or writes: one for each topic, otherwise one.

    facts: of the Java module, see `ColumnLineage`. namespace: of datasets that no other program can reach
    """
    if facts.get("servers"):
        server = re.split(r"[,\s]+", facts["servers"].strip())[0].rpartition("://")[2]
        host, _, port = server.rpartition(":")
        address = server if host and port.isdigit() else f"{server}:9092"
        return tuple((f"kafka://{address}", topic) for topic in _topics(facts.get("topics", "")))
    if facts.get("url"):
        return (_name_database_table(facts["url"], facts.get("dbtable", ""), facts.get("table", "")),)
    if facts.get("location"):
        return (name_location(facts["location"]),)
    return ((namespace, facts.get("table") or facts.get("format") or "unknown"),)


def _topics(text: str) -> tuple[str, ...]:
    """Return the topics of the options `subscribe`, `assign` and `topic`; a pattern stays one name."""
    if text.startswith("{"):
        return tuple(json.loads(text))
    return tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip())) or ("unknown",)


def name_location(location: str) -> tuple[str, str]:
    """Return the namespace and the name of a folder."""
    scheme, separator, rest = location.partition(":")
    if not separator or "/" in scheme:
        return "file", location.rstrip("/") or "/"
    if scheme == "file":
        return "file", f"/{rest.strip('/')}"
    parts = urlsplit(location)
    host = parts.netloc if scheme.startswith(("abfs", "wasb")) else parts.netloc.rpartition("@")[2]
    path = location.partition("://")[2].partition("/")[2].strip("/")
    if scheme in ("hdfs", "viewfs", "abfs", "abfss", "wasb", "wasbs"):
        path = f"/{path}"
    return f"{_OBJECT_STORES.get(scheme, scheme)}://{host}", path or "/"


def _name_database_table(url: str, table: str, own: str) -> tuple[str, str]:
    """Return the names of a table of a database. own: the name in the catalogue, if the table is a query there"""
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    scheme, port = _JDBC_SCHEMES.get(kind.lower(), (kind.lower(), None))
    parts = [quoted or ticked or plain for quoted, ticked, plain in _PART.findall(table)]
    if not parts or "(" in table:
        parts = own.split(".")[-1:]
    if scheme == "oracle":
        match = _ORACLE.search(rest)
        if match:
            return f"oracle://{match['host']}:{match['port'] or port}", ".".join((match["service"], *parts))
    location, parameters = rest, ""
    if ";" in rest:
        location, _, parameters = rest.partition(";")
    address = urlsplit(location if location.startswith("//") else f"//{location}" if scheme == "db2" else location)
    database = unquote(address.path.strip("/"))
    if scheme == "sqlserver":
        named = re.search(r"(?i)database(?:name)?=([^;]+)", parameters)
        database = named[1] if named else "master"
    default = _DEFAULT_SCHEMAS.get(scheme)
    if default is not None and len(parts) == 1:
        parts = [default, *parts]
    if scheme == "mysql" and len(parts) > 1:
        database, parts = parts[-2], parts[-1:]
    hosts = address.netloc.rpartition("@")[2].split(",")[0]
    has_port = hosts.rpartition(":")[2].isdigit() and ":" in hosts
    server = hosts if has_port or port is None else f"{hosts}:{port}"
    return f"{scheme}://{server}" if server else scheme, ".".join(filter(None, (database, *parts)))
