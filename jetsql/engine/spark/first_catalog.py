"""The first catalogue on Derby of a new home: a copy, because Hive takes seconds to create its tables and schemas.

What is copied was made with the archive of Spark's classes, fits the same Spark and JetSQL, and lies next to it.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jetsql.engine.jvm.class_archive import find_archive
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.home.storage import METASTORE

_LOG: Final = logging.getLogger(__name__)
_INCOMPLETE: Final = "metastore.incomplete"
_SET_LOCATIONS: Final = """
UPDATE APP.DBS SET DB_LOCATION_URI =
CASE WHEN NAME = 'default' THEN {root} ELSE {root} || '/' || NAME || '.db' END
"""


def copy_first_catalog(spark: SparkSession, home: Path, warehouse: str, class_archives: Path | None) -> None:
    """Give a home without a catalogue a copy, if one is next to the archive of classes. Otherwise Hive creates it.

    warehouse: the folder of the home's schemas, a path or URI. After a crash in between, the copy is whole or missing.
    """
    if class_archives is None or (home / METASTORE).exists():
        return
    archive = find_archive(class_archives)
    if archive is None or not archive.has_catalog():
        return
    incomplete = home / _INCOMPLETE
    try:
        shutil.rmtree(incomplete, ignore_errors=True)
        shutil.copytree(archive.catalog, incomplete, copy_function=_copy_file)
        _set_locations(spark.sparkContext._jvm, incomplete, FileSystem(spark).qualify(warehouse))
        os.rename(incomplete, home / METASTORE)
    except (OSError, Py4JError) as error:
        _LOG.warning("Hive creates the catalogue, because that in %s cannot be copied: %s", archive.catalog, error)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb") as reading, open(target, "xb") as writing:
        shutil.copyfileobj(reading, writing)
        writing.flush()
        os.fsync(writing.fileno())


def _set_locations(jvm: Any, catalog: Path, root: str) -> None:
    """Set the folders of the schemas in a catalogue, and close it. Raises Py4JError."""
    manager, url = jvm.java.sql.DriverManager, f"jdbc:derby:;databaseName={catalog}"
    connection = manager.getConnection(url)
    text = "'" + root.replace("'", "''") + "'"
    connection.createStatement().executeUpdate(_SET_LOCATIONS.format(root=text))
    connection.close()
    try:
        manager.getConnection(f"{url};shutdown=true")
    except Py4JError as error:
        if "08006" not in str(error):  # Derby reports the end of a database as an error
            raise
