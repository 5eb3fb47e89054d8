"""Run SQLAlchemy's own test suite with an engine, with SQLAlchemy 2 and 1.4: `make test-clients`.

    python -m tests.sqlalchemy_suite [PYTHON ...] [-- PYTEST_ARGUMENT ...]

PYTHON: interpreters whose environments have SQLAlchemy and pytest; by default, this one. The engine runs in this
process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import jetsql
from tests.support.servers.http_server import TOKEN, run_server

HERE = Path(__file__).parent
CONF = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}


def main(arguments: Sequence[str]) -> int:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    pythons, more = arguments[:cut] or [sys.executable], arguments[cut + 1 :]
    with TemporaryDirectory() as home, jetsql.open(home=home, master="local[2]", conf=CONF) as engine:
        list(engine.run("CREATE SCHEMA test_schema").rows)
        with run_server(engine) as server:
            url = server.url.replace("http://", f"jetsql://:{TOKEN.replace(' ', '%20')}@")
            return max([suite(python, url, more) for python in pythons])


def suite(python: str, url: str, more: Sequence[str]) -> int:
    command = [str(Path(python).absolute()), "-m", "pytest", "-c", str(HERE / "setup.cfg"), "--rootdir", str(HERE)]
    options = ["--dburi", url, "-p", "no:cacheprovider", *more]
    environ = {**os.environ, "PYTHONPATH": f"{HERE.parent.parent}:{HERE}"}
    return subprocess.run([*command, str(HERE / "suite.py"), *options], cwd=HERE, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
