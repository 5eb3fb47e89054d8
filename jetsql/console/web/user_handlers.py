"""Handlers of requests of users who are logged in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from jetsql.console.web.login_sessions import Login

Handler = Callable[[Request, Login], Awaitable[Response]]
"""A function that answers a request of a user."""


class LoginRequired(Protocol):
    """A function that makes a handler of all requests of one for users; others get the login page."""

    def __call__(self, handler: Handler, /, *, is_use: bool = True) -> Callable[[Request], Awaitable[Response]]: ...
