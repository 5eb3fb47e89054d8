"""Check that a request to the HTTP endpoint has the token and addresses a known host name, and note its caller.

The check of the Host header protects against web pages that make a browser on this machine send requests to the
endpoint under a host name of their own (DNS rebinding). It applies to all paths.

An application below a path can admit its own sessions, as the web console does. They give no access to other paths.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_address
from typing import Any, Final, Protocol, TypeVar

from anyio import sleep
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from jetsql.errors import StatementError
from jetsql.home.discovery import proof
from jetsql.jobs.access.access_records import Right, Securable
from jetsql.jobs.access.logins import IssuerTokens, Logins, TokenUsers, shown_token
from jetsql.jobs.audit.audit_log import NO_AUDIT, AuditLog
from jetsql.request import OWNER, Caller, Endpoint, Identity, acting_for, current
from jetsql.server.statement_response import error_response

T = TypeVar("T")
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
# A proxy with TLS listens there. Only an administrator of a machine can listen on these ports.
_STANDARD_PORTS: Final = (80, 443)
OPEN_PATHS: Final = ("/healthz", "/readyz", "/leader")
_CHECK_THREADS: Final = 8


class Accounts(TokenUsers, Protocol):
    """The users of an engine, with their tokens and rights: an `AccessRegistry`."""

    def proof_key(self, token_id: str) -> str | None:
        """Return what is stored of a valid token, for the proof that this engine knows it; None without one."""

    def has_account(self, user: str) -> bool:
        """Return whether a user exists and is not disabled."""

    @property
    def is_admin(self) -> bool:
        """Return whether the caller has all rights."""

    def has_right(self, right: Right) -> bool:
        """Return whether the caller has a right on the engine."""

    def require(self, right: Right, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on the engine. what: what needs it"""

    def sees(self, thing: Securable) -> bool:
        """Return whether the caller has any right on an object other than a job."""

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function after each change of users, tokens or rights, and when a login expires."""


class TokenAuth:
    """The check of requests.

    token: the engine's own, of the built-in user.
    names: allowed host names, in addition to those of the loopback interface; a name with a port is an address under
    which clients reach the engine through another port.
    accounts: the users with tokens of their own; None if there are none but the built-in one. issuer: whose JWTs are
    accepted; None for none.
    """

    def __init__(
        self,
        token: str,
        names: Collection[str] = (),
        accounts: Accounts | None = None,
        issuer: IssuerTokens | None = None,
        audit: AuditLog = NO_AUDIT,
    ) -> None:
        self._token = token.encode()
        self._accounts = accounts
        self._logins = Logins(token, accounts, issuer, audit)
        # While the issuer does not answer, other requests do not wait.
        self._checks = ThreadPoolExecutor(_CHECK_THREADS, thread_name_prefix="issuer")
        self._addresses = frozenset(name.casefold() for name in names)
        self._names = {*LOOPBACK_NAMES, *self._addresses, *map(without_port, self._addresses)}
        self._open_paths: frozenset[str] = frozenset(OPEN_PATHS)
        self._own_prefix: str | None = None
        self._has_session: Callable[[Headers], bool] = lambda headers: False

    @property
    def name(self) -> str:
        """Return a name for engines with this token, from which the token cannot be computed."""
        return hashlib.sha256(b"name of the engine " + self._token).hexdigest()[:12]

    def admit_sessions(self, path: str, has_session: Callable[[Headers], bool]) -> None:
        """Let the application below a path check its requests itself; `/` is open, because it leads there.

        has_session: returns whether the headers of a request belong to one of its sessions.
        """
        self._open_paths |= {"/", path}
        self._own_prefix = f"{path}/"
        self._has_session = has_session

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Return the application with the check before it."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            headers = Headers(scope=scope)
            await self.check_request(headers)
            caller = self._caller(headers, scope)
            refusal = _unclear_length(headers) or self._refusal(headers, scope["path"], caller)
            if refusal is None or refusal.status_code != 401:
                self._note_use(headers, caller)
            else:
                with acting_for(caller):
                    await self.delay_failure(caller.address)
            with acting_for(caller):
                await (app if refusal is None else refusal)(scope, receive, send)

        return guarded

    def proof(self, nonce: str, address: str, port: int | None, token_id: str = "") -> str:
        """Return the proof for a client that this engine knows the token, before the client sends it.

        token_id: the id of the user's token that the client has; empty for the engine's own one. address: the host and
        port that the client means. Another program that listens there could forward the request, so it must be an
        address of this engine. port: on which the engine listens.
        Raises StatementError NOT_AUTHORIZED.
        """
        name, _, given = address.rpartition(":")
        is_port = given.isdecimal() and int(given) in (port, *_STANDARD_PORTS)
        if address.casefold() in self._addresses or (is_port and name.casefold() in self._names):
            return proof(self._proof_key(token_id), nonce, address)
        message = f"The address {address!r} is none of this engine's, so it gives no proof for it."
        raise StatementError("NOT_AUTHORIZED", message, hint="Add the host name with the port to http_hosts.")

    def _proof_key(self, token_id: str) -> str:
        """Return the key of the proof; a random one for a token that is not valid, so that its id is no secret."""
        if not token_id:
            return self._token.decode()
        known = None if self._accounts is None else self._accounts.proof_key(token_id)
        return known or secrets.token_hex()

    def _refusal(self, headers: Headers, path: str, caller: Caller) -> Response | None:
        host = without_port(headers.get("host", ""))
        if host.casefold() not in self._names:
            hint = "Use localhost, or add the host name to http_hosts."
            message = f"The host name {host!r} is not allowed for this engine."
            refusal = StatementError("NOT_AUTHORIZED", message, hint=hint)
            return error_response(refusal.report(), 403)
        if self._is_open(path) or caller.user:
            return None
        hint = "Send the header `Authorization: Bearer TOKEN`; the token is in the file engine.token of the home."
        refusal = StatementError("NOT_AUTHORIZED", "The token is missing or wrong.", hint=hint)
        return error_response(refusal.report(), 401, {"WWW-Authenticate": "Bearer"})

    def has_token(self, headers: Headers) -> bool:
        """Return whether a request with these headers has a valid token."""
        return self.identity_of_request(headers) is not None

    def admits(self, identity: Identity) -> bool:
        """Return whether a login is still valid: its user is not disabled, and its token neither expired nor gone."""
        return self._logins.admits(identity)

    def end_of(self, identity: Identity) -> str:
        """Return why a login is not valid any more, a sentence; empty while it is valid."""
        return self._logins.end_of(identity)

    def identity_of_request(self, headers: Headers) -> Identity | None:
        """Return the user whose token a request with these headers has; None without a valid one."""
        token = _bearer(headers)
        return None if token is None else self.identity_of(token)

    async def check_request(self, headers: Headers) -> None:
        """Check the token of a request if it is of an issuer outside of JetSQL, which may wait for the issuer."""
        await self.check_token(_bearer(headers) or "")

    async def check_token(self, text: str) -> None:
        """Check a token if it is of an issuer outside of JetSQL."""
        if self._logins.needs_check(text):
            await self.on_issuer_thread(self._logins.check, text)

    async def on_issuer_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a function that may wait for the issuer."""
        return await asyncio.get_running_loop().run_in_executor(self._checks, work, *arguments)

    def identity_of(self, text: str) -> Identity | None:
        """Return the user with a token; None for a text that is no valid token, whatever the reason."""
        return self._logins.identity_of(text)

    def note_use(self, text: str) -> None:
        """Note the use of a user's token if that is due, without waiting for the store."""
        self._logins.note_use(text)

    def is_known(self, headers: Headers) -> bool:
        """Return whether a request has a token or belongs to a session of the application that checks itself."""
        return self.has_token(headers) or self._has_session(headers)

    @property
    def has_users(self) -> bool:
        """Return whether there are users other than the built-in one, so that rights apply."""
        return self._accounts is not None and self._accounts.has_users

    @property
    def is_admin(self) -> bool:
        """Return whether the caller has all rights."""
        return self._accounts is None or self._accounts.is_admin

    def has_right(self, right: Right) -> bool:
        """Return whether the caller has a right on the engine."""
        return self._accounts is None or self._accounts.has_right(right)

    def sees(self, thing: Securable) -> bool:
        """Return whether the caller has any right on an object other than a job."""
        return self._accounts is None or self._accounts.sees(thing)

    def has_account(self, user: str) -> bool:
        """Return whether a user exists and is not disabled."""
        return self._accounts is None or self._accounts.has_account(user)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call a function after each change of users, tokens or rights, on the thread of the change."""
        if self._accounts is not None:
            self._accounts.on_change(listener)

    def require(self, right: Right, what: str) -> None:
        """Raise StatementError NOT_ALLOWED if the caller lacks a right on the engine. what: what needs it"""
        if self._accounts is not None:
            self._accounts.require(right, what)

    async def delay_failure(self, address: str) -> None:
        """Note a failed login from an address, and return when it may be answered."""
        await sleep(self._logins.failure_delay(replace(current().caller, address=address)))

    def note_login(self, caller: Caller) -> None:
        """Note that a client has logged in, which each of its requests may do."""
        self._logins.succeeded(caller)

    def _caller(self, headers: Headers, scope: Scope) -> Caller:
        """Return the caller of a request; without a user if it has no token, as those of `admit_sessions`."""
        endpoint = Endpoint.CONSOLE if self._is_own(scope["path"]) else Endpoint.HTTP
        identity = self.identity_of_request(headers)
        user = "" if identity is None else identity.user
        token = shown_token(user, _bearer(headers) or "")
        return Caller(user, endpoint, _address(scope), token, headers.get("user-agent", ""), identity)

    def _note_use(self, headers: Headers, caller: Caller) -> None:
        """Note the use of a user's token if that is due, without waiting for the store."""
        token = _bearer(headers)
        if caller.user:
            self.note_login(caller)
        if token is None or self._accounts is None or caller.user in ("", OWNER):
            return
        if self._accounts.is_note_due(token):
            asyncio.get_running_loop().run_in_executor(None, self._accounts.note_use, token)

    def _is_open(self, path: str) -> bool:
        return path in self._open_paths or self._is_own(path)

    def _is_own(self, path: str) -> bool:
        return self._own_prefix is not None and path.startswith(self._own_prefix)


def _bearer(headers: Headers) -> str | None:
    """Return the token of a request; None without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.casefold() == "bearer" else None


def _address(scope: Scope) -> str:
    """Return the IP address of the client; empty for a text that a proxy on this machine sends in its place."""
    host = str((scope.get("client") or ("",))[0])
    try:
        return str(ip_address(host))
    except ValueError:
        return ""


def _unclear_length(headers: Headers) -> Response | None:
    """Return the refusal of a request with two lengths, otherwise None.

    A proxy that uses the other length would read another request from the body (request smuggling).
    """
    if "transfer-encoding" not in headers or "content-length" not in headers:
        return None
    message = "The request has both Content-Length and Transfer-Encoding."
    return error_response(StatementError("REQUEST_NOT_READABLE", message).report(), 400, {"Connection": "close"})


def without_port(host: str) -> str:
    """Return a host name without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
