"""Seeds: types, delimiters, byte order marks, schemas of their own, and full refreshes."""

import shutil
from pathlib import Path

import pytest
from dbt.tests.adapter.simple_seed import fixtures, test_seed, test_seed_type_override
from dbt.tests.adapter.simple_seed import seeds as csv_files
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedSpecificFormats,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSeedWithWrongDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.util import run_dbt
from plain_classes import plain

globals().update(plain(BaseSimpleSeedEnabledViaConfig, BaseTestEmptySeed))


class SparkTable:
    """The expected table, made by one statement, and with the types of Spark."""

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project):
        _, _, rows = csv_files.seeds__expected_sql.partition("VALUES")
        project.run_sql(
            "create table {schema}.seed_expected as"
            " select seed_id, first_name, email, ip_address, cast(birthday as timestamp) as birthday"
            f" from values {rows.strip().removesuffix(';')} as t (seed_id, first_name, email, ip_address, birthday)"
        )


class ViewStays:
    """A view outlives its table: `DROP TABLE` of Spark has no CASCADE."""

    def _check_relation_end_state(self, run_result, project, exists):
        super()._check_relation_end_state(run_result, project, exists=True)


class TestBasicSeedTests(SparkTable, ViewStays, BaseBasicSeedTests):
    pass


class TestSeedConfigFullRefreshOn(SparkTable, ViewStays, BaseSeedConfigFullRefreshOn):
    pass


class TestSeedConfigFullRefreshOff(SparkTable, BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(SparkTable, BaseSeedCustomSchema):
    pass


class TestSeedWithUniqueDelimiter(SparkTable, BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithWrongDelimiter(SparkTable, BaseSeedWithWrongDelimiter):
    pass


class TestSeedWithEmptyDelimiter(SparkTable, BaseSeedWithEmptyDelimiter):
    pass


class TestSeedParsing(SparkTable, BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(SparkTable, BaseSimpleSeedWithBOM):
    def test_simple_seed(self, project):
        shutil.copy(Path(test_seed.__file__).parent / "seed_bom.csv", Path(project.project_root) / "seeds")
        super().test_simple_seed(project)


class TestSeedSpecificFormats(BaseSeedSpecificFormats):
    """Omit the seed `seed.with.dots`: names of tables in Spark's catalogue have no dots."""

    @pytest.fixture(scope="class")
    def seeds(self, tmp_path_factory):
        big_seed = self._make_big_seed(tmp_path_factory.mktemp("seeds") / "big")
        return {
            "big_seed.csv": big_seed.read_text(encoding="utf-8"),
            "seed_unicode.csv": csv_files.seed__unicode_csv,
        }

    def test_simple_seed(self, project):
        assert len(run_dbt(["seed"])) == 2


class TestSimpleSeedColumnOverride(test_seed_type_override.BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self):
        text = fixtures.properties__schema_yml
        for theirs, ours in (("text", "string"), ("integer", "bigint"), ("timestamp without time zone", "timestamp")):
            text = text.replace(f"type: {theirs}\n", f"type: {ours}\n")
        return {"schema.yml": text}

    @staticmethod
    def seed_enabled_types():
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types():
        return {"seed_id_str": "string", "looks_like_a_bool": "string", "looks_like_a_date": "string"}
