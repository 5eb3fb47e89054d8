"""The macros that are written once for all systems, functions and types, and functions of a project."""

import re
from importlib import import_module

import pytest
from dbt.tests.adapter.functions.test_udfs import (
    DeterministicUDF,
    ErrorForUnsupportedType,
    NonDeterministicUDF,
    PythonUDFDefaultArgSupport,
    PythonUDFEntryPointRequired,
    PythonUDFRuntimeVersionRequired,
    PythonUDFSupported,
    PythonUDFVolatilitySupport,
    SqlUDFDefaultArgSupport,
    StableUDF,
    UDFsBasic,
)
from dbt.tests.adapter.utils import fixture_get_intervals_between
from dbt.tests.adapter.utils.data_types import test_type_float, test_type_int
from dbt.tests.adapter.utils.test_get_intervals_between import BaseGetIntervalsBetween
from dbt.tests.adapter.utils.test_timestamps import BaseCurrentTimestamps
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
    "current_timestamp CurrentTimestampAware",
    "date Date",
    "date_spine DateSpine",
    "date_trunc DateTrunc",
    "dateadd DateAdd",
    "datediff DateDiff",
    "equals Equals",
    "escape_single_quotes EscapeSingleQuotesBackslash",
    "except Except",
    "generate_series GenerateSeries",
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
    "source_freshness_custom_info CalculateFreshnessMethod",
    "split_part SplitPart",
    "string_literal StringLiteral",
    "validate_sql ValidateSqlMethod",
)
TYPES = (
    "bigint BigInt",
    "boolean Boolean",
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


def typed_seed(text, column, column_type):
    """Return a fixture with a seed whose column has a type. dbt loads numbers of seeds as BIGINT and DOUBLE."""
    properties = {"name": "expected", "config": {"column_types": {column: column_type}}}
    files = {"expected.csv": text, "expected.yml": {"seeds": [properties]}}
    return pytest.fixture(scope="class")(lambda self: files)


class TestTypeFloat(test_type_float.BaseTypeFloat):
    seeds = typed_seed(test_type_float.seeds__expected_csv, "float_col", "float")


class TestTypeInt(test_type_int.BaseTypeInt):
    seeds = typed_seed(test_type_int.seeds__expected_csv, "int_col", "int")


class TestGetIntervalsBetween(BaseGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self):
        """Return the model with dates that Spark reads."""
        text = fixture_get_intervals_between.models__test_get_intervals_between_sql
        for day in ("01", "12"):
            text = text.replace(f"09/{day}/2023", f"2023-09-{day}")
        return {
            "test_get_intervals_between.sql": text,
            "test_get_intervals_between.yml": fixture_get_intervals_between.models__test_get_intervals_between_yml,
        }


class TestCurrentTimestamps(BaseCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self):
        names = ("current_timestamp", "current_timestamp_in_utc_backcompat", "current_timestamp_backcompat")
        return dict.fromkeys(names, "timestamp")

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return None


def says(volatility):
    """Return a method that checks the volatility in the statement: Spark has two kinds, `[NOT] DETERMINISTIC`."""

    def check_function_volatility(self, sql):
        assert re.findall(r"(?:not )?deterministic", sql) == volatility

    return {"check_function_volatility": check_function_volatility}


globals().update(
    {
        **plain(ErrorForUnsupportedType, PythonUDFEntryPointRequired, PythonUDFRuntimeVersionRequired),
        **plain(PythonUDFSupported, StableUDF, UDFsBasic, **says([])),
        **plain(DeterministicUDF, **says(["deterministic"])),
        **plain(NonDeterministicUDF, PythonUDFVolatilitySupport, **says(["not deterministic"])),
        **plain(PythonUDFDefaultArgSupport, SqlUDFDefaultArgSupport, expect_default_arg_support=True),
    }
)
