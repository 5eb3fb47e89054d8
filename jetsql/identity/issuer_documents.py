"""Read JSON documents of an issuer: its description, its keys, and the answer to a code of OpenID Connect.

Only HTTPS with a checked certificate is read, or this machine. A redirect is not followed, because it could lead
elsewhere.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import BaseHandler, HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from jetsql.settings.identity_settings import is_safe_url

_SECONDS: Final = 5.0
_BYTES_MOST: Final = 1024 * 1024


class IssuerError(Exception):
    """The issuer gave no usable answer. Its text is for the log: strangers must not see it."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def read_document(
    url: str, ca_file: Path | None, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the JSON object at a URL. form: is sent with POST. Raises IssuerError."""
    if not is_safe_url(url):
        raise IssuerError(f"{url} is neither a URL with https nor one of this machine")
    try:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        body = None if form is None else urlencode(form).encode()
        request = Request(url, body, {"Accept": "application/json", **(headers or {})})
        handlers: list[BaseHandler] = [_NoRedirects(), HTTPSHandler(context=context)]
        if request.type == "http":
            handlers.append(ProxyHandler({}))  # what is on this machine is not asked of a proxy
        with build_opener(*handlers).open(request, timeout=_SECONDS) as response:
            content = response.read(_BYTES_MOST + 1)
    except HTTPError as error:
        with error:
            raise IssuerError(f"{url} answers with status {error.code}: {_reason(error)}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise IssuerError(f"{url} cannot be read: {error}") from error
    if len(content) > _BYTES_MOST:
        raise IssuerError(f"the answer of {url} is larger than {_BYTES_MOST // 2**20} MiB")
    return as_object(content, url)


def as_object(content: bytes, source: str) -> dict[str, Any]:
    """Return a JSON object. source: names it in the error. Raises IssuerError."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise IssuerError(f"{source} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise IssuerError(f"{source} is no JSON object")
    return document


def _reason(error: HTTPError) -> str:
    """Return the reason in an error of OAuth (RFC 6749, 5.2)."""
    try:
        document = json.loads(error.read(_BYTES_MOST))
        return f"{document['error']} {document.get('error_description', '')}".strip()[:500]
    except (OSError, HTTPException, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return str(error.reason)
