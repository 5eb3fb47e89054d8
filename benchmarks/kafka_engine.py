"""The engine process that `benchmarks.kafka recovery` kills: it opens a home and runs statements.

python -m benchmarks.kafka_engine HOME MASTER MEMORY [STATEMENT ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

import jetsql


def main(home: str, master: str, memory: str, *statements: str) -> None:
    with jetsql.open(home=Path(home), master=master, conf={"spark.driver.memory": memory}) as engine:
        for statement in statements:
            list(engine.run(statement).rows)
        print("READY", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
