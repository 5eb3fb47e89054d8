"""Qualified names of tables with any number of parts."""

from __future__ import annotations

import pytest

from jetsql.jobs.model.table_names import join_table, quoted_table, split_table


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("spark_catalog", "default", "t"), "spark_catalog.default.t"),
        (("lake", "a", "b", "2024"), "lake.a.b.2024"),
        (("lake", "a.b", "c`d", "größe"), "lake.`a.b`.`c``d`.größe"),
        (("lake", "a b", "x-y"), "lake.`a b`.`x-y`"),
    ],
)
def test_names_with_their_parts(parts: tuple[str, ...], name: str) -> None:
    assert join_table(parts) == name
    assert split_table(name) == parts
    assert split_table(quoted_table(name)) == parts


def test_names_that_older_releases_have_stored() -> None:
    assert split_table("spark_catalog.a b.t-1") == ("spark_catalog", "a b", "t-1")
    assert quoted_table("spark_catalog.default.t") == "`spark_catalog`.`default`.`t`"
