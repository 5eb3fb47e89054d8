"""The fields of a profile with `type: jetsql`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.contracts.connection import Credentials
from dbt_common.exceptions import DbtRuntimeError

from jetsql.dbt_adapter.engine_profile import check_profile, shown_address


@dataclass
class JetSQLCredentials(Credentials):
    """The fields of a profile. Either a URL or a home names the engine; the default is the home of the settings."""

    database: str | None = None  # Spark has schemas only
    schema: str | None = None  # where dbt creates tables
    url: str | None = None  # of the HTTP endpoint; of several engines, separated by commas
    home: str | None = None  # the folder of an engine on this machine
    token: str | None = None  # the default is JETSQL_TOKEN
    ca_file: str | None = None  # the certificates of the engine's authorities; the default is JETSQL_CA_FILE
    start: bool = True  # start the engine of the home if none runs
    settings: dict[str, Any] = field(default_factory=dict)  # Spark's, for every session
    connect_retries: int = 0  # attempts after the first, if no engine answers
    connect_timeout: int = 10  # seconds between two attempts

    @classmethod
    def __pre_deserialize__(cls, data: Any) -> Any:
        data = super().__pre_deserialize__(data)
        data.setdefault("database", None)
        return data

    def __post_init__(self) -> None:
        if self.database not in (None, self.schema):
            raise DbtRuntimeError("Spark has no databases above its schemas. Remove `database` from the profile.")
        self.database = None
        try:
            check_profile(self.url, self.home, self.schema)
        except ValueError as error:
            raise DbtRuntimeError(f"The profile is not valid. {error}") from error

    @property
    def type(self) -> str:
        return "jetsql"

    @property
    def unique_field(self) -> str:
        return shown_address(self.url, self.home)

    def _connection_keys(self) -> tuple[str, ...]:
        return ("url", "home", "schema", "ca_file", "start", "settings", "connect_retries", "connect_timeout")

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield the fields that `dbt debug` shows and models can read; the token is left out."""
        for key, value in super().connection_info(with_aliases=with_aliases):
            yield key, shown_address(value, None) if key == "url" and value else value
