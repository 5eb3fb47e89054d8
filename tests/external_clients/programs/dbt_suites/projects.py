"""Projects: aliases, caches, comments of queries, documentation, and hooks."""

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentDatabases,
    BaseSameAliasDifferentSchemas,
)
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugProfileVariable
from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs,
    BaseHooksRefsOnSeeds,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks
from dbt.tests.adapter.persist_docs.test_persist_docs import BasePersistDocsAllColumnsMissing
from dbt.tests.adapter.query_comment.test_query_comment import (
    BaseEmptyQueryComments,
    BaseMacroArgsQueryComments,
    BaseMacroInvalidQueryComments,
    BaseMacroQueryComments,
    BaseNullQueryComments,
    BaseQueryComments,
)
from dbt.tests.util import run_dbt
from plain_classes import plain

globals().update(
    plain(
        BaseAfterRunHooks,
        BaseAliasErrors,
        BaseDebugProfileVariable,
        BaseDuplicateHooksInConfigs,
        BaseEmptyQueryComments,
        BaseHooksRefsOnSeeds,
        BaseMacroArgsQueryComments,
        BaseMacroInvalidQueryComments,
        BaseMacroQueryComments,
        BaseNullQueryComments,
        BasePersistDocsAllColumnsMissing,
        BaseQueryComments,
    )
)


def run_and_inspect_cache(self, project, run_args=None):
    """Check the cache twice. Spark has no databases above its schemas, which the suite compares."""
    found = []
    for _ in range(2):
        run_dbt(run_args)
        [relation] = project.adapter.cache.relations
        assert relation.schema == project.test_schema
        found.append(relation.identifier.lower())
    assert found[0] == found[1]


globals().update(
    plain(
        BaseCachingLowercaseModel,
        BaseCachingSelectedSchemaOnly,
        BaseCachingUppercaseModel,
        BaseNoPopulateCache,
        run_and_inspect_cache=run_and_inspect_cache,
    )
)


ALIAS_MACROS = {
    "cast.sql": fixtures.MACROS__CAST_SQL.replace("::text", ""),
    "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL,
}

globals().update(
    plain(
        BaseAliases,
        BaseSameAliasDifferentDatabases,
        BaseSameAliasDifferentSchemas,
        macros=pytest.fixture(scope="class")(lambda self: ALIAS_MACROS),
    )
)
