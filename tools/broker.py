"""A Kafka broker for tests, benchmarks and examples: one node in KRaft mode on free ports of loopback.

The broker ends with its context or its process. By hand: `python -m tools.broker`.

The Ivy that ships with Spark downloads its jars from Maven Central into Ivy's cache in the home directory, in the same
way as Spark's packages. The broker does not create topics automatically, as is usual in production.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyspark
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from filelock import FileLock

from tools.end_with_parent import end_with_parent
from tools.free_ports import free_ports

BROKER = ("org.apache.kafka", "kafka_2.13", "4.1.1")
LOOPBACK = "127.0.0.1"
REQUEST_SECONDS = 30.0
_START_SECONDS = 60.0
_CLUSTER = "jetsql-local-cluster-0"  # 16 bytes in base64, which Kafka requires

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://{host}:{plain},SASL_PLAINTEXT://{host}:{sasl},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
 user_{user}="{password}";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={logs}
auto.create.topics.enable=false
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
log.cleaner.dedupe.buffer.size=4194304
"""


class BrokerFailed(Exception):
    """The error for a broker that cannot be started, with the reason and a hint."""


@dataclass(frozen=True)
class Login:
    """The credentials of a user."""

    user: str
    """The user's name."""
    password: str
    """The user's password."""


class Broker:
    """One broker, which can be stopped and started again with the same ports and topics."""

    login: ClassVar[Login] = Login("nobody", "")
    """The user of `sasl_servers`, without any rights at first."""
    servers: str
    """The address for anonymous clients, which have all rights."""
    sasl_servers: str
    """The address for `login`."""

    def __init__(self, folder: Path, jars: str, host: str = LOOPBACK) -> None:
        ports = free_ports(3)
        self.servers = f"{host}:{ports[0]}"
        self.sasl_servers = f"{host}:{ports[1]}"
        self._folder = folder
        self._java = ("java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars)
        self._properties = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        named_ports = dict(zip(("plain", "sasl", "controller"), ports, strict=True))
        login = {"user": self.login.user, "password": self.login.password}
        text = _PROPERTIES.format(**named_ports, **login, host=host, logs=folder / "data")
        self._properties.write_text(text)
        format_data = ("kafka.tools.StorageTool", "format", "--standalone", "-t", _CLUSTER, "-c")
        subprocess.run((*self._java, *format_data, str(self._properties)), check=True, capture_output=True)

    def start(self) -> None:
        """Start the broker and wait until it answers. Raises BrokerFailed."""
        with (self._folder / "server.log").open("ab") as log:
            command = (*end_with_parent(), *self._java, "kafka.Kafka", str(self._properties))
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._wait_until_up(self._process)

    def stop(self) -> None:
        """Shut the broker down."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker, which simulates a power failure."""
        self._end(signal.SIGKILL)

    def _end(self, sent: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sent)
            self._process.wait(60)
            self._process = None

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient(self.client())

    def topic(self, name: str, partitions: int = 2, **config: str) -> str:
        """Create a topic and return its name. config: its settings, with `_` instead of dots in the keys."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        made = self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])
        made[name].result(REQUEST_SECONDS)
        return name

    def client(self) -> dict[str, Any]:
        """Return the settings of a client of this broker."""
        return {"bootstrap.servers": self.servers, "log_level": 0}

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(int(_START_SECONDS)):
            try:
                self.admin.list_topics(timeout=1.0)
            except KafkaException:
                if process.poll() is None:
                    continue
                log = (self._folder / "server.log").read_text()
                raise BrokerFailed(f"Kafka exited immediately: {log}") from None
            else:
                return
        raise BrokerFailed(f"Kafka has not started within {_START_SECONDS:.0f} s.")


AnyBroker = TypeVar("AnyBroker", bound=Broker)


@contextmanager
def running(kind: type[AnyBroker], host: str = LOOPBACK) -> Iterator[AnyBroker]:
    """Run a new broker without topics during the context. Raises BrokerFailed. host: the address for its clients."""
    with tempfile.TemporaryDirectory(prefix="jetsql-kafka-") as folder:
        broker = kind(Path(folder), _jars(Path(folder)), host)
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()


def _jars(folder: Path) -> str:
    """Return the broker's class path. The first download takes about 45 s. Raises BrokerFailed."""
    if shutil.which("java") is None:
        raise BrokerFailed("There is no java on the PATH; `make test` prints how to install it.")
    spark = Path(pyspark.__file__).parent / "jars"
    output = folder / "jars"
    command = ("java", "-cp", _jar(spark, "ivy-*"), "org.apache.ivy.Main", "-m2compatible", "-confs", "default")
    fetch = (*command, "-dependency", *BROKER, "-cachepath", str(output))
    with FileLock(Path(tempfile.gettempdir()) / f"jetsql-broker-{os.getuid()}.lock"):  # Ivy's cache has no lock
        ended = subprocess.run(fetch, capture_output=True, text=True, check=False)
    if ended.returncode or not output.exists():
        last_lines = "\n".join((ended.stdout + ended.stderr).strip().splitlines()[-5:])
        raise BrokerFailed(f"Cannot download Kafka's packages from Maven Central:\n{last_lines}")
    # Spark's logging comes first: Kafka's jars have no backend that would log why a broker does not start.
    logging = (_jar(spark, name) for name in ("slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-2*", "log4j-core-*"))
    return os.pathsep.join((*logging, output.read_text().strip()))


def _jar(folder: Path, name: str) -> str:
    [jar] = folder.glob(f"{name}.jar")
    return str(jar)


if __name__ == "__main__":  # a broker for manual experiments, which runs until its input ends
    with running(Broker) as broker:
        print(broker.servers, os.getpid(), flush=True)  # noqa: T201
        sys.stdin.readline()
