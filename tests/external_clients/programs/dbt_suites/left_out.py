"""The test classes that are left out, and why. A test checks that each class of the suite runs or is in the table."""

import inspect
from importlib import import_module
from pathlib import Path

import dbt.tests.adapter

MODULES = ("materializations", "contracts", "seeds", "projects", "functions", "delta", "iceberg")

LEFT_OUT = {
    "Spark has no grants: all users of an engine have the rights of the engine's user.": """
        BaseIncrementalGrants BaseInvalidGrants BaseModelGrants BaseSeedGrants BaseSnapshotGrants
        """,
    "JetSQL has no models in Python: a model is a query.": """
        BasePySparkTests BasePythonEmptyTests BasePythonIncrementalTests BasePythonMetaGetTests BasePythonModelTests
        BasePythonSampleTests
        """,
    "Spark has no constraints that are checked in CREATE TABLE AS.": """
        BaseConstraintQuotedColumn BaseConstraintsRollback BaseConstraintsRuntimeDdlEnforcement
        BaseIncrementalConstraintsRollback BaseIncrementalConstraintsRuntimeDdlEnforcement
        BaseIncrementalForeignKeyConstraint BaseModelConstraintsRuntimeEnforcement
        """,
    "Spark runs one statement at a time: a header cannot precede CREATE TABLE.": """
        BaseContractSqlHeader BaseIncrementalContractSqlHeader BaseTableContractSqlHeader
        """,
    "dbt-core has `--empty` for seeds since 1.12, which fetches a part from GitHub while it is installed.": """
        BaseTestEmptySeedFlag
        """,
    "JetSQL has functions in SQL and Python, not in JavaScript, and none that aggregate.": """
        BasicJSAggregateUDF BasicJSUDF BasicPythonUDAF BasicSQLUDAF JSAggregateUDFVolatilityIgnored
        JSUDFDefaultArgSupport JSUDFDeterministicVolatility JSUDFMultiLineBody JSUDFNonDeterministicVolatility
        JSUDFStableVolatilityWarns PythonUDAFDefaultArgSupport UDAFBase
        """,
    "A function imports packages of the engine's environment; CREATE FUNCTION installs none.": """
        PythonUDFWithPackagesSupported
        """,
    "dbt-spark lists relations with SHOW TABLES, which has no functions.": """
        CanFindScalarFunctionRelation
        """,
    "A materialized view of JetSQL has no settings that ALTER changes; jetsql_dbt.py tests its materialization.": """
        MaterializedViewBasic MaterializedViewChanges MaterializedViewChangesApplyMixin
        MaterializedViewChangesContinueMixin MaterializedViewChangesFailMixin
        """,
    "The catalogue of dbt-spark has no comments, and reads whole schemas; jetsql_dbt.py generates docs.": """
        BaseDocsGenReferences BaseDocsGenerate BaseGetCatalogForSingleRelation BasePersistDocs
        BasePersistDocsColumnMissing BasePersistDocsCommentOnQuotedColumn BasePersistDocsQuotedColumnCaseSensitive
        BasePersistDocsQuotedDescriptionNotAppliedOnMismatch CatalogRelationTypes
        """,
    "It expects host, database and user of a profile of PostgreSQL; jetsql_dbt.py runs hooks and `dbt debug`.": """
        BaseDebugInvalidProjectPostgres BaseDebugPostgres BaseHookRefs BasePrePostModelHooks
        BasePrePostModelHooksInConfig BasePrePostModelHooksInConfigKwargs BasePrePostModelHooksInConfigWithCount
        BasePrePostRunHooks
        """,
    "It reads information_schema, or types of PostgreSQL, which Spark does not have.": """
        BasePostgresColumnTypes BaseSimpleCopyUppercase EmptyModelsArentRunBase MetadataWithEmptyFlag
        """,
    "It expects the rows of a table in the order of their insertion, or the time of a row before dbt has run.": """
        BaseSnapshotDbtValidToCurrent BaseSnapshotNewRecordCheckMode
        """,
    "Another class tests Spark's behavior: CurrentTimestampAware, EscapeSingleQuotesBackslash.": """
        BaseCurrentTimestampNaive BaseEscapeSingleQuotesQuote
        """,
    "Its models are no fixtures, so that dbt finds none.": """
        BaseCloneSameSourceAndTarget
        """,
}

# BaseIncrementalUniqueKey runs them with Iceberg. Delta for Spark 4.1 does not find the text of its error.
WITHOUT_MESSAGE_OF_DELTA = ("test__bad_unique_key", "test__bad_unique_key_list")


def suite_classes():
    """Return the classes of the suite that have tests."""
    [folder] = map(Path, dbt.tests.adapter.__path__)
    found = set()
    for file in sorted(folder.rglob("[!_]*.py")):
        name = f"dbt.tests.adapter.{'.'.join(file.relative_to(folder).with_suffix('').parts)}"
        classes = [each for each in vars(import_module(name)).values() if inspect.isclass(each)]
        found |= {each for each in classes if each.__module__ == name and not each.__name__.startswith("Test")}
    return {each for each in found if any(name.startswith("test_") for name in dir(each))}


def classes_that_run():
    """Return the classes of the suite from which those of our modules are derived."""
    here = [each for module in MODULES for each in vars(import_module(module)).items()]
    return {base for name, each in here if name.startswith("Test") for base in each.__mro__}


def test_each_class_runs_or_is_left_out():
    left_out = sorted(name for names in LEFT_OUT.values() for name in names.split())
    assert sorted(each.__name__ for each in suite_classes() - classes_that_run()) == left_out
