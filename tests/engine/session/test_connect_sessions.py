"""Spark Connect: silent connections are closed, and a client cannot reach the operations of other sessions."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
import zstandard
from grpc import Compression, RpcError, insecure_channel
from pyspark.errors import PySparkException
from pyspark.sql.connect.client import SparkConnectClient
from pyspark.sql.connect.conf import RuntimeConf
from pyspark.sql.connect.plan import SQL
from pyspark.sql.connect.proto import base_pb2 as proto
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.settings.engine_settings import EndpointSettings
from tests.conftest import until
from tests.support.servers.strangers import half_open

pytestmark = pytest.mark.spark

TOKEN = "sesame"
LARGEST = 128 * 1024 * 1024
UNREAD = "SELECT id, repeat('x', 1000) FROM range(20000)"
ENDLESS = "SELECT sum(id % 7) FROM range(0, 1000000000000, 1, 1)"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
HALF_A_HEAD = b"\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82"  # HEADERS of stream 1, which CONTINUATION should end
BEGINNINGS = [b"", PREFACE[:9], PREFACE, PREFACE + SETTINGS, PREFACE + SETTINGS + HALF_A_HEAD]


@pytest.fixture(scope="module")
def address(engine: EngineInstance) -> Iterator[str]:
    with engine.open_endpoints(EndpointSettings(), TOKEN) as addresses:
        yield addresses.connect


def opened(address: str, user: str = "me", session: str = "") -> SparkConnectClient:
    named = f";session_id={session}" if session else ""
    return SparkConnectClient(f"{address}/;token={TOKEN};user_id={user}{named}")


def value(client: SparkConnectClient, text: str) -> object:
    """Return the only value of the only row."""
    rows, _ = client.to_table(SQL(text).to_proto(client), {})[:2]
    return rows.column(0)[0].as_py()


def test_1500_half_open_connections_do_not_lock_out_a_client(address: str) -> None:
    port = int(address.rpartition(":")[2])
    with half_open(port, 1500, *BEGINNINGS), closing(opened(address)) as client:
        assert value(client, "SELECT 'honest'") == "honest"


def test_misspelled_settings_are_refused(address: str) -> None:
    name, meant = "spark.sql.shuffle.partition", "spark.sql.shuffle.partitions"
    with closing(opened(address)) as client:
        conf = RuntimeConf(client)
        with pytest.raises(PySparkException, match=f"UNKNOWN_OPTION.*Did you mean '{meant}'"):
            conf.set(name, "3")
        conf.set(meant, "3")
        conf.set("my.variable", "3")
        assert conf.get(name, "none") == "none"
        assert value(client, "SELECT 1") == 1 and conf.get(meant) == "3"
        with pytest.warns(UserWarning, match=f"Did you mean '{meant}'"):  # as `SparkSession.builder.config` does
            conf._set_all({name: "3", meant: "4"}, silent=True)
        assert conf.get(meant) == "4"


@contextmanager
def running(client: SparkConnectClient, tag: str) -> Iterator[list[str]]:
    """Run a statement that does not end by itself. Gives the conditions that it failed with."""
    failed: list[str] = []

    def run() -> None:
        client.add_tag(tag)
        with pytest.raises(PySparkException) as error:
            value(client, ENDLESS)
        failed.append(str(error.value.getCondition()))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield failed
    finally:
        until(lambda: bool(client.interrupt_all()) or not thread.is_alive())
        thread.join(60)


def test_another_session_cannot_reach_an_operation(engine: EngineInstance, address: str) -> None:
    with closing(opened(address)) as owner, closing(opened(address)) as other:
        with running(owner, "nightly") as failed:
            until(lambda: bool(tagged_jobs(engine)))
            assert not other.interrupt_tag("nightly")
            assert not other.interrupt_all()
            for tag in tagged_jobs(engine):
                assert not other.interrupt_tag(tag)
            ids = operations(engine)
            assert ids and not any(other.interrupt_operation(operation) for operation in ids)
            for operation in ids:
                assert "INVALID_HANDLE.OPERATION_NOT_FOUND" in reattached(other, operation)
                assert release(other, operation) == ""
            assert failed == []
        assert failed == ["OPERATION_CANCELED"]


def reattached(client: SparkConnectClient, operation: str) -> str:
    """Return the error that a client gets which asks for the results of an operation."""
    request = proto.ReattachExecuteRequest(session_id=client._session_id, operation_id=operation)
    request.user_context.user_id = client._user_id or ""
    with pytest.raises(RpcError) as caught:
        next(client._stub.ReattachExecute(request, metadata=client._builder.metadata()))
    return str(caught.value)


def release(client: SparkConnectClient, operation: str) -> str:
    """Ask the engine to end an operation and to forget its results. Return the id of the operation that it released."""
    request = proto.ReleaseExecuteRequest(session_id=client._session_id, operation_id=operation)
    request.user_context.user_id = client._user_id or ""
    request.release_all.SetInParent()
    return str(client._stub.ReleaseExecute(request, metadata=client._builder.metadata()).operation_id)


def operations(engine: EngineInstance) -> list[str]:
    """Return the ids of the running operations, as they appear in the tags of Spark's jobs."""
    return [tag.rpartition("_Operation_")[2] for tag in tagged_jobs(engine) if "_Operation_" in tag]


