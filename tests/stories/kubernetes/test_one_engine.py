"""One engine with a volume, TLS, tables of Delta and Iceberg, and executors that Spark adds and removes."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engines.chart_jobs import Servers
from tests.support.engines.chart_release import LAKE_IMAGE, NAME, OBJECTS, S3_SECRET, USER, ChartRelease, s3_values
from tests.support.servers.certificates import Authority, Files
from tools.kubernetes.local_cluster import LocalCluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
NAMESPACE = "alone"
SERVICE = f"{OBJECTS}.{NAMESPACE}.svc"
IDLE = "".join(
    f'dynamicAllocation.{each} = "5s"\n'
    for each in ("executorIdleTimeout", "cachedExecutorIdleTimeout", "shuffleTracking.timeout")  # Delta caches its logs
)
WRONG_IMAGE = 'kubernetes.container.image = "localhost/none:1"\n'
LAKE = """
delta = true
catalogs.lake = {{type = "iceberg", kind = "hadoop", warehouse = "s3a://{bucket}/{namespace}/lake"}}
"""
KEPT = {"kept": "parquet", "kept_delta": "delta", "lake.db.kept": "iceberg"}
"""The format of each table that a job fills."""
JOB = """
CREATE TABLE {table} (value BIGINT) USING {format};
CREATE JOB kept_in_{format} OPTIONS ('snapshotIntervalMillis' = '2000')
AS INSERT INTO {table} SELECT value FROM STREAM numbers;
"""
SQL = "\n".join(
    (
        "CREATE TABLE numbers (value BIGINT) USING parquet;",
        "CREATE SCHEMA lake.db;",
        *(JOB.format(table=table, format=each) for table, each in KEPT.items()),
    )
)


@pytest.fixture
def alone(cluster: LocalCluster, servers: Servers, tmp_path: Path) -> Iterator[ChartRelease]:
    """Yield a release of one engine, whose endpoint has TLS."""
    certificate = Files(tmp_path / "tls.crt", tmp_path / "tls.key")
    authority = Authority(tmp_path / "authority")
    authority.issue(certificate, [SERVICE, "localhost"])
    release = ChartRelease(
        cluster,
        NAMESPACE,
        {
            "tls": {"existingSecret": "tls"},
            "storage": {"uri": f"s3a://{servers.objects.bucket}/{NAMESPACE}"},
            "s3": s3_values(servers.objects),
            "apply": {"enabled": True, "files": {"jobs.sql": SQL}},
        },
    )
    lake = LAKE.format(bucket=servers.objects.bucket, namespace=NAMESPACE)
    release.values["config"] = lake + release.values["config"] + IDLE
    release.values["image"] |= {"tag": LAKE_IMAGE.rpartition(":")[2]}
    release.values["executors"] |= {"dynamicAllocation": {"enabled": True, "min": 1, "max": 2}}
    tls = {"ca.crt": authority.file.read_text(), **{each.name: each.read_text() for each in vars(certificate).values()}}
    release.create_namespace(tls=tls, s3=S3_SECRET)
    add_volume(cluster)
    yield release
    release.close()
    cluster.kubectl("delete", "persistentvolume", NAMESPACE)


def add_volume(cluster: LocalCluster) -> None:
    """Add a volume to the cluster, a folder of this machine that only the user of the image can enter."""
    folder = cluster.folder / "volume"
    folder.mkdir(mode=0o700)
    shutil.chown(folder, USER, USER)
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": str(folder), "type": "Directory"},
    }
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": NAMESPACE}, "spec": spec})


def test_one_engine_keeps_its_jobs_and_lake_tables(alone: ChartRelease) -> None:
    engine = f"{OBJECTS}-0"

    def run(statement: str) -> list[dict[str, str]]:
        answer = alone.kubectl("exec", engine, "--", "jetsql", "--format=csv", "-e", statement)
        return list(csv.DictReader(answer.splitlines()))

    def executors(status: str) -> list[dict[str, str]]:
        """Return the executors with a status. A SELECT would need one itself."""
        return [row for row in run("SHOW MEMBERS") if (row["status"], row["is_driver"]) == (status, "false")]

    config, apply = alone.values["config"], alone.values["apply"]
    alone.values |= {"config": config + WRONG_IMAGE, "apply": {"enabled": False}}
    alone.install()
    alone.wait_until(lambda: any("ErrImage" in each["reason"] for each in executors("STARTING")), "no reason is shown")
    alone.values |= {"config": config, "apply": apply}
    alone.install()
    assert "kept_in_iceberg" in alone.helm("test", NAME, "--logs")  # over TLS, with the name of the Service

    run("INSERT INTO numbers SELECT id FROM range(0, 100)")
    run("SELECT max(hash(id)) FROM range(0, 4000000000, 1, 16)")
    assert len(executors("ACTIVE")) == 2
    for each in KEPT.values():
        run(f"SUSPEND JOB kept_in_{each}")
    alone.wait_until(lambda: len(executors("ACTIVE")) == 1, "no idle executor was removed")
    for each in KEPT.values():
        run(f"RESUME JOB kept_in_{each}")
    run("INSERT INTO numbers SELECT id FROM range(100, 200)")
    alone.kubectl("delete", "pod", engine, "--grace-period=0", "--force")
    alone.wait_until(lambda: alone.is_ready(engine), "the engine is not ready again")
    alone.wait_until(lambda: {row["status"] for row in run("SHOW JOBS")} == {"RUNNING"}, "a job does not run again")
    for table, each in KEPT.items():
        run(f"WAIT FOR JOB kept_in_{each} UNTIL IDLE TIMEOUT 100 SECONDS")
        [counts] = run(f"SELECT count(*), count(DISTINCT value), max(value) + 1 FROM {table}")
        assert {int(each) for each in counts.values()} == {200}, table
