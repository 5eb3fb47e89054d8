"""Merges and snapshots with tables of Iceberg, in a catalogue of their own."""

import os

import pytest
from row_changes import row_change_classes

globals().update(row_change_classes("iceberg"))


@pytest.fixture(scope="class")
def dbt_profile_target():
    return {
        "type": "jetsql",
        "url": os.environ["JETSQL_TEST_URL"],
        "token": os.environ["JETSQL_TEST_TOKEN"],
        "threads": 2,
        "settings": {"spark.sql.defaultCatalog": "lake"},
    }
