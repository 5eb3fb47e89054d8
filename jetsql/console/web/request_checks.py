"""Protect the console's pages: cookies, headers, and the checks of requests that have an effect.

Browsers send a cookie to all ports of a host name, and count these ports as the same site. So each request must come
from the console's own pages, apart from links; one with an effect also needs the value `Login.csrf`, which other
origins cannot read.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jetsql.console.web.engine_label import EngineLabel
from jetsql.console.web.login_sessions import Login
from jetsql.errors import StatementError, check_text

CSRF_HEADER: Final = "x-csrf-token"
CSRF_FIELD: Final = "csrf"
REFRESH_HEADER: Final = "x-jetsql-refresh"
"""Marks a request of a script that brings its page up to date, which prolongs no session."""
_FORM_BYTES: Final = 1024 * 1024
_FIELDS_MOST: Final = 2000

_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers send forms with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}
_NOT_STORED: Final = "no-store"


def for_browsers(app: ASGIApp, label: EngineLabel) -> ASGIApp:
    """Return the application with the headers in each response, and with the label in the state of each request.

    Responses are not stored unless they say so.
    """

    async def protected(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["label"] = label

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", _NOT_STORED)
            await send(message)

        await app(scope, receive, send_with_headers)

    return protected


@dataclass(frozen=True)
class Form:
    """The fields of a form, each with all its values."""

    fields: Mapping[str, Sequence[str]]

    def one(self, name: str) -> str:
        """Return the first value of a field; empty without one."""
        return self.many(name)[0] if self.many(name) else ""

    def many(self, name: str) -> Sequence[str]:
        """Return the values of a field."""
        return self.fields.get(name, ())


async def read_form(http: Request) -> Form:
    """Return the form in a request. Raises StatementError REQUEST_NOT_READABLE."""
    received = bytearray()
    async for part in http.stream():
        received += part
        if len(received) > _FORM_BYTES:
            raise StatementError("REQUEST_NOT_READABLE", f"The form is larger than {_FORM_BYTES // 2**20} MiB.")
    try:
        fields = parse_qs(received.decode(), keep_blank_values=True, max_num_fields=_FIELDS_MOST)
    except ValueError as error:
        raise StatementError("REQUEST_NOT_READABLE", f"The form is not readable: {error}.") from error
    for values in fields.values():
        for value in values:
            check_text(value, "A field of the form")
    return Form(fields)


def check_origin(http: Request) -> None:
    """Raise StatementError NOT_AUTHORIZED for a request of a page of another origin, unless the user follows a link."""
    site = http.headers.get("sec-fetch-site")
    origin = http.headers.get("origin")
    own = origin is None or _netloc(origin) == http.headers.get("host")
    is_link = http.method in ("GET", "HEAD") and http.headers.get("sec-fetch-mode") == "navigate"
    if not own or (site not in (None, "same-origin", "none") and not is_link):
        raise StatementError("NOT_AUTHORIZED", "The request comes from a page of another origin.")


def _netloc(url: str) -> str | None:
    """Return the host and port of a URL; None for a text that is no URL, such as `http://[`."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return None


def check_csrf(login: Login, value: str) -> None:
    """Raise StatementError NOT_AUTHORIZED unless a request repeats the value of its session."""
    if not hmac.compare_digest(value.encode(errors="replace"), login.csrf.encode()):
        hint = "Reload the page, and repeat the action."
        raise StatementError("NOT_AUTHORIZED", "The request does not belong to this session of the console.", hint=hint)


def check_form(login: Login, http: Request, form: Form) -> None:
    """Raise StatementError NOT_AUTHORIZED unless a form, or the request with it, repeats the value of its session."""
    check_csrf(login, http.headers.get(CSRF_HEADER) or form.one(CSRF_FIELD))
