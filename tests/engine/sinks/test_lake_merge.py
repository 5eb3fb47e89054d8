"""The MERGE of a batch into a Delta or Iceberg table, as text."""

from __future__ import annotations

from jetsql.engine.sinks.lake.merge import Merge
from jetsql.jobs.model.body_analysis import Sink, SinkKind


def _sink(kind: SinkKind, *keys: str) -> Sink:
    return Sink("lake.`a.b`.t", kind, kind.value, "", 0, ("id", "odd name"), key_columns=keys)


def test_keys_are_compared_null_safely_and_names_are_quoted() -> None:
    assert Merge(_sink(SinkKind.DELTA, "id"), ["id", "odd name"], True, ["later"]).statement("v") == (
        "MERGE INTO `lake`.`a.b`.`t` t USING v s ON t.`id` <=> s.`id`"
        " WHEN MATCHED AND s.__jetsql_deleted THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET t.`odd name` = s.`odd name`"
        " WHEN NOT MATCHED AND NOT s.__jetsql_deleted THEN INSERT (`id`, `odd name`) VALUES (s.`id`, s.`odd name`)"
    )


def test_iceberg_gets_a_value_for_each_column() -> None:
    text = Merge(_sink(SinkKind.ICEBERG, "id"), ["id", "odd name"], False, ["later"]).statement("v")
    assert text.endswith("INSERT (`id`, `odd name`, `later`) VALUES (s.`id`, s.`odd name`, NULL)")


def test_rows_of_keys_alone_are_not_updated() -> None:
    text = Merge(_sink(SinkKind.DELTA, "ID", "odd name"), ["id", "odd name"], False).statement("v")
    assert (
        "UPDATE" not in text and "DELETE" not in text and "t.`ID` <=> s.`ID` AND t.`odd name` <=> s.`odd name`" in text
    )
