"""The decoding of values: the client reads every value that the engine writes, of every type and depth."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from jetsql.client.decoding import Struct, create_decoder, parse_line
from jetsql.jobs.audit.audit_log import NO_AUDIT
from jetsql.output.values import as_json
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from jetsql.server.statement_rows import StatementRows
from jetsql.server.wire import lines
from tests.support.hypothesis_profiles import examples


@dataclass(frozen=True)
class Type:
    """A type of Spark. structure: its JSON form. values: as PySpark has them."""

    structure: Any
    values: SearchStrategy[Any]
    key: bool = True

    @property
    def kind(self) -> str:
        """Return the name of the type in a response."""
        names = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
        return "nested" if isinstance(self.structure, dict) else names.get(self.structure, self.structure)


def row(names: list[str], values: tuple[Any, ...]) -> Struct:
    """Return a row as PySpark's `Row`."""
    return Struct(names, values)


OFFSETS = st.timedeltas(timedelta(hours=-18), timedelta(hours=18)).map(
    lambda span: timezone(timedelta(seconds=int(span.total_seconds())))
)
FLOATS = st.floats(width=32)
SPAN = timedelta(days=106_751_991)
SIMPLE = [
    Type("byte", st.integers(-128, 127)),
    Type("short", st.integers(-(2**15), 2**15 - 1)),
    Type("integer", st.integers(-(2**31), 2**31 - 1)),
    Type("long", st.integers(-(2**63), 2**63 - 1)),
    Type("float", FLOATS),
    Type("double", st.floats()),
    Type("decimal(38,18)", st.decimals(-(10**19), 10**19, places=18)),
    Type("decimal(38,0)", st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal)),
    Type("boolean", st.booleans()),
    Type("string", st.text()),
    Type("binary", st.binary()),
    Type("date", st.dates()),
    Type("timestamp", st.datetimes(timezones=st.just(UTC) | OFFSETS, allow_imaginary=False)),
    Type("timestamp_ntz", st.datetimes()),
    Type("time(6)", st.times()),
    Type("interval day to second", st.timedeltas(-SPAN, SPAN)),
    Type("void", st.none(), key=False),
]


def array_of(member: Type) -> Type:
    structure = {"type": "array", "elementType": member.structure, "containsNull": True}
    return Type(structure, st.lists(st.none() | member.values, max_size=4), key=False)


def struct_of(members: list[tuple[str, Type]]) -> Type:
    names = [name for name, _ in members]
    fields = [{"name": name, "type": of.structure, "nullable": True, "metadata": {}} for name, of in members]
    values = st.tuples(*(st.none() | of.values for _, of in members)).map(lambda values: row(names, values))
    return Type({"type": "struct", "fields": fields}, values, all(of.key for _, of in members))


def map_of(key: Type, member: Type) -> Type:
    structure = {"type": "map", "keyType": key.structure, "valueType": member.structure, "valueContainsNull": True}
    return Type(structure, st.dictionaries(key.values, st.none() | member.values, max_size=4), key=False)


NAMES = st.text(max_size=3) | st.just("same")
TYPES = st.recursive(
    st.sampled_from(SIMPLE),
    lambda inner: (
        inner.map(array_of)
        | st.lists(st.tuples(NAMES, inner), max_size=4).map(struct_of)
        | st.builds(map_of, inner.filter(lambda kind: kind.key), inner)
    ),
    max_leaves=6,
)


def round_trip(value: Any, kind: Type) -> Any:
    line = f'{{"rows":[[{as_json(value, kind.kind)}]]}}'.encode()
    assert json.loads(line)  # by every language's reader
    [(_, [[written]])] = parse_line(line)
    return create_decoder(kind.kind, kind.structure)(written)


def decoded(value: Any, structure: Any) -> Any:
    """Return a value in a comparable form: a FLOAT by its bits, a timestamp with its offset, all NaN alike."""
    match value:
        case float():
            value = math.nan if math.isnan(value) else value
            return struct.pack("f" if structure == "float" else "d", value)
        case datetime():
            return value.isoformat()
        case dict():
            of_key, of_member = structure["keyType"], structure["valueType"]
            return [(decoded(key, of_key), decoded(member, of_member)) for key, member in value.items()]
        case Struct():
            kinds = [field["type"] for field in structure["fields"]]
            members = [decoded(member, kind) for member, kind in zip(value, kinds, strict=True)]
            return (value.__fields__, members)
        case list():
            return [decoded(member, structure["elementType"]) for member in value]
    return value


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[Type, Any]:
    kind = draw(TYPES)
    return kind, draw(st.none() | kind.values)


@given(typed_values())
@settings(max_examples=examples(500))
def test_every_value_comes_back(typed: tuple[Type, Any]) -> None:
    kind, value = typed
    back = round_trip(value, kind)
    assert decoded(back, kind.structure) == decoded(value, kind.structure)
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (timedelta(days=-1, microseconds=1), '"-0 23:59:59.999999"'),
        (timedelta(days=-3), '"-3 00:00:00"'),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(seconds=3208))), '"0001-01-01T00:00:00+00:53:28"'),
        (Decimal("1E+3"), "1000"),
        (Decimal("0E-18"), "0.000000000000000000"),
        (date(1, 1, 1), '"0001-01-01"'),
        (time(1, 2, 3, 4), '"01:02:03.000004"'),
        (row(["a", "a"], (1, 2)), '{"a":1,"a":2}'),
    ],
)
def test_encoding_of_values(value: object, written: str) -> None:
    assert as_json(value) == written


@pytest.mark.parametrize(("kind", "written"), [("variant", '"[1]"'), ("decimal(3,1)", "1.5"), ("string", '"[1]"')])
def test_column_types_decide_the_encoding_of_a_row(kind: str, written: str) -> None:
    class Variant:
        def __str__(self) -> str:
            return "[1]"

    value = {"variant": Variant(), "decimal(3,1)": Decimal("1.5"), "string": "[1]"}[kind]
    sent = StatementRows(NO_AUDIT.statement(""), 0)
    _, row, _ = b"".join(lines(StatementResult((Column("v", kind),), iter([(value,)])), sent)).decode().splitlines()
    assert row == f'{{"rows":[[{written}]]}}'


def test_a_struct_knows_the_names_of_its_members() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        Struct(["id", "at"], [1]).as_dict()
    value = Struct(["id", "at"], [1, None])
    assert value.as_dict() == {"id": 1, "at": None}
    assert repr(value) == "Struct(id=1, at=None)"
