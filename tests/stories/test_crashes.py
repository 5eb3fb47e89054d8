"""An engine that is killed with -9 during batches continues after a restart: every row is written once.

This is the part that fits into `make test`, with one job into each kind of sink. `python -m benchmarks.faults`
(`make faults`) kills engines at every fail point and prints a table.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.matrix import Matrix
from tests.faults.rounds import EACH_SINK
from tests.support.servers.kafka import Kafka
from tests.support.servers.postgres import Postgres

pytestmark = pytest.mark.spark


def test_no_row_is_lost_or_duplicated(postgres: Postgres, kafka: Kafka, tmp_path: Path) -> None:
    outcome = Matrix(EACH_SINK, tmp_path, postgres, print, kafka).run()
    assert outcome.faults == []
    assert [death.died for death in outcome.deaths] == [True]
    assert outcome.file_polls > 0 and outcome.files > 0 and outcome.polls > 0
