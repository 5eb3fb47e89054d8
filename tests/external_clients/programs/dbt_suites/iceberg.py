"""Merges and snapshots with tables of Iceberg, in a schema of the catalogue `lake`."""

import pytest
from row_changes import row_change_classes

globals().update(row_change_classes("iceberg"))


@pytest.fixture(scope="class")
def unique_schema(request, prefix):
    return f"lake.{prefix}_{request.cls.__name__.lower()}"
