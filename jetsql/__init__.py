"""JetSQL: streaming jobs on Apache Spark with SQL alone.

    import jetsql

    with jetsql.open(home="my-home") as engine:        # starts Spark
        engine.run("CREATE JOB copy AS INSERT INTO sink SELECT * FROM STREAM source")

    jetsql.enable(spark)                                # or: add the statements to an existing session
    spark.sql("SHOW JOBS").show()

    with jetsql.connect(home="my-home") as connection:  # PEP 249, to an engine in a process of its own
        connection.cursor().execute("SHOW JOBS").fetchall()

The import is cheap: PySpark and other large packages are imported when an engine starts.
Without the extra `engine`, only `connect` works; the other functions raise EngineError ENGINE_NOT_INSTALLED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jetsql.errors import EngineError, JetSQLError, StatementError
from jetsql.version import VERSION as __version__

if TYPE_CHECKING:
    from jetsql.client.dbapi import connect
    from jetsql.embedded.engine_instance import EngineInstance
    from jetsql.embedded.open_engine import enable, open

__all__ = ["EngineError", "EngineInstance", "JetSQLError", "StatementError", "__version__", "connect", "enable", "open"]


def __getattr__(name: str) -> Any:
    if name in ("EngineInstance", "enable", "open"):
        from jetsql.installation import engine_missing, has_engine

        if not has_engine():
            raise engine_missing("run an engine in this process")
        from jetsql.embedded import open_engine

        return getattr(open_engine, name)
    if name == "connect":
        from jetsql.client.dbapi import connect

        return connect
    if name in ("load_ipython_extension", "unload_ipython_extension"):  # IPython calls them: %load_ext jetsql
        from jetsql.notebook import magics

        return magics.load if name == "load_ipython_extension" else magics.unload
    raise AttributeError(f"module 'jetsql' has no attribute {name!r}")
