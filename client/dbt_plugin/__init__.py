"""The module `dbt.adapters.jetsql`, in which dbt looks for the adapter of profiles with `type: jetsql`."""

from jetsql.dbt_adapter.plugin import Plugin as Plugin
