"""The URL of a store on PostgreSQL: `postgresql://user@host:port/database?schema=NAME`, as SQLAlchemy writes URLs.

The password is a reference to a secret, in the URL or in a setting of its own. It is resolved when the store is opened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from jetsql.errors import EngineError
from jetsql.secret_references import is_reference, resolved

DEFAULT_PORT: Final = 5432
DEFAULT_SCHEMA: Final = "jetsql"
EXAMPLE: Final = "postgresql://jetsql@db.example.com/jetsql"
_TLS_OPTIONS: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey")
_URL: Final = re.compile(
    r"postgresql(?:\+psycopg)?://(?:(?P<user>[^:/@]*)(?::(?P<password>[^@]*))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(?P<port>[0-9]{1,5}))?/(?P<database>[^/?@\s]+)(?:\?(?P<query>\S*))?"
)
_SCHEMA: Final = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,50}")


@dataclass(frozen=True)
class StoreUrl:
    """The parts of a URL."""

    host: str
    port: int
    database: str
    user: str = ""  # empty for the user that PostgreSQL's clients take by default
    password: str = field(default="", repr=False)  # a reference until it is resolved
    schema: str = DEFAULT_SCHEMA
    tls: Mapping[str, str] = field(default_factory=dict)  # further parameters of the URL, by libpq's names

    def __str__(self) -> str:
        """Return the URL without the password."""
        user = f"{quote(self.user)}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        schema = "" if self.schema == DEFAULT_SCHEMA else f"?schema={self.schema}"
        port = "" if self.port == DEFAULT_PORT else f":{self.port}"
        return f"postgresql://{user}{host}{port}/{quote(self.database)}{schema}"

    def resolved(self, password: str | None) -> StoreUrl:
        """Return the URL with its password. password: a reference, used unless the URL has one; None without one.

        Raises EngineError SECRET_NOT_READABLE.
        """
        if self.password or password is None:
            return replace(self, password=resolved(self.password, "the URL of the store"))
        return replace(self, password=resolved(password, "store_password"))


def parse_url(text: str) -> StoreUrl:
    """Return the parts of a URL. The text of the ValueError for an invalid one completes "It must be ..."."""
    match = _URL.fullmatch(text.strip())
    if match is None or int(match["port"] or DEFAULT_PORT) > 65535:
        raise ValueError(f"a URL such as {EXAMPLE}")
    query = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    schema = query.pop("schema", DEFAULT_SCHEMA)
    if not _SCHEMA.fullmatch(schema):
        raise ValueError("a URL whose schema has at most 51 lower-case letters, digits and underscores")
    unknown = sorted(query.keys() - set(_TLS_OPTIONS))
    if unknown:
        raise ValueError(f"a URL with no other parameters than schema, {', '.join(_TLS_OPTIONS)}, not {unknown[0]}")
    return StoreUrl(
        match["host"].strip("[]"),
        int(match["port"] or DEFAULT_PORT),
        unquote(match["database"]),
        unquote(match["user"] or ""),
        unquote(match["password"] or ""),
        schema,
        query,
    )


def parse_setting(value: object) -> str:
    """Return the setting `store`: a URL without a secret, or a reference to a URL. The text of the ValueError for an
    invalid one completes "It must be ..."."""
    if not isinstance(value, str):
        raise ValueError(f"a URL such as {EXAMPLE}")
    if not is_reference(value):
        password = parse_url(value).password
        if password and not is_reference(password):
            raise ValueError("a URL without a password; set store_password to secret:env:NAME or secret:file:PATH")
    return value.strip()


def open_url(setting: str, password: str | None, *, resolve: bool = True) -> StoreUrl:
    """Return the URL of the setting `store` with its password.

    password: the setting `store_password`, or None. resolve: whether to resolve a password that is a reference.
    Raises EngineError SECRET_NOT_READABLE, INVALID_SETTING.
    """
    try:
        url = parse_url(resolved(setting, "store"))
        return url.resolved(password) if resolve else url
    except ValueError as error:
        raise EngineError(
            "INVALID_SETTING", "The secret that store refers to is not valid.", hint=f"It must be {error}."
        ) from None
