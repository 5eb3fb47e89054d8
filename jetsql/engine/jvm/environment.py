"""Set environment variables for a while, and the path on which Spark's Python processes find modules."""

from __future__ import annotations

import os
import sys
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


@contextmanager
def set_module_path() -> Iterator[None]:
    """Set, during the context, where the Python processes that Spark starts search modules.

    Spark starts them with `-m`, which puts the current folder first. They search it only if this program does, because
    a module of a stranger there could take the place of an installed one. An empty entry of PYTHONPATH would mean the
    current folder as well.
    """
    entries = [os.path.abspath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    safe = os.environ.get("PYTHONSAFEPATH") if _searches_current_folder() else "1"
    with set_variable("PYTHONPATH", os.pathsep.join(entries) or None), set_variable("PYTHONSAFEPATH", safe):
        yield


def _searches_current_folder() -> bool:
    """Return whether this program imports modules from the current folder."""
    return "" in sys.path or os.getcwd() in sys.path


def _assign(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
