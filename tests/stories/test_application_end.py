"""A standalone master that ends the application of a running engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from jetsql.engine.jvm.environment import set_variable
from tests.support.engines.cluster_engine import ROWS, ClusterEngine
from tools.cluster import Cluster, cluster, kill_family

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]

REMOVED = "Spark's application has ended (Master removed our application: FAILED), and the engine ends with it"


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Cluster]:
    """Yield a cluster with a member, whose master ends an application after one failed executor."""
    (tmp_path / "cluster").mkdir()
    one_failure = set_variable("SPARK_DAEMON_JAVA_OPTS", "-Dspark.deploy.maxExecutorRetries=1")
    with one_failure, cluster(tmp_path / "cluster") as started:
        started.join(cores=2)
        yield started


def kill_executor(spark: Cluster) -> None:
    [executor] = [
        each
        for each in spark.members[0].children(recursive=True)
        if "CoarseGrainedExecutorBackend" in " ".join(each.cmdline())
    ]
    executor.kill()


def test_engine_ends_with_its_application_and_continues(spark: Cluster, tmp_path: Path) -> None:
    engine = ClusterEngine(tmp_path / "home", {"JETSQL_MASTER": spark.url, "JETSQL_CONF": "spark.executor.memory=512m"})
    log = tmp_path / "home" / "engine.log"
    processes: list[psutil.Popen] = []
    try:
        processes.append(engine.serve())
        engine.connect()
        engine.sql(f"CREATE TABLE numbers USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '{ROWS}')")
        engine.keep("kept")
        engine.count("sums")
        engine.wait_for_batches("kept", "sums")
        kill_executor(spark)
        assert processes[0].wait(120) == 3
        assert log.read_text(encoding="utf-8").count(REMOVED) == 1

        processes.append(engine.serve())
        engine.connect()
        engine.wait_for_batches("kept", "sums")
        engine.check_once("kept", "kept")
        engine.check_totals("sums", "sums")
        engine.stop()
        assert processes[1].wait(120) == 0
        text = log.read_text(encoding="utf-8")
        assert text.count("ERROR jetsql.embedded.engine_process") == 1 and text.endswith("Stopped\n")
    finally:
        for process in processes:
            kill_family(process)
