"""The version that dbt shows."""

from jetsql.version import VERSION

version = VERSION
