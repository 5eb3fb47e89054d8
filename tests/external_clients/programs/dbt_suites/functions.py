"""The macros that are written once for all systems: functions and types."""

from importlib import import_module

from plain_classes import plain

FUNCTIONS = (
    "any_value AnyValue",
    "array_append ArrayAppend",
    "array_concat ArrayConcat",
    "array_construct ArrayConstruct",
    "bool_or BoolOr",
    "cast Cast",
    "cast_bool_to_text CastBoolToText",
    "concat Concat",
    "current_timestamp CurrentTimestampNaive",
    "date Date",
    "date_spine DateSpine",
    "date_trunc DateTrunc",
    "dateadd DateAdd",
    "datediff DateDiff",
    "equals Equals",
    "escape_single_quotes EscapeSingleQuotesBackslash",
    "except Except",
    "generate_series GenerateSeries",
    "get_intervals_between GetIntervalsBetween",
    "get_powers_of_two GetPowersOfTwo",
    "hash Hash",
    "intersect Intersect",
    "last_day LastDay",
    "length Length",
    "listagg Listagg",
    "null_compare MixedNullCompare",
    "null_compare NullCompare",
    "position Position",
    "replace Replace",
    "right Right",
    "safe_cast SafeCast",
    "split_part SplitPart",
    "string_literal StringLiteral",
    "validate_sql ValidateSqlMethod",
)
TYPES = (
    "bigint BigInt",
    "boolean Boolean",
    "float Float",
    "int Int",
    "numeric Numeric",
    "string String",
    "timestamp Timestamp",
)

for _line in FUNCTIONS:
    _module, _name = _line.split()
    _base = getattr(import_module(f"dbt.tests.adapter.utils.test_{_module}"), f"Base{_name}")
    globals().update(plain(_base))
for _line in TYPES:
    _module, _name = _line.split()
    _base = getattr(import_module(f"dbt.tests.adapter.utils.data_types.test_type_{_module}"), f"BaseType{_name}")
    globals().update(plain(_base))
