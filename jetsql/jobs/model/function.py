"""Functions in Python that users have created, as the store keeps them: plain frozen classes.

A function belongs to a schema of the catalog `spark_catalog`, as a view does. Its types are SQL as Spark writes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256

from jetsql.errors import StatementError
from jetsql.language.statement import ParameterStyle

CATALOG = "spark_catalog"


@dataclass(frozen=True)
class FunctionColumn:
    """A parameter of a function, or a column that a table function returns."""

    name: str
    type: str
    default: str | None = None  # a SQL expression; None for a required parameter
    comment: str | None = None


@dataclass(frozen=True)
class Function:
    """A function in Python."""

    schema: str
    name: str
    parameters: tuple[FunctionColumn, ...]
    returns: tuple[FunctionColumn, ...]  # the columns of a table function, or one without a name
    returns_table: bool
    source: str
    handler: str | None  # a function or class in the source; None when the source is the function's body
    style: ParameterStyle | None  # the batches that the handler takes; None for a call for each row
    deterministic: bool
    comment: str | None
    created: float  # seconds since the epoch
    owner: str  # the user of the engine's process

    @property
    def qualified_name(self) -> str:
        """Return the name with its schema."""
        return f"{self.schema}.{self.name}"

    @property
    def key(self) -> tuple[str, str]:
        """Return the schema and the name as they are compared: without case."""
        return self.schema.casefold(), self.name.casefold()

    @property
    def parameters_text(self) -> str:
        """Return the parameters in the syntax of CREATE FUNCTION, without comments."""
        return ", ".join(
            f"{each.name} {each.type}{f' DEFAULT {each.default}' if each.default is not None else ''}"
            for each in self.parameters
        )

    @property
    def returns_text(self) -> str:
        """Return the type, or the columns of a table function, in the syntax of CREATE FUNCTION."""
        if not self.returns_table:
            return self.returns[0].type
        return f"TABLE ({', '.join(f'{each.name} {each.type}' for each in self.returns)})"

    @property
    def fingerprint(self) -> str:
        """Return a text that differs for functions that may return different values."""
        meaning = (
            self.parameters_text,
            self.returns_text,
            self.source,
            self.handler,
            self.style.value if self.style else None,
            self.deterministic,
        )
        return sha256(json.dumps(meaning).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class UsedFunction:
    """A function that a job's query calls."""

    name: str  # with its schema
    fingerprint: str


def schema_not_found(schema: str) -> StatementError:
    """Return the error for a function in a schema that does not exist, or that the caller has no right on."""
    message = f"The schema {schema} does not exist."
    return StatementError("INVALID_FUNCTION", message, hint=f"Run CREATE SCHEMA {schema} first.")
