"""Set environment variables for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def set_variable(name: str, value: str | None) -> Iterator[None]:
    """Set an environment variable during the context and restore it afterwards. value: None removes the variable."""
    previous = os.environ.get(name)
    _assign(name, value)
    try:
        yield
    finally:
        _assign(name, previous)


def _assign(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
