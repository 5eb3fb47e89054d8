"""The Java throwables within exceptions of Py4J and PySpark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def throwable_of(error: BaseException) -> Any:
    """Return the Java throwable of an exception of Py4J or PySpark, or None for other exceptions."""
    return getattr(error, "_origin", None) or getattr(error, "java_exception", None)


def causes(throwable: Any) -> Iterator[Any]:
    """Yield a throwable and its causes, the outermost first; nothing for None."""
    while throwable is not None:
        yield throwable
        throwable = throwable.getCause()


def class_name(throwable: Any) -> str:
    """Return the name of a throwable's class, with its package."""
    return str(throwable.getClass().getName())
