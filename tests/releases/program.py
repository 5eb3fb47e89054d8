"""Run an engine on a home of the recorded jobs.

    python -m tests.releases.program make HOME URL                 create the jobs; an armed fail point kills the engine
    python -m tests.releases.program resume HOME URL RECORDED      create the catalog, restore the files, and continue

`resume` adds rows to the source when all existing rows have arrived. It prints as JSON the rows of the tables before
and after that, the status of the jobs, and the damage that `jetsql check` finds before the start and after the end.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import jetsql
from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.session.catalog import Catalog
from tests.faults.leftovers import find_damage
from tests.faults.source import Source
from tests.releases.jobs import JOBS, create, tables
from tests.releases.restoring import restore_files, restore_store
from tests.support.engines.spark_conf import CONF

_READ = {
    "digits": "SELECT * FROM digits",
    "minutes": "SELECT minute(start), n, total FROM minutes",
    "parts": "SELECT * FROM parts",
    "orders": "SELECT * FROM orders",
}


def opened(home: Path) -> EngineInstance:
    return jetsql.open(home=home, master="local[2]", conf=CONF)


def rows(engine: EngineInstance, text: str) -> list[list[object]]:
    return [list(row) for row in engine.run(text).rows]


def make(home: Path, url: str) -> None:
    with opened(home) as engine:
        for text in tables(str(home), url):
            rows(engine, text)
        for name in JOBS:
            rows(engine, create(name))
        threading.Event().wait()


def resume(home: Path, url: str, recorded: Path) -> None:
    with opened(home) as engine:
        for text in tables(str(home), url):
            rows(engine, text)
        restore_files(recorded, home)
        rows(engine, "MSCK REPAIR TABLE parts")
        newest = max((home / "warehouse" / ".digits.versions").iterdir())
        rows(engine, f"ALTER TABLE digits SET LOCATION '{newest}'")
        names = [f"spark_catalog.default.{name}" for name in ("numbers", *JOBS)]
        found = {name: Catalog(engine.spark).table(name) for name in names}
    restore_store(recorded, home, {name: table.created for name, table in found.items() if table is not None})
    report: dict[str, object] = {"damage before": find_damage(home)}
    with opened(home) as engine:
        report |= {"found": _settled(engine), "jobs": rows(engine, "SHOW JOBS")}
        Source(home / "numbers").add(2)
        report["more"] = _settled(engine)
    report["damage after"] = find_damage(home)
    sys.stdout.write(json.dumps(report, default=str))


def _settled(engine: EngineInstance) -> dict[str, list[list[object]]]:
    for name in JOBS:
        rows(engine, f"WAIT FOR JOB {name} UNTIL IDLE TIMEOUT 60")
    return {name: sorted(rows(engine, text), key=str) for name, text in _READ.items()}


if __name__ == "__main__":
    action, *arguments = sys.argv[1:]
    if action == "make":
        make(Path(arguments[0]), arguments[1])
    else:
        resume(Path(arguments[0]), arguments[1], Path(arguments[2]))
