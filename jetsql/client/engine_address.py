"""Parse the address of an engine: its home folder, or the URL of its HTTP endpoint.

jetsql://:TOKEN@HOST:PORT/SCHEMA        an HTTP endpoint; ?tls=true for HTTPS, ca_file=FILE for its authorities
http://:TOKEN@HOST:PORT/PREFIX          the same, with the path prefix of a proxy
jetsql://:TOKEN@HOST:PORT,HOST:PORT     several engines with the same store, of which one leads; the same for http
jetsql://:TOKEN@HOST:PORT?host=HOST:PORT  the same, for programs that read one host only, such as SQLAlchemy
jetsql:///SCHEMA?home=DIR&start=false   the engine of a home; it is started by default
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from jetsql.client.server_trust import ServerTrust
from jetsql.jobs.model.redaction import redact_url

_OPTIONS: Final = ("home", "start", "token", "schema", "tls", "ca_file", "host")
_BOOLEANS: Final = {"true": True, "false": False}


@dataclass(frozen=True)
class EngineAddress:
    """The address of an engine."""

    url: str | None  # of the HTTP endpoint, or of several, separated by commas; None for the engine of a home
    token: str = field(repr=False)
    home: str | None = None  # None for the home of the settings
    schema: str | None = None
    start: bool = True  # start the engine of the home if none runs
    ca_file: str | None = None  # the certificates of authorities that are trusted, see `ServerTrust`

    def endpoint(self) -> tuple[str, str, ServerTrust]:
        """Return the current URL and token of the HTTP endpoint, and the certificates that are trusted.

        The port may change when an engine restarts.

        Raises EngineError ENGINE_NOT_REACHABLE, ENGINE_NOT_STARTED, HOME_IN_USE.
        """
        if self.url is not None:
            return self.url, self.token or _saved_token(self.url), ServerTrust(self.ca_file)
        # A URL does not need these, and a client with a URL may not have their dependencies installed.
        from jetsql.client.find_engine import find_engine, find_or_start_engine, no_engine
        from jetsql.settings.engine_settings import load

        settings = load(home=self.home)
        engine = find_or_start_engine(settings) if self.start else find_engine(settings.home)
        if engine is None:
            raise no_engine(settings.home)
        return engine.note.url, engine.note.token, ServerTrust(self.ca_file, engine.note)


def _saved_token(url: str) -> str:
    from jetsql.client.saved_logins import saved_token

    return saved_token(url)


def parse_address(
    home: str | os.PathLike[str] | None,
    url: str | None,
    token: str | None,
    schema: str | None,
    start: bool,
    ca_file: str | os.PathLike[str] | None = None,
) -> EngineAddress:
    """Parse the arguments of `connect`. Raises ValueError for a wrong URL and for arguments that exclude each other."""
    authorities = None if ca_file is None else os.fspath(ca_file)
    if url is None:
        return EngineAddress(None, "", None if home is None else os.fspath(home), schema, start, authorities)
    if home is not None:
        raise ValueError("A home and a URL were given. Give only one.")
    parsed = _parse_url(url, token, schema, start)
    return parsed if authorities is None else replace(parsed, ca_file=authorities)


def _parse_url(url: str, token: str | None, schema: str | None, start: bool) -> EngineAddress:
    url, further = _split_hosts(url)
    parts, port = _split_url(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    further += [value for name, value in pairs if name == "host"]
    unknown = [name for name in options if name not in _OPTIONS]
    if parts.scheme not in ("jetsql", "http", "https") or unknown:
        problem = (
            _unknown_option(unknown[0], options[unknown[0]]) if unknown else f"Unknown scheme: {redact_url(url)!r}."
        )
        raise ValueError(f"{problem} Write jetsql://:TOKEN@HOST:PORT/SCHEMA or http://HOST:PORT.")
    is_own_scheme = parts.scheme == "jetsql"
    path_schema = unquote(parts.path.strip("/")) if is_own_scheme else ""
    schema = schema or options.get("schema") or path_schema or None
    if not parts.hostname:
        return EngineAddress(None, "", options.get("home"), schema, start and _boolean_option(options, "start", True))
    if "home" in options:
        raise ValueError("The URL has a host and a home. Give only one.")
    secret = token or unquote(parts.password or parts.username or "") or options.get("token")
    scheme = ("https" if _boolean_option(options, "tls", False) else "http") if is_own_scheme else parts.scheme
    prefix = "" if is_own_scheme else parts.path.rstrip("/")
    hosts = [(parts.hostname, port), *(_split_host(host) for host in further)]
    urls = ",".join(f"{scheme}://{_netloc(*host)}{prefix}" for host in hosts)
    return EngineAddress(
        urls, secret or os.environ.get("JETSQL_TOKEN", ""), schema=schema, ca_file=options.get("ca_file")
    )


def split_engines(url: str) -> list[str]:
    """Return the URL of each engine. url: http://HOST:PORT,HOST:PORT or http://HOST:PORT,http://HOST:PORT"""
    first, *further = url.split(",")
    scheme = first.partition("://")[0]
    return [first, *(each if "://" in each else f"{scheme}://{each}" for each in further)]


def _split_hosts(url: str) -> tuple[str, list[str]]:
    """Return a URL with its first host only, and the further hosts, each with its port.

    The further hosts may repeat the scheme, as in the addresses of the command line.
    """
    scheme, separator, rest = url.partition("://")
    rest = rest.replace(f",{scheme}://", ",")
    end = min((at for at in (rest.find(mark) for mark in "/?#") if at >= 0), default=len(rest))
    user, at, hosts = rest[:end].rpartition("@")
    first, *further = hosts.split(",")
    return f"{scheme}{separator}{user}{at}{first}{rest[end:]}", further


def _split_host(host: str) -> tuple[str, int | None]:
    parts, port = _split_url(f"//{host}")
    if not parts.hostname or parts.path or parts.query or parts.username is not None:
        raise ValueError(f"A further host is {host!r}. Write HOST:PORT.")
    return parts.hostname, port


def _netloc(host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port}" if port else name


def _unknown_option(name: str, value: str) -> str:
    """Return the message about an unknown option. It leaves out a name without a value, which may be a token."""
    return f"Unknown option: {name!r}." if value else "An unknown option has no value."


def _split_url(url: str) -> tuple[SplitResult, int | None]:
    """Return the parts of a URL, and its port. Raises ValueError; its message leaves out the URL and so any token."""
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError:
        message = "Its port is not a number from 0 to 65535, or the address in brackets is not valid."
        raise ValueError(f"{message} Write jetsql://:TOKEN@HOST:PORT/SCHEMA or http://HOST:PORT.") from None


def _boolean_option(options: Mapping[str, str], name: str, default: bool) -> bool:
    value = options.get(name)
    if value is None:
        return default
    if value not in _BOOLEANS:
        raise ValueError(f"The option {name} is {value!r}. Write true or false.")
    return _BOOLEANS[value]
