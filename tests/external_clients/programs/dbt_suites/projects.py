"""Projects: aliases, caches, comments of queries, documentation, and hooks."""

from dbt.tests.adapter.aliases.test_aliases import BaseAliasErrors, BaseAliases, BaseSameAliasDifferentSchemas
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
)
from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugProfileVariable
from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs,
    BaseHooksRefsOnSeeds,
    BasePrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
)
from dbt.tests.adapter.persist_docs.test_persist_docs import BasePersistDocsAllColumnsMissing
from dbt.tests.adapter.query_comment.test_query_comment import (
    BaseEmptyQueryComments,
    BaseMacroArgsQueryComments,
    BaseMacroInvalidQueryComments,
    BaseMacroQueryComments,
    BaseNullQueryComments,
    BaseQueryComments,
)
from plain_classes import plain

globals().update(
    plain(
        BaseAliasErrors,
        BaseAliases,
        BaseCachingLowercaseModel,
        BaseCachingSelectedSchemaOnly,
        BaseCachingUppercaseModel,
        BaseDebugProfileVariable,
        BaseDuplicateHooksInConfigs,
        BaseEmptyQueryComments,
        BaseHooksRefsOnSeeds,
        BaseMacroArgsQueryComments,
        BaseMacroInvalidQueryComments,
        BaseMacroQueryComments,
        BaseNullQueryComments,
        BasePersistDocsAllColumnsMissing,
        BasePrePostModelHooksOnSeeds,
        BasePrePostModelHooksOnSeedsPlusPrefixed,
        BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace,
        BaseQueryComments,
        BaseSameAliasDifferentSchemas,
    )
)
