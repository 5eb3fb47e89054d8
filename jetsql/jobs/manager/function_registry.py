"""The functions in Python: the store has them, and the engine makes them known to Spark's sessions.

The store is changed first. After a crash in between, the next start registers what the store has.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

from jetsql.errors import StatementError
from jetsql.jobs.lifecycle.runtime import JobFunctions
from jetsql.jobs.model.function import Function

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store


class FunctionRegistry:
    """The functions of one store. Any thread can change them."""

    def __init__(
        self, store: Store, runtime: JobFunctions, submit: Callable[[Callable[[], None]], Future[None]]
    ) -> None:
        """Create it without functions. submit: runs an operation on the only thread that writes to the store."""
        self._store = store
        self._runtime = runtime
        self._submit = submit
        self._functions: dict[tuple[str, str], Function] = {}
        self._changes = Lock()

    def load(self) -> None:
        """Register the functions of the store."""
        for function in self._store.functions():
            self._runtime.register_function(function)
            self._functions[function.key] = function

    def all(self) -> tuple[Function, ...]:
        """Return all functions, by schema and name."""
        return tuple(self._functions[key] for key in sorted(self._functions))

    def get(self, schema: str, name: str) -> Function | None:
        """Return the function with this name, or None."""
        return self._functions.get((schema.casefold(), name.casefold()))

    def add(self, function: Function, replace: bool) -> None:
        """Store and register a function. Raises StatementError FUNCTION_ALREADY_EXISTS unless `replace`."""
        with self._changes:
            existing = self._functions.get(function.key)
            if existing is not None and not replace:
                raise already_exists(existing)
            self._submit(lambda: self._store.save_function(function)).result()
            self._runtime.register_function(function)
            self._functions[function.key] = function

    def remove(self, schema: str, name: str) -> bool:
        """Delete a function, and return whether it existed."""
        with self._changes:
            function = self.get(schema, name)
            if function is None:
                return False
            self._submit(lambda: self._store.remove_function(function)).result()
            self._runtime.forget_function(function.schema, function.name)
            del self._functions[function.key]
            return True


def already_exists(function: Function) -> StatementError:
    """Return the error for a function whose name is taken."""
    return StatementError(
        "FUNCTION_ALREADY_EXISTS",
        f"A function named {function.qualified_name} already exists.",
        hint="Use another name, CREATE OR REPLACE FUNCTION or CREATE FUNCTION IF NOT EXISTS.",
    )
