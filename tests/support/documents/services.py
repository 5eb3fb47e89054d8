"""Kafka and PostgreSQL for pages: by the addresses that the pages give them, empty for each page."""

from __future__ import annotations

from pathlib import Path

from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import PASSWORD, USER, Postgres

KAFKA = "localhost:9092"
POSTGRES = "postgresql://"


def clear_topics(kafka: Kafka) -> None:
    for name in kafka.admin.list_topics(timeout=30).topics:
        if not name.startswith("__"):
            kafka.delete_topic(name)


def postgres_addresses(server: Postgres, folder: Path) -> dict[str, str]:
    """Create an empty database `shop`, and return what pages write for it."""
    server("DROP DATABASE IF EXISTS shop WITH (FORCE)")
    server("CREATE DATABASE shop")
    password = folder / "shop-password"
    password.write_text(PASSWORD, encoding="utf-8")
    return {
        "//localhost/shop": f"//127.0.0.1:{server.port}/shop",
        f"//{USER}@localhost/shop": f"//{USER}:{PASSWORD}@127.0.0.1:{server.port}/shop",
        "/run/secrets/shop": str(password),
    }