def tagged_jobs(engine: EngineInstance) -> list[str]:
    """Return the tags of Spark's running jobs."""
    java = engine.spark.sparkContext._jsc.sc()
    jobs = java.statusStore().jobsList(None)
    tags = [tag for job in jobs_of(jobs) if str(job.status()) == "RUNNING" for tag in jobs_of(job.jobTags())]
    return [str(tag) for tag in tags]


def jobs_of(sequence: Any) -> list[Any]:
    each = sequence.iterator()
    found = []
    while each.hasNext():
        found.append(each.next())
    return found


def test_sessions_are_identified_by_user_and_id(address: str) -> None:
    """Require the id and the user name, as docs/reference/security.md says; the id alone is not enough."""
    session = str(uuid.uuid4())
    with closing(opened(address, "ann", session)) as ann, closing(opened(address, "bob", session)) as bob:
        ann.execute_command(SQL("CREATE TEMPORARY VIEW mine AS SELECT 1").command(ann))
        with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
            value(bob, "SELECT * FROM mine")
        with closing(opened(address, "ann", session)) as again:
            assert value(again, "SELECT * FROM mine") == 1


def test_unread_rows_do_not_delay_other_clients(engine: EngineInstance, address: str) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(opened(address))) for _ in range(8)]
        streams = []
        for reader in readers:
            request = reader._execute_plan_request_with_metadata()
            request.plan.CopyFrom(SQL(UNREAD).to_proto(reader))
            streams.append(reader._stub.ExecutePlan(request, metadata=reader._builder.metadata()))
            next(streams[-1])  # the beginning of the response
        with closing(opened(address)) as other:
            assert value(other, "SELECT 'honest'") == "honest"
        until(lambda: engine.spark.sparkContext.statusTracker().getActiveJobsIds() == [])
        with closing(opened(address)) as other:
            assert value(other, "SELECT 'honest'") == "honest"


@pytest.mark.parametrize(
    ("codec", "token", "status"),
    [
        ("gzip", TOKEN, "UNKNOWN"),  # gRPC reports no reason when the server ends a request while it reads it
        ("gzip", "wrong", "UNAUTHENTICATED"),
        ("zstd", TOKEN, "PLAN_SIZE_LARGER_THAN_MAX"),
        ("zstd", "wrong", "UNAUTHENTICATED"),
    ],
)
def test_a_compressed_request_is_not_expanded_beyond_the_limit(
    address: str, codec: str, token: str, status: str
) -> None:
    """Send some kilobytes that could become gigabytes in the engine's heap."""
    plan = proto.Plan()
    plan.root.sql.query = f"SELECT 1{' ' * LARGEST}"
    if codec == "zstd":
        packed = zstandard.compress(plan.root.SerializeToString())
        kind = proto.Plan.CompressedOperation.OpType.OP_TYPE_RELATION
        operation = proto.Plan.CompressedOperation(
            data=packed, op_type=kind, compression_codec=proto.COMPRESSION_CODEC_ZSTD
        )
        plan = proto.Plan(compressed_operation=operation)
    request = proto.ExecutePlanRequest(session_id=str(uuid.uuid4()), plan=plan)
    metadata = [("authorization", f"Bearer {token}")]
    with insecure_channel(address.removeprefix("sc://"), [("grpc.max_send_message_length", -1)]) as channel:
        stub = SparkConnectServiceStub(channel)
        with pytest.raises(RpcError, match=status):
            next(stub.ExecutePlan(request, metadata=metadata, compression=Compression.Gzip))
    with closing(opened(address)) as client:
        assert value(client, "SELECT 'honest'") == "honest"
