"""Open an engine on each of the given homes in turn, and write their relations and log messages as JSON."""

from __future__ import annotations

import json
import logging
import sys

import jetsql


class _Messages(logging.Handler):
    """A handler that keeps all messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def main() -> None:
    messages = _Messages()
    logging.getLogger("jetsql.engine.session.relation_views").addHandler(messages)
    relations = []
    for home in sys.argv[1:]:
        with jetsql.open(home=home, master="local[1]", conf={"spark.ui.enabled": "false"}) as engine:
            relations.append([row[1] for row in engine.run("SHOW TABLES IN jetsql").rows])
    sys.stdout.write(json.dumps({"relations": relations, "messages": messages.texts}) + "\n")


if __name__ == "__main__":
    main()
