"""A real Kubernetes with two nodes, and a release of the chart with ten jobs, for all stories: `make test-kubernetes`.

Each story waits first until two engines are ready and the leader has two executors, on two nodes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.engines.chart_jobs import JOBS, ChartJobs, Servers
from tests.support.engines.chart_release import NEXT_IMAGE, S3_SECRET, ChartRelease, s3_values
from tests.support.servers.kafka import running_kafka
from tests.support.servers.object_store import running_object_store
from tests.support.servers.postgres import running_postgres
from tools.kubernetes.cache import NotAvailable
from tools.kubernetes.image import IMAGE, VARIANTS, build_image
from tools.kubernetes.local_cluster import LocalCluster, running_cluster
from tools.kubernetes.programs import are_programs_built
from tools.kubernetes.system_packages import check_cluster_machine


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    try:
        check_cluster_machine()
    except NotAvailable as error:
        pytest.skip(str(error))
    if not are_programs_built():
        pytest.skip("Kubernetes was not built: make test-kubernetes")
    with running_cluster([build_image(), build_image(VARIANTS["iceberg"])]) as cluster:
        cluster.tag_image(IMAGE, NEXT_IMAGE)
        yield cluster


@pytest.fixture(scope="session")
def servers(cluster: LocalCluster) -> Iterator[Servers]:
    """Yield servers on the machine, at its address in the network of the pods."""
    host, clients = str(cluster.addresses.machine), str(cluster.addresses.network)
    with ExitStack() as stack:
        kafka = stack.enter_context(running_kafka(host))
        postgres = stack.enter_context(running_postgres([host], [clients]))
        objects = stack.enter_context(running_object_store(cluster.folder, host))
        yield Servers(host, kafka, postgres, objects)


@pytest.fixture(scope="session")
def installed(cluster: LocalCluster, servers: Servers) -> Iterator[tuple[ChartRelease, ChartJobs]]:
    """Yield a release whose SQL files have created the jobs."""
    values = {
        "store": {"existingSecret": "store"},
        "storage": {"uri": f"s3a://{servers.objects.bucket}/jetsql"},
        "s3": s3_values(servers.objects),
    }
    release = ChartRelease(cluster, "streams", values)
    jobs = ChartJobs(servers, release)
    jobs.prepare()
    release.create_namespace(store={"url": servers.store_url, "password": servers.password}, s3=S3_SECRET)
    release.values["apply"] = {"enabled": True, "files": jobs.files()}
    release.install()
    yield release, jobs
    release.close()


@pytest.fixture
def release(installed: tuple[ChartRelease, ChartJobs]) -> ChartRelease:
    release, _ = installed
    release.spread_engines()
    release.spread_executors()
    release.wait_until(lambda: set(release.runs()) == set(JOBS) and all(release.runs().values()), "a job does not run")
    return release


@pytest.fixture
def jobs(installed: tuple[ChartRelease, ChartJobs], release: ChartRelease) -> ChartJobs:
    """Return the jobs of the release, which all run."""
    return installed[1]
