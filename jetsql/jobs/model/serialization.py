"""Conversion of frozen dataclasses to JSON and back, by their type hints.

Records outlive a release: unknown keys are ignored, missing ones get the field's default, and a value of another type
is an error. Enums are written as their values, tuples as arrays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


class MalformedRecord(ValueError):
    """A text that is not a record of the requested class."""


def encode(value: object) -> str:
    """Return a dataclass as JSON text."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def decode(kind: type[T], text: str) -> T:
    """Return the dataclass of a JSON text. Raises MalformedRecord."""
    try:
        return cast(T, _typed(kind, json.loads(text)))
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedRecord(f"not a {kind.__name__}: {error}") from error


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _typed(kind: Any, value: object) -> object:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _optional(kind, value)
    if origin is tuple:
        return tuple(_typed(get_args(kind)[0], item) for item in _expect(list, value))
    if origin is Mapping:
        keys, items = get_args(kind)
        return {_typed(keys, key): _typed(items, item) for key, item in _expect(dict, value).items()}
    if is_dataclass(kind):
        return _record(cast(type, kind), _expect(dict, value))
    if issubclass(kind, Enum):
        return kind(value)
    return float(_expect(int, value)) if kind is float and isinstance(value, int) else _expect(kind, value)


def _optional(kind: Any, value: object) -> object:
    (only,) = (option for option in get_args(kind) if option is not NoneType)
    return None if value is None else _typed(only, value)


def _expect(kind: type[T], value: object) -> T:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{value!r} is not of type {kind.__name__}")
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _record(kind: Any, values: dict[str, object]) -> object:
    hints = _hints(kind)
    known = {item.name: _typed(hints[item.name], values[item.name]) for item in fields(kind) if item.name in values}
    missing = [item.name for item in fields(kind) if item.name not in known and _required(item)]
    if missing:
        raise ValueError(f"{kind.__name__} lacks {', '.join(missing)}")
    return kind(**known)


def _required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING
