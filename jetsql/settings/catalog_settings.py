"""The catalogues of the engine's sessions: the sections `[catalogs.NAME]` of config.toml, as settings of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from jetsql.setting_values import refusal

SESSION_CATALOG: Final = "spark_catalog"
DELTA: Final = "delta"
ICEBERG: Final = "iceberg"
_KEY: Final = "spark.sql.catalog"
_EXTENSIONS: Final = "spark.sql.extensions"
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "hadoop": ("warehouse",),
    "jdbc": ("uri", "warehouse"),
    "rest": ("uri",),
    "hive": (),
}
"""The kinds of Iceberg's catalogues, and the keys that each needs."""
_KEYS: Final = ("type", "kind", "warehouse", "uri")
"""The keys that JetSQL reads, or needs. The class of a catalogue has others."""
_SERVERS: Final = ("jdbc", "rest")  # the newest version of a table is not in its files, and not in Hive's catalogue
_FORMAT_EXTENSIONS: Final[Mapping[str, str]] = {
    DELTA: "io.delta.sql.DeltaSparkSessionExtension",
    ICEBERG: "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
}
_DELTA_CATALOG: Final = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_LOCAL_DELTA: Final[Mapping[str, str]] = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
"""Fewer tasks on one machine, for the state of a table and for VACUUM: by default 50 and 10,000, whatever its size."""
_ICEBERG_CATALOG: Final = "org.apache.iceberg.spark.SparkCatalog"
_ICEBERG_SESSION_CATALOG: Final = "org.apache.iceberg.spark.SparkSessionCatalog"


@dataclass(frozen=True)
class CatalogSettings:
    """One catalogue."""

    name: str  # the first part of the names of its tables
    type: str  # `iceberg`, `delta`, or the name of a class
    properties: Mapping[str, str] = field(default_factory=dict)
    """The further keys of its section, such as `kind` and `warehouse`; values may be references to secrets."""


def read_catalogs(table: object, file: str) -> tuple[CatalogSettings, ...]:
    """Return the catalogues of the section `catalogs` of a file. Raises EngineError INVALID_SETTING."""
    if not isinstance(table, Mapping):
        raise refusal(f"{file}: catalogs is {table!r}.", "Write a section [catalogs.NAME] for each catalogue.")
    return tuple(_read_catalog(name, entries, file) for name, entries in table.items())


def _read_catalog(name: str, entries: object, file: str) -> CatalogSettings:
    section = f"{file}: [catalogs.{name}]"
    if not isinstance(entries, Mapping) or not re.fullmatch(r"\w+", name, re.ASCII):
        raise refusal(
            f"{section} is not a section of a catalogue.",
            "The name of a catalogue has letters, digits and underscores, and its section has key = value.",
        )
    properties = dict(_flatten(entries))
    catalog = CatalogSettings(name, properties.pop("type", ""), properties)
    problem = _problem(catalog)
    if problem is not None:
        raise refusal(f"{section} {problem[0]}.", problem[1])
    return catalog


def _problem(catalog: CatalogSettings) -> tuple[str, str] | None:
    """Return what is wrong with a catalogue, a predicate, and a hint."""
    if catalog.type == DELTA:
        if catalog.name != SESSION_CATALOG:
            return "has the type delta", f"Delta extends Spark's own catalogue: write [catalogs.{SESSION_CATALOG}]."
        key = next(iter(catalog.properties), None)
        return None if key is None else (f"has the key {key!r}", "A catalogue of the type delta has no further keys.")
    for key in catalog.properties:
        near = [] if key in _KEYS else get_close_matches(key, _KEYS, n=1, cutoff=0.8)
        if near:
            return f"has the key {key!r}", f"Did you mean {near[0]}?"
    if catalog.type != ICEBERG:
        if "." in catalog.type:
            return None
        return f"has the type {catalog.type!r}", "The type is iceberg, delta, or the name of a class."
    kind = catalog.properties.get("kind", "")
    if kind not in _NEEDED:
        near = get_close_matches(kind, _NEEDED, n=1)
        return f"has the kind {kind!r}", f"Did you mean {near[0]}?" if near else f"Kinds: {', '.join(_NEEDED)}."
    missing = next((key for key in _NEEDED[kind] if not catalog.properties.get(key)), None)
    return None if missing is None else (f"has no {missing}", f"A catalogue of the kind {kind} needs it.")


def _flatten(entries: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Return the keys of a section with their values as text; TOML makes tables of keys with points."""
    for key, value in entries.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)


def formats_of(catalogs: Iterable[CatalogSettings], delta: bool, iceberg: bool) -> tuple[str, ...]:
    """Return the table formats to load at the start: those that are set, and those of the catalogues."""
    types = {catalog.type for catalog in catalogs}
    requested = {DELTA: delta, ICEBERG: iceberg}
    return tuple(name for name, is_set in requested.items() if is_set or name in types)


def iceberg_servers(catalogs: Iterable[CatalogSettings]) -> dict[str, str]:
    """Return the warehouses of Iceberg's catalogues that a database or a server keeps, by their names."""
    return {
        catalog.name: catalog.properties["warehouse"]
        for catalog in catalogs
        if catalog.type == ICEBERG and catalog.properties.get("kind") in _SERVERS and "warehouse" in catalog.properties
    }


def catalog_confs(
    catalogs: Iterable[CatalogSettings], formats: Iterable[str], given: Mapping[str, str], master: str
) -> dict[str, str]:
    """Return Spark's settings for catalogues and table formats.

    given: the user's settings, which have precedence; the extensions of the formats are added to the user's own.
    master: Spark's master.
    """
    confs: dict[str, str] = {}
    for catalog in catalogs:
        confs |= _confs_of(catalog)
    if DELTA in formats:
        confs.setdefault(f"{_KEY}.{SESSION_CATALOG}", _DELTA_CATALOG)
        if master.startswith("local"):
            confs |= _LOCAL_DELTA
    confs |= given
    extensions = [each.strip() for each in confs.get(_EXTENSIONS, "").split(",") if each.strip()]
    added = [_FORMAT_EXTENSIONS[name] for name in formats if _FORMAT_EXTENSIONS[name] not in extensions]
    if added:
        confs[_EXTENSIONS] = ",".join([*extensions, *added])
    return confs


def _confs_of(catalog: CatalogSettings) -> dict[str, str]:
    key = f"{_KEY}.{catalog.name}"
    properties = dict(catalog.properties)
    name = catalog.type
    if catalog.type == DELTA:
        name = _DELTA_CATALOG
    elif catalog.type == ICEBERG:
        name = _ICEBERG_SESSION_CATALOG if catalog.name == SESSION_CATALOG else _ICEBERG_CATALOG
        properties["type"] = properties.pop("kind")
    return {key: name, **{f"{key}.{each}": value for each, value in properties.items()}}
