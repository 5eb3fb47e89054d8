"""The plugin of SQLAlchemy's suite, and a replacement for a feature that the suite requires and Spark does not have."""

import re
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.dialects import registry
from sqlalchemy.engine import Engine

for name in ("jetsql", "jetsql.http"):
    registry.register(name, "jetsql.client.sqlalchemy", "JetSQLDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def _empty(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> Any:
    """Between tests the suite empties tables with DELETE, which file tables don't have."""
    return re.sub(r"^DELETE FROM (\S+)$", r"TRUNCATE TABLE \1", statement), parameters
