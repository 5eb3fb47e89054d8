"""The plugin that dbt loads: the adapter, its credentials, and the folder of its macros."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dbt.adapters.base import AdapterPlugin

from jetsql.dbt_adapter.credentials import JetSQLCredentials
from jetsql.dbt_adapter.spark_adapter import JetSQLAdapter

Plugin: Final = AdapterPlugin(
    adapter=JetSQLAdapter,
    credentials=JetSQLCredentials,
    include_path=str(Path(__file__).parent / "project"),
    dependencies=["spark"],
    project_name="dbt_jetsql",  # of its dbt_project.yml
)
