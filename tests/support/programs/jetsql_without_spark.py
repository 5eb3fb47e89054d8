"""The program `jetsql` with engines without Spark, which start in tenths of a second.

JETSQL_TEST_LATE=FILE delays a start until the file exists, before the engine owns its home; JETSQL_TEST_SLOW_START=FILE
does so afterwards. JETSQL_TEST_SPARK_DIES=FILE: Spark ends when the file exists, and JETSQL_TEST_END_REASON is the
reason of its application. JETSQL_TEST_BREAKS: the start fails unexpectedly.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from jetsql import cli  # noqa: E402
from jetsql.client import find_engine  # noqa: E402


def await_file(variable: str) -> None:
    file = os.environ.get(variable)
    while file and not Path(file).exists():
        time.sleep(0.01)


def open_without_spark(settings: Any, service: Any) -> Any:
    from tests.support.engines.managed_engine import open_managed

    if "JETSQL_TEST_BREAKS" in os.environ:
        raise RuntimeError("it breaks")
    engine = open_managed(settings, service)
    engine.end_reason = os.environ.get("JETSQL_TEST_END_REASON")
    await_file("JETSQL_TEST_SLOW_START")
    if "JETSQL_TEST_SPARK_DIES" in os.environ:
        threading.Thread(target=lambda: (await_file("JETSQL_TEST_SPARK_DIES"), engine.dead.set()), daemon=True).start()
    return engine


def serve_without_spark() -> None:
    from jetsql.embedded import engine_process, open_engine
    from jetsql.home.home_lock import HomeLock

    lock = HomeLock

    def lock_late(*arguments: Any, **named: Any) -> Any:
        await_file("JETSQL_TEST_LATE")
        return lock(*arguments, **named)

    vars(engine_process)["HomeLock"] = lock_late
    open_engine.open_service = open_without_spark


if __name__ == "__main__":
    find_engine.PROGRAM = (sys.executable, __file__)
    if "serve" in sys.argv:
        serve_without_spark()
    sys.exit(cli.main())
