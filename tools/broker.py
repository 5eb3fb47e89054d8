"""A Kafka broker for tests, benchmarks and examples: one node in KRaft mode on loopback, on free ports, gone when its
context ends or its process does. By hand: `python -m tools.broker`.

Its jars are fetched from Maven Central into Ivy's cache of the home, as Spark fetches packages, by the Ivy that ships
with Spark. Topics are never made by asking for them, as where people run Kafka with care.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
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

BROKER = ("org.apache.kafka", "kafka_2.13", "4.1.1")
REQUEST_SECONDS = 30.0
_START_SECONDS = 60.0
_CLUSTER = "jetsql-local-cluster-0"  # 16 bytes in base64, as Kafka wants it

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
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
    """There is no broker: why, and what to do."""


@dataclass(frozen=True)
class Login:
    user: str
    password: str


class Broker:
    """One broker. `start`, `stop` and `kill` may be called in turn: ports and topics stay.

    servers: for everybody, who may do anything. sasl_servers: for `login`, who may do nothing until they are let.
    """

    login: ClassVar[Login] = Login("nobody", "")

    def __init__(self, folder: Path, jars: str) -> None:
        ports = _free_ports(3)
        self.servers = f"127.0.0.1:{ports[0]}"
        self.sasl_servers = f"127.0.0.1:{ports[1]}"
        self._folder = folder
        self._java = ("java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars)
        self._properties = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        places = dict(zip(("plain", "sasl", "controller"), ports, strict=True))
        login = {"user": self.login.user, "password": self.login.password}
        text = _PROPERTIES.format(**places, **login, logs=folder / "data")
        self._properties.write_text(text)
        format_data = ("kafka.tools.StorageTool", "format", "--standalone", "-t", _CLUSTER, "-c")
        subprocess.run((*self._java, *format_data, str(self._properties)), check=True, capture_output=True)

    def start(self) -> None:
        with (self._folder / "server.log").open("ab") as log:
            command = (*_ending_with_us(), *self._java, "kafka.Kafka", str(self._properties))
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._wait_until_up(self._process)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """As the power going off."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient(self.client())

    def topic(self, name: str, partitions: int = 2, **config: str) -> str:
        """Make a topic; config: `_` in a key stands for a dot. Returns its name."""
        settings = {key.replace("_", "."): value for key, value in config.items()}
        made = self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])
        made[name].result(REQUEST_SECONDS)
        return name

    def client(self) -> dict[str, Any]:
        """The settings of a client of this broker."""
        return {"bootstrap.servers": self.servers, "log_level": 0}

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(int(_START_SECONDS)):
            try:
                self.admin.list_topics(timeout=1.0)
            except KafkaException:
                if process.poll() is None:
                    continue
                raise BrokerFailed(f"Kafka ended at once: {(self._folder / 'server.log').read_text()}") from None
            else:
                return
        raise BrokerFailed(f"Kafka did not come up within {_START_SECONDS:.0f} s.")


AnyBroker = TypeVar("AnyBroker", bound=Broker)


@contextmanager
def running(kind: type[AnyBroker]) -> Iterator[AnyBroker]:
    """A fresh broker without topics."""
    with tempfile.TemporaryDirectory(prefix="jetsql-kafka-") as folder:
        broker = kind(Path(folder), _jars(Path(folder)))
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()


def _ending_with_us() -> tuple[str, ...]:
    """What has a process killed when this one dies, where there is such a thing: what hangs is killed."""
    return ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()


def _jars(folder: Path) -> str:
    """The broker's class path. Only the first time in a home takes long (three quarters of a minute)."""
    if shutil.which("java") is None:
        raise BrokerFailed("There is no java on the PATH; `make test` says how to install it.")
    spark = Path(pyspark.__file__).parent / "jars"
    output = folder / "jars"
    command = ("java", "-cp", _jar(spark, "ivy-*"), "org.apache.ivy.Main", "-m2compatible", "-confs", "default")
    fetch = (*command, "-dependency", *BROKER, "-cachepath", str(output))
    with FileLock(Path(tempfile.gettempdir()) / f"jetsql-broker-{os.getuid()}.lock"):  # Ivy's cache has none
        done = subprocess.run(fetch, capture_output=True, text=True, check=False)
    if done.returncode or not output.exists():
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise BrokerFailed(f"Kafka's own packages could not be fetched from Maven Central:\n{said}")
    # Spark's logging goes first: Kafka's jars have none that would tell why a broker does not come up.
    logging = (_jar(spark, name) for name in ("slf4j-api-*", "log4j-slf4j2-impl-*", "log4j-api-2*", "log4j-core-*"))
    return os.pathsep.join((*logging, output.read_text().strip()))


def _jar(folder: Path, name: str) -> str:
    [jar] = folder.glob(f"{name}.jar")
    return str(jar)


def _free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    try:
        for each in taken:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in taken]
    finally:
        for each in taken:
            each.close()


if __name__ == "__main__":  # a broker to try things by hand, until its input ends
    with running(Broker) as broker:
        print(broker.servers, os.getpid(), flush=True)  # noqa: T201
        sys.stdin.readline()
