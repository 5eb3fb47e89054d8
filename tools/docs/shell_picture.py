"""Record a session of the shell and draw its screen: `python -m tools.docs.shell_picture`.

It starts an engine in a home of its own, which takes some seconds, so this is done by hand when the shell has changed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.screens.shell_terminal import JETSQL, environment, open_terminal
from tools.docs.screen_picture import draw

PICTURE: Final = Path(__file__).parents[2] / "docs" / "assets" / "shell.svg"
_TITLE: Final = "A session in the shell: a job is created, shown and suspended"
_TABLES: Final = """
CREATE TABLE orders (id INT, customer STRING, amount DECIMAL(10,2)) USING json;
CREATE TABLE big_orders (id INT, customer STRING, amount DECIMAL(10,2)) USING parquet;
INSERT INTO orders VALUES (1, 'Ada', 20.00), (2, 'Grace', 350.50), (3, 'Edsger', 990.00);
"""
_SESSION: Final = (
    (
        "CREATE JOB big_orders OPTIONS ('snapshotIntervalMillis' = '1000')\n"
        "AS INSERT INTO big_orders SELECT * FROM STREAM orders WHERE amount > 100;",
        "1 row in",
    ),
    ("SELECT * FROM big_orders ORDER BY amount DESC;", "2 rows in"),
    ("SHOW JOBS;", "1 row in"),
    ("SUSPEND JOB big_order;", "Did you mean"),
    ("SUSPEND JOB big_orders;", "1 row in"),
)


def record() -> str:
    """Return the picture of the session's screen."""
    with tempfile.TemporaryDirectory(prefix="jetsql-picture-") as name:
        environ = {
            **environment(Path(name)),
            "JETSQL_MASTER": "local[2]",
            "JETSQL_DRIVER_MEMORY": "1g",
            "JETSQL_SHELL_TIMING": "true",
        }
        try:
            _jetsql(environ, "-e", _TABLES)
            with open_terminal(environ, program=JETSQL, columns=118, lines=34, seconds=120.0) as shell:
                shell.wait_for("default>")
                for text, end in _SESSION:
                    before = shell.screen.count(end)
                    shell.press(f"\x1b[200~{text}\x1b[201~\r")
                    shell.wait_for(end, before + 1)
                    shell.wait_for("default>", shell.screen.count("default>"))
                shell.wait_for("suspended")
                return draw(shell.terminal, _TITLE)
        finally:
            _jetsql(environ, "stop")


def _jetsql(environ: Mapping[str, str], *arguments: str) -> None:
    subprocess.run((sys.executable, "-m", "jetsql", *arguments), env=dict(environ), check=True, cwd=os.getcwd())


if __name__ == "__main__":
    PICTURE.write_text(record(), encoding="utf-8")
