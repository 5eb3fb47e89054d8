"""Models: views, tables, ephemeral and incremental models, tests and unit tests, on tables of files."""

import re
from pathlib import Path

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
from dbt.tests.adapter.dbt_clone.test_dbt_clone import BaseCloneSameTargetAndState
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
from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsExceptions,
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
    StoreTestFailuresAsProjectLevelEphemeral,
    StoreTestFailuresAsProjectLevelOff,
    StoreTestFailuresAsProjectLevelView,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)
from dbt.tests.adapter.unit_testing import test_quoted_reserved_word_column_names as reserved_words
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)
from dbt.tests.util import check_relations_equal, run_dbt
from plain_classes import plain

globals().update(
    plain(
        BaseAdapterMethod,
        BaseChangeRelationTypeValidator,
        BaseCloneSameTargetAndState,
        BaseConcurrency,
        BaseDropSchemaNamed,
        BaseEmpty,
        BaseEphemeral,
        BaseEphemeralErrorHandling,
        BaseGenericTests,
        BaseIncremental,
        BaseIncrementalNotSchemaChange,
        BaseSampleModeTest,
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
        BaseUnitTestingVarcharFixtureNoTruncation,
        BaseValidateConnection,
        SimpleCopyBase,
        StoreTestFailuresAsExceptions,
        StoreTestFailuresAsGeneric,
        StoreTestFailuresAsInteractions,
        StoreTestFailuresAsProjectLevelEphemeral,
        StoreTestFailuresAsProjectLevelOff,
        StoreTestFailuresAsProjectLevelView,
    )
)


def written_sql(model):
    """Return the statement that dbt has sent for a model: without white space, and without the number of the schema."""
    text = Path("target", "run", "test", "models", f"{model}.sql").read_text(encoding="utf-8")
    return re.sub(r"\s+|\d+", "", text)


class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project):
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        text = written_sql("double_dependent")
        assert text.count("__dbt__cte__baseas(") == text.count("__dbt__cte__base_copyas(") == 1, text


class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project):
        assert len(run_dbt(["run"])) == 2
        text = written_sql("root_view")
        assert ".root_viewaswith__dbt__cte__ephemeral_level_twoas(select*from" in text
        assert text.endswith(
            ".source_table),__dbt__cte__ephemeralas(select*from__dbt__cte__ephemeral_level_two)"
            "select*from__dbt__cte__ephemeral"
        )


class TestIncrementalBadStrategy(BaseIncrementalBadStrategy):
    def test_incremental_invalid_strategy(self, project):
        run_dbt(["seed"])
        [failed] = run_dbt(["run"], expect_pass=False)
        assert "Invalid incremental strategy provided: bad_strategy" in failed.message


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    def test_run_incremental_sync_all_columns(self, project):
        """Spark adds columns to a table of files, and drops none."""
        models = ["--select", "model_a incremental_sync_remove_only"]
        run_dbt(["run", *models])
        _, failed = run_dbt(["run", *models], expect_pass=False)
        assert "DROP COLUMN" in failed.message


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "Syntax error at or near 'limit'"


class TestUnitTestQuotedReservedWordColumnNames(BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": reserved_words.my_model_sql,
            "my_upstream_model.sql": "select 1 as `GROUP`",
            "unit_tests.yml": reserved_words.test_my_model_csv_fixtures_yml,
        }


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
