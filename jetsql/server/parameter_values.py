"""Check the values of parameter markers in a request, and convert them to the form of `Parameters.java`.

    null, true, 1, 1.5, "text", [1, 2]                       plain: Spark's VOID, BOOLEAN, INT, DOUBLE, STRING, ARRAY
    {"type": "decimal(10,2)", "value": "1.10"}               exactly this type; the value as in the endpoint's rows
    {"type": "array", "value": [...]}                        the same as a plain array
    {"type": "map", "value": [[key, value], ...]}            or an object if the keys are strings
    {"type": "struct", "value": [[name, value], ...]}        or an object

The type of a whole number is INT, BIGINT or DECIMAL(38,0): the first that has room for it. `Parameters.java` makes
literals of the values. They are never inserted into the text of a statement of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jetsql.errors import StatementError
from jetsql.language.body.parameter_markers import check_number

BoundParameters = Mapping[str, Any] | Sequence[Any]
"""Values by name (`:name`) or by position (`?`), in the form of `Parameters.java`."""


def bind_parameters(value: Any, text: str) -> BoundParameters | None:
    """Return the parameters of a request for the statement `text`, or None if there are none.

    Raises StatementError PARAMETER_NOT_READABLE, also for a wrong number of values by position; Spark reports names
    without a value.
    """
    if not value:
        return None
    if isinstance(value, Mapping):
        return {name: _value(value) for name, value in value.items()}
    check_number(len(value), text)
    return [_value(value) for value in value]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case None:
            return _scalar("void", None)
        case bool():
            return _scalar("boolean", "true" if value else "false")
        case int():
            return _scalar(_whole(value), str(value))
        case float():
            return _scalar("double", repr(value))
        case str():
            return _scalar("string", value)
        case list():
            return _array(value)
    if not isinstance(value, Mapping) or set(value) != {"type", "value"} or not isinstance(value["type"], str):
        raise _not_readable('A parameter is neither a plain value nor {"type": ..., "value": ...}.')
    return _typed(value["type"].strip(), value["value"])


def _typed(kind: str, value: Any) -> dict[str, Any]:
    if kind in _CONTAINERS and value is not None:
        return _CONTAINERS[kind](value)
    if kind.startswith(("array<", "map<", "struct<")) and value is not None:
        message = f"A parameter has the type {kind}, which includes the types of its members."
        raise _not_readable(message, "Send only array, map or struct as the type, and a type with each member.")
    match value:
        case None:
            return _scalar("void" if kind in _CONTAINERS else kind, None)
        case bool():
            return _scalar(kind, "true" if value else "false")
        case str() | int() | float():
            return _scalar(kind, str(value))
    raise _not_readable(f"A parameter of the type {kind} is neither a string nor a number.")


def _scalar(kind: str, text: str | None) -> dict[str, Any]:
    return {"type": kind, "value": text}


def _whole(value: int) -> str:
    for kind, bits in (("int", 31), ("bigint", 63)):
        if -(2**bits) <= value < 2**bits:
            return kind
    return "decimal(38,0)"


def _array(value: Any) -> dict[str, Any]:
    if not isinstance(value, list):
        raise _not_readable("A parameter of the type array is not a JSON array.")
    return {"array": [_value(each) for each in value]}


def _map(value: Any) -> dict[str, Any]:
    return {"map": [_value(each) for pair in _pairs("map", value) for each in pair]}


def _struct(value: Any) -> dict[str, Any]:
    members = _pairs("struct", value)
    if not all(isinstance(name, str) for name, _ in members):
        raise _not_readable("The name of a struct's member is not a string.")
    return {"struct": [[name, _value(each)] for name, each in members]}


def _pairs(kind: str, value: Any) -> list[list[Any]]:
    if isinstance(value, Mapping):
        return [[name, each] for name, each in value.items()]
    if isinstance(value, list) and all(isinstance(each, list) and len(each) == 2 for each in value):
        return value
    raise _not_readable(f"A parameter of the type {kind} is neither a list of pairs nor a JSON object.")


_CONTAINERS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {"array": _array, "map": _map, "struct": _struct}


def _not_readable(message: str, hint: str = "") -> StatementError:
    return StatementError("PARAMETER_NOT_READABLE", message, hint=hint)
