"""The names of datasets, as OpenLineage's specification has them."""

from __future__ import annotations

from typing import Any

import pytest

from jetsql.jobs.openlineage.dataset_names import name_datasets

NAMES: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"servers": "broker:9093", "topics": "orders"}, ("kafka://broker:9093", "orders")),
    ({"servers": "broker", "topics": "orders"}, ("kafka://broker:9092", "orders")),
    ({"servers": "a:1, b:2", "topics": "or.*ders"}, ("kafka://a:1", "or.*ders")),
    ({"servers": "SASL_SSL://a:1", "topics": '{"t":[0,1]}'}, ("kafka://a:1", "t")),
    ({"location": "file:/data/out"}, ("file", "/data/out")),
    ({"location": "file:///data/out/"}, ("file", "/data/out")),
    ({"location": "/data/a:b"}, ("file", "/data/a:b")),
    ({"location": "s3a://bucket/lake/t"}, ("s3://bucket", "lake/t")),
    ({"location": "s3a://key:secret@bucket/lake/t"}, ("s3://bucket", "lake/t")),
    ({"location": "gs://bucket/lake"}, ("gs://bucket", "lake")),
    ({"location": "hdfs://name:8020/lake/t"}, ("hdfs://name:8020", "/lake/t")),
    ({"location": "abfss://box@shop.dfs.core.windows.net/t"}, ("abfss://box@shop.dfs.core.windows.net", "/t")),
    ({"url": "jdbc:postgresql://db/shop", "dbtable": "orders"}, ("postgres://db:5432", "shop.public.orders")),
    ({"url": "jdbc:postgresql://db:5/shop?password=x", "dbtable": 'a."B c"'}, ("postgres://db:5", "shop.a.B c")),
    ({"url": "jdbc:postgresql://ann:pw@db:5/shop", "dbtable": "t"}, ("postgres://db:5", "shop.public.t")),
    ({"url": "jdbc:mysql://db/shop", "dbtable": "orders"}, ("mysql://db:3306", "shop.orders")),
    ({"url": "jdbc:mysql://db:1/shop", "dbtable": "other.orders"}, ("mysql://db:1", "other.orders")),
    (
        {"url": "jdbc:sqlserver://db;databaseName=shop;password=x", "dbtable": "t"},
        ("sqlserver://db:1433", "shop.dbo.t"),
    ),
    ({"url": "jdbc:oracle:thin:ann/pw@//db:1522/xe", "dbtable": "s.t"}, ("oracle://db:1522", "xe.s.t")),
    (
        {"url": "jdbc:postgresql://db/shop", "dbtable": "(SELECT 1)", "table": "c.s.q"},
        ("postgres://db:5432", "shop.public.q"),
    ),
    ({"url": "jdbc:derby:memory:shop", "dbtable": "T"}, ("derby", "shop.T")),
    ({"format": "rate"}, ("jetsql", "rate")),
    ({"table": "spark_catalog.default.t"}, ("jetsql", "spark_catalog.default.t")),
]


@pytest.mark.parametrize(("facts", "name"), NAMES)
def test_the_name_is_that_of_the_specification(facts: dict[str, Any], name: tuple[str, str]) -> None:
    assert name_datasets(facts, "jetsql") == (name,)


def test_each_topic_is_a_dataset() -> None:
    names = name_datasets({"servers": "a:1", "topics": "x, y,x"}, "jetsql")
    assert names == (("kafka://a:1", "x"), ("kafka://a:1", "y"))


@pytest.mark.parametrize("facts", [facts for facts, _ in NAMES])
def test_a_name_has_no_secret(facts: dict[str, Any]) -> None:
    text = str(name_datasets(facts, "jetsql"))
    assert not any(secret in text for secret in ("pw", "secret", "password", "ann"))
