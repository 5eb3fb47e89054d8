"""uvicorn in an engine's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class Server(uvicorn.Server):
    """A server without signal handlers: the process handles signals, also before the server exists."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
