"""Spark's types in SQLAlchemy: those that it has not, and all of them from what Spark tells of a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import types
from sqlalchemy.sql import sqltypes, type_api

from jetsql.client.decoding import Struct
from jetsql.output.values import as_text

Convert = Callable[[Any], Any]


class TINYINT(types.Integer):
    __visit_name__ = "TINYINT"


class DOUBLE(types.Float):  # type: ignore[type-arg]
    """Of 64 bits, which SQLAlchemy 1.4 has not."""

    __visit_name__ = "DOUBLE"


class TIMESTAMP(types.DateTime):
    """A point in time: datetimes with an offset."""

    __visit_name__ = "TIMESTAMP"

    def __init__(self) -> None:
        super().__init__(timezone=True)


class TIMESTAMP_NTZ(types.DateTime):
    """The reading of a clock: datetimes without an offset."""

    __visit_name__ = "TIMESTAMP_NTZ"

    def __init__(self) -> None:
        super().__init__(timezone=False)


class VARIANT(types.TypeEngine):  # type: ignore[type-arg]
    """Read as the text of its JSON."""

    __visit_name__ = "VARIANT"


class VOID(types.NullType):
    __visit_name__ = "VOID"


class INTERVAL(type_api.NativeForEmulated, sqltypes._AbstractInterval):
    """A timedelta. units: as Spark writes them; `YEAR TO MONTH` can't be read, only cast to a text."""

    __visit_name__ = "INTERVAL"

    def __init__(self, units: str = "DAY TO SECOND") -> None:
        self.units = units

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> INTERVAL:
        return cls()

    def literal_processor(self, dialect: Any) -> Convert:
        return lambda value: f"INTERVAL '{as_text(value)}' DAY TO SECOND"


class _Nested(types.TypeEngine):  # type: ignore[type-arg]
    """Values are those of the DB-API; where a struct is in them, dictionaries are taken for it too."""

    def bind_processor(self, dialect: Any) -> Convert | None:
        return _to_struct(self)


class ARRAY(_Nested):
    """A list."""

    __visit_name__ = "ARRAY"

    def __init__(self, item_type: Any) -> None:
        self.item_type = types.to_instance(item_type)


class MAP(_Nested):
    """A dictionary."""

    __visit_name__ = "MAP"

    def __init__(self, key_type: Any, value_type: Any) -> None:
        self.key_type = types.to_instance(key_type)
        self.value_type = types.to_instance(value_type)


class STRUCT(_Nested):
    """A tuple that knows the names of its members: `STRUCT(("id", Integer), ("name", String))`."""

    __visit_name__ = "STRUCT"

    def __init__(self, *fields: tuple[str, Any]) -> None:
        self.fields = tuple((name, types.to_instance(kind)) for name, kind in fields)

    def adapt(self, cls: Any, **kw: Any) -> STRUCT:  # type: ignore[override]
        """SQLAlchemy's way of copying types leaves out what is given with a star."""
        return STRUCT(*self.fields)


def _to_struct(kind: Any) -> Convert | None:
    """What makes dictionaries structs, where this type has any."""
    if isinstance(kind, STRUCT):
        return _struct_of(kind)
    if isinstance(kind, ARRAY):
        return _array_of(_to_struct(kind.item_type))
    return _map_of(_to_struct(kind.value_type)) if isinstance(kind, MAP) else None


def _array_of(member: Convert | None) -> Convert | None:
    return member and (lambda value: None if value is None else [member(each) for each in value])


def _map_of(member: Convert | None) -> Convert | None:
    return member and (lambda value: None if value is None else {key: member(each) for key, each in value.items()})


def _struct_of(kind: STRUCT) -> Convert:
    names = [name for name, _ in kind.fields]
    members = [_to_struct(of) or (lambda value: value) for _, of in kind.fields]

    def convert(value: Any) -> Any:
        if value is None:
            return None
        values = [value.get(name) for name in names] if isinstance(value, Mapping) else list(value)
        return Struct(names, [member(each) for member, each in zip(members, values, strict=True)])

    return convert


_SIMPLE: Final[Mapping[str, Callable[[], Any]]] = {
    "tinyint": TINYINT,
    "smallint": types.SMALLINT,
    "int": types.INTEGER,
    "bigint": types.BIGINT,
    "float": types.FLOAT,
    "double": DOUBLE,
    "boolean": types.BOOLEAN,
    "string": types.String,
    "binary": types.LargeBinary,
    "date": types.DATE,
    "time": types.TIME,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
    "variant": VARIANT,
    "void": VOID,
}


def of_json(told: Mapping[str, Any]) -> Any:
    """The type that `DESCRIBE ... AS JSON` tells."""
    name = told["name"]
    match name:
        case "array":
            return ARRAY(of_json(told["element_type"]))
        case "map":
            return MAP(of_json(told["key_type"]), of_json(told["value_type"]))
        case "struct":
            return STRUCT(*((field["name"], of_json(field["type"])) for field in told["fields"]))
        case "decimal":
            return types.DECIMAL(told["precision"], told["scale"])
        case "varchar":
            return types.VARCHAR(told["length"])
        case "char":
            return types.CHAR(told["length"])
        case "interval":
            units = dict.fromkeys(str(told.get(unit, "")).upper() for unit in ("start_unit", "end_unit"))
            return INTERVAL(" TO ".join(unit for unit in units if unit) or "DAY TO SECOND")
    return _SIMPLE.get(name.partition("(")[0], types.NullType)()
