"""The table formats that the engine of the tests has: those whose connectors exist for the installed Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jetsql.catalog_settings import CatalogSettings
from jetsql.engine.jvm.connectors import sparks_of
from jetsql.engine.jvm.spark_version import version_name
from jetsql.settings import Settings, load
from tests.support.spark_conf import CONF

FORMATS = tuple(each for each in ("delta", "iceberg") if version_name() in sparks_of([each]))
CATALOG = "lake"
"""The catalogue of the Iceberg tables."""


def engine_settings(home: Path, warehouse: Path) -> Settings:
    """Return the settings of an engine with all formats. warehouse: the folder of the Iceberg tables."""
    catalog = CatalogSettings(CATALOG, "iceberg", {"kind": "hadoop", "warehouse": str(warehouse)})
    return replace(
        load(home=home, master="local[2]", conf=CONF),
        delta="delta" in FORMATS,
        catalogs=(catalog,) if "iceberg" in FORMATS else (),
    )
