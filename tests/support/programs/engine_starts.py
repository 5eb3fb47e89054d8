"""Start engines without Spark, and write `leader` or `standby` for each, then `leader` when a standby leads.

Each line of the input is the JSON of a home and the URL of its store; the next line stops the leader.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from jetsql.embedded.engine_process import ServiceHooks, _Service
from jetsql.home.home_lock import make_home
from jetsql.home.storage import Storage
from jetsql.jobs.store.postgresql.store_schema import StoreSchema
from jetsql.jobs.store.store_choice import open_database, prepare_database
from jetsql.settings.engine_settings import Settings

SECRET = "secret:env:STORE_PASSWORD"


def write_role(role: str) -> None:
    sys.stdout.write(f"{role}\n")
    sys.stdout.flush()


def fail(*arguments: Any) -> Any:
    raise AssertionError("an engine that is not open does not restart")


def run(home: Path, url: str) -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        service = _Service(Settings(home), ServiceHooks(fail, fail, fail), stop, listening)
        database = prepare_database(home, url, SECRET)
        assert isinstance(database, StoreSchema)
        database.announce(service.address)
        store = service.open_unless_led(home, database)
        if store is None:
            write_role("standby")
            assert database.lease.wait(stop)
            store = open_database(home, database)
        store.publish(Storage("file:/shared", "the id of a storage"))
        write_role("leader")
        sys.stdin.readline()
        store.close()


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        home, url = json.loads(line)
        run(make_home(Path(home)), url)


if __name__ == "__main__":
    main()
