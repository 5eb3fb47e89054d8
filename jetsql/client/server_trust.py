"""Connections to the HTTP endpoint of an engine: the certificates that a client trusts, and the proxy on the way.

The certificate and its host name are always checked. The engine of a home on this machine is known by its certificate,
which its note has; its names are not those of the loopback interface.
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from jetsql.errors import EngineError
from jetsql.home.discovery import EngineNote
from jetsql.home.pinned_certificate import trusting
from jetsql.jobs.model.redaction import redact_url

CA_FILE: Final = "JETSQL_CA_FILE"
_PROXY_PORT: Final = 80
_HTTPS_PORT: Final = 443


class ServerTrust:
    """The certificates that a client trusts."""

    def __init__(self, ca_file: str | None = None, note: EngineNote | None = None) -> None:
        """Create it.

        ca_file: the certificates of authorities in PEM; the default is JETSQL_CA_FILE, and then those of the system.
        note: of an engine on this machine, which is known by its certificate.
        """
        self._ca_file = ca_file or os.environ.get(CA_FILE) or ""
        self._note = note
        self._system: ssl.SSLContext | None = None

    def connection(self, url: str, seconds: float) -> HTTPConnection:
        """Return a connection that is not open yet. Raises EngineError INVALID_SETTING."""
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port
        if parts.scheme != "https":
            return HTTPConnection(host, port, timeout=seconds)
        if self.is_pinned(url):
            assert self._note is not None
            return HTTPSConnection(host, port, timeout=seconds, context=_pinned(self._note))
        context, proxy = self._context(), proxy_of(host, port or _HTTPS_PORT, os.environ)
        if proxy is None:
            return HTTPSConnection(host, port, timeout=seconds, context=context)
        connection = HTTPSConnection(proxy.hostname or "", proxy.port or _PROXY_PORT, timeout=seconds, context=context)
        connection.set_tunnel(host, port or _HTTPS_PORT, _proxy_login(proxy))
        return connection

    def is_pinned(self, url: str) -> bool:
        """Return whether the engine at a URL is known by its certificate."""
        return self._note is not None and bool(self._note.certificate) and url == self._note.url

    def _context(self) -> ssl.SSLContext:
        if self._system is None or self._ca_file:  # the file may be replaced
            try:
                self._system = ssl.create_default_context(cafile=self._ca_file or None)
            except OSError as error:
                message = f"The file with certificates of authorities, {self._ca_file}, cannot be read: "
                reason = error.strerror if not isinstance(error, ssl.SSLError) else "it has no certificate in PEM"
                hint = f"Set ca_file, or {CA_FILE} in the environment, to a file with certificates in PEM."
                raise EngineError("INVALID_SETTING", f"{message}{reason}.", hint=hint) from error
            self._system.minimum_version = ssl.TLSVersion.TLSv1_2
            # A certificate in the file is trusted itself, also one of a server.
            self._system.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return self._system


def _pinned(note: EngineNote) -> ssl.SSLContext:
    """Return the context for the engine of a home. Its file may have a certificate that it uses from now on."""
    renewed = ""
    with suppress(OSError):
        renewed = Path(note.certificate_file).read_text(encoding="utf-8", errors="replace")
    try:
        return trusting(f"{note.certificate}\n{renewed}", also_expired=True)
    except ssl.SSLError:  # the file is being written
        return trusting(note.certificate, also_expired=True)


def proxy_of(host: str, port: int, environ: Mapping[str, str]) -> SplitResult | None:
    """Return the proxy for HTTPS that the environment names for a host; None for a direct connection.

    Raises EngineError INVALID_SETTING.
    """
    name = next((name for name in ("https_proxy", "HTTPS_PROXY") if environ.get(name)), None)
    if name is None or _is_direct(host.casefold(), port, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return None
    given = environ[name]
    parts = urlsplit(given if "://" in given else f"http://{given}")
    with suppress(ValueError):
        if parts.scheme == "http" and parts.hostname and parts.port != 0:
            return parts
    message = f"{name} in the environment is {redact_url(given)!r}."
    raise EngineError("INVALID_SETTING", message, hint="It must be http://HOST:PORT. NO_PROXY names hosts without it.")


def _is_direct(host: str, port: int, exceptions: str) -> bool:
    """Return whether a host is reached without a proxy. exceptions: the value of NO_PROXY."""
    address = None
    with suppress(ValueError):
        address = ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in exceptions.replace(",", " ").casefold().split():
        name, _, number = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
        if number and number != str(port):
            continue
        name = name.removeprefix("*").removeprefix(".").strip("[]")
        if entry == "*" or host == name or (name and address is None and host.endswith(f".{name}")):
            return True
        with suppress(ValueError):
            if address is not None and address in ip_network(name, strict=False):
                return True
    return False


def _proxy_login(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
