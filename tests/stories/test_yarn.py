"""An engine on a real YARN: Hadoop's own ResourceManager, two NodeManagers, and executors as containers.

The stories share the cluster, the engine and its two jobs. Each first waits until both executors are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import psutil
import pytest

from tests.support.engines.cluster_engine import ROWS, ClusterEngine
from tests.support.servers.ports import NEEDS_SECRET, call_rpc, listeners
from tools.cluster import wait_until
from tools.java.packages import spark_jars
from tools.yarn import Yarn, running_yarn

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]

JOBS = ("kept", "sums")


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    with running_yarn(tmp_path_factory.mktemp("yarn")) as started:
        yield started


@pytest.fixture(scope="module")
def staging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the files that Spark gives to its containers."""
    return tmp_path_factory.mktemp("staging")


@pytest.fixture(scope="module")
def started(yarn: Yarn, staging: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterEngine]:
    """Yield an engine with two jobs, one with state."""
    confs = {
        "spark.executor.instances": "2",
        "spark.executor.memory": "512m",
        "spark.yarn.am.memory": "256m",
        "spark.yarn.jars": f"local:{spark_jars()}",
        "spark.yarn.stagingDir": staging.as_uri(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    variables = {
        "JETSQL_MASTER": "yarn",
        "HADOOP_CONF_DIR": str(yarn.configuration),
        "JETSQL_CONF": " ".join(f"{key}={value}" for key, value in confs.items()),
    }
    engine = ClusterEngine(tmp_path_factory.mktemp("home"), variables)
    engine.start()
    try:
        wait_executors(engine)
        engine.sql(f"CREATE TABLE numbers USING `rate-micro-batch` OPTIONS ('rowsPerBatch' = '{ROWS}')")
        engine.keep("kept")
        engine.count("sums")
        yield engine
    finally:
        engine.stop()


@pytest.fixture
def engine(started: ClusterEngine) -> ClusterEngine:
    wait_executors(started)
    started.wait_for_batches(*JOBS)
    return started


def wait_executors(engine: ClusterEngine) -> None:
    wait_until(lambda: len(engine.members()) == 2, "there are not two executors")


def check_rows(engine: ClusterEngine) -> None:
    """Check that the jobs commit batches, and have written every row once."""
    engine.wait_for_batches(*JOBS)
    engine.check_once("kept", "kept")
    engine.check_totals("sums", "sums")
    for job in JOBS:
        engine.sql(f"RESUME JOB {job}")
        engine.wait_status(job, "RUNNING")


def engine_process(engine: ClusterEngine) -> psutil.Process:
    return psutil.Process(json.loads((engine.home / "engine.json").read_text(encoding="utf-8"))["pid"])


def test_executors_are_containers_on_both_nodes(engine: ClusterEngine, yarn: Yarn) -> None:
    rows = engine.executors()
    assert {row["host"] for row in rows} == set(yarn.nodes)
    for row in rows:
        assert yarn.executor(row["id"]) in yarn.nodes[row["host"]].children(recursive=True)
    check_rows(engine)


def test_no_port_is_open_beyond_loopback(engine: ClusterEngine, yarn: Yarn) -> None:
    processes = [*yarn.processes(), engine_process(engine)]
    ports = [found for process in processes for found in listeners(process)]
    assert len(ports) > len(processes) and all(ip_address(found.address).is_loopback for found in ports)
    for row in engine.executors():
        mine = list(listeners(yarn.executor(row["id"])))
        assert mine and all(NEEDS_SECRET in call_rpc(found.port, found.address) for found in mine)


def test_end_of_the_application_ends_the_engine(engine: ClusterEngine, yarn: Yarn) -> None:
    process = engine_process(engine)
    yarn.kill_applications()
    wait_until(lambda: has_ended(process), "the engine runs without its application")
    log = (engine.home / "engine.log").read_text(encoding="utf-8")
    [reason] = re.findall(r"Spark's application has ended \((.*)\), and the engine ends with it", log)
    assert reason.startswith("YARN application has exited unexpectedly with state KILLED!")
    assert "was killed by user" in reason
    engine.start()
    wait_executors(engine)
    check_rows(engine)


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
