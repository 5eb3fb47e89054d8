"""Which engine a connection is for: the one of a home folder, or the one at a URL.

jetsql://:TOKEN@HOST:PORT/SCHEMA        the HTTP door of an engine; ?tls=true where a proxy speaks TLS for it
http://:TOKEN@HOST:PORT/PREFIX          the same; what a proxy puts in front of its paths may follow
jetsql:///SCHEMA?home=DIR&start=false   the engine of a home, started unless that is forbidden
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from jetsql.errors import EngineError
from jetsql.jobs.model.redaction import redact_url

_OPTIONS: Final = ("home", "start", "token", "schema", "tls")
_TRUTHS: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class Address:
    """url: of the HTTP door; None for the engine of a home. home: None for the one of the settings."""

    url: str | None
    token: str = field(repr=False)
    home: str | None = None
    schema: str | None = None
    start: bool = True

    def door(self) -> tuple[str, str]:
        """URL and token of the HTTP door now: an engine of a home has another port after each start.

        Raises EngineError ENGINE_NOT_REACHABLE, ENGINE_NOT_STARTED, HOME_IN_USE.
        """
        if self.url is not None:
            return self.url, self.token
        # Not needed for a URL, and not everybody who has one has what these import.
        from jetsql.client.find_engine import find, find_or_start
        from jetsql.settings import load

        settings = load(home=self.home)
        found = find_or_start(settings) if self.start else find(settings.home)
        if found is None:
            hint = "Start it with `jetsql start`."
            raise EngineError("ENGINE_NOT_REACHABLE", f"No engine runs on {settings.home}.", hint=hint)
        return found.note.url, found.note.token


def address(
    home: str | os.PathLike[str] | None, url: str | None, token: str | None, schema: str | None, start: bool
) -> Address:
    """What `connect` was told. Raises ValueError, saying what does not fit."""
    if url is None:
        return Address(None, "", None if home is None else os.fspath(home), schema, start)
    if home is not None:
        raise ValueError("Give a home or a URL, not both.")
    return _of_url(url, token, schema, start)


def _of_url(url: str, token: str | None, schema: str | None, start: bool) -> Address:
    parts, port = _parts(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = [name for name in options if name not in _OPTIONS]
    if parts.scheme not in ("jetsql", "http", "https") or unknown:
        name = repr(unknown[0]) if unknown and options[unknown[0]] else "without a value"  # a token, perhaps
        what = f"There is no option {name}" if unknown else f"{redact_url(url)!r} has no scheme"
        raise ValueError(f"{what} of an engine's URL. Write jetsql://:TOKEN@HOST:PORT/SCHEMA or http://HOST:PORT.")
    own = parts.scheme == "jetsql"
    in_path = unquote(parts.path.strip("/")) if own else ""
    schema = schema or options.get("schema") or in_path or None
    if not parts.hostname:
        return Address(None, "", options.get("home"), schema, start and _truth(options, "start", True))
    if "home" in options:
        raise ValueError("The URL has a host and a home; only one can be meant.")
    secret = token or unquote(parts.password or parts.username or "") or options.get("token")
    scheme = ("https" if _truth(options, "tls", False) else "http") if own else parts.scheme
    prefix = "" if own else parts.path.rstrip("/")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = f"{host}:{port}" if port else host
    return Address(f"{scheme}://{place}{prefix}", secret or os.environ.get("JETSQL_TOKEN", ""), schema=schema)


def _parts(url: str) -> tuple[SplitResult, int | None]:
    """Return a URL in parts, and its port. Raises ValueError without the URL, where a token may stand anywhere."""
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:
        words = "An engine's URL has no port from 0 to 65535, or no address in its brackets."
        raise ValueError(f"{words} Write jetsql://:TOKEN@HOST:PORT/SCHEMA or http://HOST:PORT.") from None


def _truth(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = options.get(name)
    if value is None:
        return default
    if value not in _TRUTHS:
        raise ValueError(f"The option {name} of an engine's URL is {value!r}; write true or false.")
    return _TRUTHS[value]
