"""The types of Spark that SQLAlchemy does not have, and the conversion of types from Spark's JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import types
from sqlalchemy.sql import sqltypes, type_api

from jetsql.client.decoding import Struct
from jetsql.output.values import as_text

Converter = Callable[[Any], Any]


class TINYINT(types.Integer):
    __visit_name__ = "TINYINT"


class DOUBLE(types.Float):  # type: ignore[type-arg]
    """A float with 64 bits, which SQLAlchemy 1.4 does not have."""

    __visit_name__ = "DOUBLE"


class TIMESTAMP(types.DateTime):
    """A point in time: datetimes with an offset."""

    __visit_name__ = "TIMESTAMP"

    def __init__(self) -> None:
        super().__init__(timezone=True)


class TIMESTAMP_NTZ(types.DateTime):
    """A local date and time: datetimes without an offset."""

    __visit_name__ = "TIMESTAMP_NTZ"

    def __init__(self) -> None:
        super().__init__(timezone=False)


class VARIANT(types.TypeEngine):  # type: ignore[type-arg]
    """A VARIANT, whose values are read as the text of their JSON."""

    __visit_name__ = "VARIANT"


class VOID(types.NullType):
    __visit_name__ = "VOID"


class INTERVAL(type_api.NativeForEmulated, sqltypes._AbstractInterval):
    """An interval, read as a timedelta; `YEAR TO MONTH` has to be cast to a string. units: as Spark writes them."""

    __visit_name__ = "INTERVAL"

    def __init__(self, units: str = "DAY TO SECOND") -> None:
        self.units = units

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> INTERVAL:
        return cls()

    def literal_processor(self, dialect: Any) -> Converter:
        return lambda value: f"INTERVAL '{as_text(value)}' DAY TO SECOND"


class _Nested(types.TypeEngine):  # type: ignore[type-arg]
    """A nested type. Values are those of the DB-API; dictionaries are accepted for structs."""

    def bind_processor(self, dialect: Any) -> Converter | None:
        return _struct_converter(self)


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
    """A tuple with the names of its members: `STRUCT(("id", Integer), ("name", String))`."""

    __visit_name__ = "STRUCT"

    def __init__(self, *fields: tuple[str, Any]) -> None:
        self.fields = tuple((name, types.to_instance(kind)) for name, kind in fields)

    def adapt(self, cls: Any, **kw: Any) -> STRUCT:  # type: ignore[override]
        """Copy the type. SQLAlchemy's own method would omit positional arguments."""
        return STRUCT(*self.fields)


def _struct_converter(kind: Any) -> Converter | None:
    """Return the function that turns dictionaries into structs, or None for a type without structs."""
    if isinstance(kind, STRUCT):
        return _converter_of_struct(kind)
    if isinstance(kind, ARRAY):
        return _array_converter(_struct_converter(kind.item_type))
    return _map_converter(_struct_converter(kind.value_type)) if isinstance(kind, MAP) else None


def _array_converter(member: Converter | None) -> Converter | None:
    return member and (lambda value: None if value is None else [member(each) for each in value])


def _map_converter(member: Converter | None) -> Converter | None:
    return member and (lambda value: None if value is None else {key: member(each) for key, each in value.items()})


def _converter_of_struct(kind: STRUCT) -> Converter:
    names = [name for name, _ in kind.fields]
    members = [_struct_converter(member_type) or (lambda value: value) for _, member_type in kind.fields]

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


def type_from_json(described: Mapping[str, Any]) -> Any:
    """Return the type that `DESCRIBE ... AS JSON` describes."""
    name = described["name"]
    match name:
        case "array":
            return ARRAY(type_from_json(described["element_type"]))
        case "map":
            return MAP(type_from_json(described["key_type"]), type_from_json(described["value_type"]))
        case "struct":
            return STRUCT(*((field["name"], type_from_json(field["type"])) for field in described["fields"]))
        case "decimal":
            return types.DECIMAL(described["precision"], described["scale"])
        case "varchar":
            return types.VARCHAR(described["length"])
        case "char":
            return types.CHAR(described["length"])
        case "interval":
            units = dict.fromkeys(str(described.get(unit, "")).upper() for unit in ("start_unit", "end_unit"))
            return INTERVAL(" TO ".join(unit for unit in units if unit) or "DAY TO SECOND")
    return _SIMPLE.get(name.partition("(")[0], types.NullType)()
