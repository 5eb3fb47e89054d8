"""Seeds: types, delimiters, byte order marks, schemas of their own, and full refreshes."""

from dbt.tests.adapter.empty.test_empty import BaseTestEmptySeedFlag
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
from plain_classes import plain

globals().update(
    plain(
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
        BaseTestEmptySeedFlag,
    )
)
