"""Kafka topics behind tables USING kafka: which one, in which cluster."""

from __future__ import annotations

from dataclasses import dataclass

from jetsql.engine.catalog import TableFacts


@dataclass(frozen=True)
class Topic:
    """name: empty where a table stands for more than one. servers: the cluster's addresses, as the table gives them."""

    name: str
    servers: str

    @classmethod
    def of(cls, table: TableFacts) -> Topic:
        options = {key.lower(): value for key, value in table.options.items()}
        return cls(options.get("topic", ""), options.get("kafka.bootstrap.servers", ""))

    @property
    def words(self) -> str:
        """As people see it."""
        return f"Kafka {self.servers}, topic {self.name}"
