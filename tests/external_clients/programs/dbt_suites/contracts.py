"""Contracts of tables, views and incremental models, with the types of Spark."""

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseIncrementalConstraintsColumnsEqual,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
)


def contract_models(kind=""):
    """Return a fixture with the models of a materialization: columns in another order, and with another name."""
    models = {
        "my_model_wrong_order.sql": getattr(fixtures, f"my_model_{kind}wrong_order_sql"),
        "my_model_wrong_name.sql": getattr(fixtures, f"my_model_{kind}wrong_name_sql"),
        "constraints_schema.yml": fixtures.model_schema_yml.replace("data_type: text", "data_type: string"),
    }
    return pytest.fixture(scope="class")(lambda self: models)


class SparkTypes:
    """The types of Spark."""

    @pytest.fixture
    def string_type(self):
        return "string"

    @pytest.fixture
    def int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self):
        return [
            ["1", "int", "int"],
            ["'1'", "string", "string"],
            ["true", "boolean", "boolean"],
            ["timestamp '2013-11-03 00:00:00'", "timestamp", "timestamp"],
            ["array('a', 'b')", "array<string>", "array<string>"],
            ["named_struct('a', 1)", "struct<a:int>", "struct<a:int>"],
            ["cast('1' as decimal(5, 2))", "decimal(5,2)", "decimal(5,2)"],
        ]


class TestTableContracts(SparkTypes, BaseTableConstraintsColumnsEqual):
    models = contract_models()


class TestViewContracts(SparkTypes, BaseViewConstraintsColumnsEqual):
    models = contract_models("view_")


class TestIncrementalContracts(SparkTypes, BaseIncrementalConstraintsColumnsEqual):
    models = contract_models("incremental_")
