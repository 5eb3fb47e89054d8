"""Models: views, tables, ephemeral and incremental models, contracts, tests and unit tests, on tables of files."""

import pytest
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import (
    BaseIncremental,
    BaseIncrementalBadStrategy,
    BaseIncrementalNotSchemaChange,
)
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency
from dbt.tests.adapter.constraints.test_constraints import (
    BaseIncrementalConstraintsColumnsEqual,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
)
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneNotPossible
from dbt.tests.adapter.dbt_show.test_dbt_show import BaseShowDoesNotHandleDoubleLimit, BaseShowLimit, BaseShowSqlHeader
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty, BaseTestEmptyInlineSourceRef
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from dbt.tests.adapter.simple_copy.test_simple_copy import SimpleCopyBase
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes
from plain_classes import plain

globals().update(
    plain(
        BaseAdapterMethod,
        BaseChangeRelationTypeValidator,
        BaseCloneNotPossible,
        BaseConcurrency,
        BaseDropSchemaNamed,
        BaseEmpty,
        BaseEphemeral,
        BaseEphemeralErrorHandling,
        BaseEphemeralMulti,
        BaseEphemeralNested,
        BaseGenericTests,
        BaseIncremental,
        BaseIncrementalBadStrategy,
        BaseIncrementalNotSchemaChange,
        BaseIncrementalOnSchemaChange,
        BaseSampleModeTest,
        BaseShowDoesNotHandleDoubleLimit,
        BaseShowLimit,
        BaseShowSqlHeader,
        BaseSimpleMaterializations,
        BaseSingularTests,
        BaseSingularTestsEphemeral,
        BaseStoreTestFailures,
        BaseStoreTestFailuresLimit,
        BaseTableMaterialization,
        BaseTestEmpty,
        BaseTestEmptyInlineSourceRef,
        BaseUnitTestCaseInsensivity,
        BaseUnitTestInvalidInput,
        BaseUnitTestQuotedReservedWordColumnNames,
        BaseValidateConnection,
        SimpleCopyBase,
    )
)


class SparkTypes:
    """The types of Spark, for contracts."""

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
    pass


class TestViewContracts(SparkTypes, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalContracts(SparkTypes, BaseIncrementalConstraintsColumnsEqual):
    pass


class TestUnitTestingTypes(BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self):
        return [
            ["1", "1"],
            ["'1'", "1"],
            ["true", "true"],
            ["date '2020-01-02'", "2020-01-02"],
            ["timestamp '2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["cast('1' as decimal(5, 2))", "1"],
        ]
