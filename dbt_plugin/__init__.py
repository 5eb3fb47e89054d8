"""The module `dbt.adapters.jetsql`: dbt imports the adapter of profiles with `type: jetsql` by this name."""

from jetsql.dbt_adapter.plugin import Plugin as Plugin
