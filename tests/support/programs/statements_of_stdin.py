"""Run the statements of the lines of stdin on an engine of this process, which a fail point may kill.

    python -m tests.support.programs.statements_of_stdin HOME

Each line of output is JSON: the rows of the statement, or {"condition", "message"} of its error.
"""

from __future__ import annotations

import json
import sys

import jetsql
from jetsql.embedded.engine_instance import EngineInstance
from tests.support.engines.spark_conf import CONF


def answer(engine: EngineInstance, text: str) -> object:
    try:
        return [list(row) for row in engine.run(text).rows]
    except Exception as error:
        report = engine.error(error, text)
        return {"condition": report.condition, "message": report.message}


if __name__ == "__main__":
    with jetsql.open(home=sys.argv[1], master="local[2]", conf=CONF) as engine:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(answer(engine, line.strip()), default=str) + "\n")
            sys.stdout.flush()
