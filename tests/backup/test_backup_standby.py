"""The backup of engines that share a store: `jetsql backup` refuses it, and the documented way restores both."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import until
from tests.stories.test_standby import add, copy_files, ids, make_pair
from tests.support.servers.postgres import Postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
SCHEMA = "backed_up"


def test_a_leader_with_a_standby(postgres: Postgres, tmp_path: Path) -> None:
    backup, dump, copy, source = (tmp_path / name for name in ("backup", "store.dump", "copy", "src"))
    with make_pair(postgres, tmp_path, SCHEMA) as (first, second):
        first("start")
        second("start")
        copy_files(first, source)
        add(source, 1)
        until(lambda: ids(first) == [1])
        for engine, words in ((first, "the catalogue of"), (second, "This engine is a standby of the leader at")):
            shown = engine("backup", str(backup), code=3)
            assert words in shown and shown.count("[JETSQL.") == 1, shown
        assert not list(tmp_path.glob("backup*"))

        second("stop")
        first("stop")
        postgres.dump(SCHEMA, dump)
        shutil.copytree(tmp_path / "shared", copy)
        first("start")
        add(source, 2)
        until(lambda: ids(first) == [1, 2])
        first("stop")

        postgres(f"DROP SCHEMA {SCHEMA} CASCADE")
        postgres.restore(dump)
        shutil.rmtree(tmp_path / "shared")
        copy.rename(tmp_path / "shared")
        first("start")
        second("start")
        assert (first.role, second.role) == ("leader", "standby")
        until(lambda: ids(first) == [1, 2])  # the second file is read again
        first.kill()
        add(source, 3)
        until(lambda: second.role == "leader")
        until(lambda: ids(second) == [1, 2, 3])
