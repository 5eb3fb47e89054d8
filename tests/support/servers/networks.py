"""A network of its own for an engine, which a router drops out of the others: no packet arrives, and none is refused.

It is made of two network namespaces of Linux, which needs the rights of root.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

HOST = "10.213.0.1"
"""The address of this machine in the network."""
NETWORKS = "10.213.0.0/24"
_ROUTER, _GATEWAY, _ENGINE = "10.213.0.2", "10.213.0.5", "10.213.0.6"
_FAR = "10.213.0.4/30"


class Network:
    """A network namespace behind a router, which is another one."""

    def __init__(self) -> None:
        self._router = f"jetsql-router-{os.getpid()}"
        self._engine = f"jetsql-engine-{os.getpid()}"
        self._link = f"jet{os.getpid()}"
        self.wrapper = ("ip", "netns", "exec", self._engine)
        """The command that runs another command in the network."""

    def cut(self) -> None:
        """Drop all packets from now on."""
        self._forward(False)

    def cut_answers(self) -> None:
        """Drop the packets to the engine from now on; its own ones arrive."""
        _ip("-n", self._router, "route", "add", "blackhole", f"{_ENGINE}/32")

    def restore(self) -> None:
        """Forward packets again."""
        self._forward(True)
        _run("ip", "-n", self._router, "route", "flush", "type", "blackhole")

    @contextmanager
    def exists(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in (self._router, self._engine):
                _ip("netns", "add", name)
                stack.callback(_ip, "netns", "del", name)
            _ip("link", "add", self._link, "type", "veth", "peer", "name", "north", "netns", self._router)
            stack.callback(_ip, "link", "del", self._link)
            _ip(
                "-n",
                self._router,
                "link",
                "add",
                "south",
                "type",
                "veth",
                "peer",
                "name",
                "north",
                "netns",
                self._engine,
            )
            _ip("address", "add", f"{HOST}/30", "dev", self._link)
            _ip("link", "set", "dev", self._link, "up")
            _ip("route", "add", _FAR, "via", _ROUTER)
            for name, interface, address in (
                (self._router, "north", _ROUTER),
                (self._router, "south", _GATEWAY),
                (self._engine, "north", _ENGINE),
            ):
                _ip("-n", name, "address", "add", f"{address}/30", "dev", interface)
                _ip("-n", name, "link", "set", "dev", interface, "up")
            _ip("-n", self._engine, "link", "set", "lo", "up")
            _ip("-n", self._engine, "route", "add", "default", "via", _GATEWAY)
            self.restore()
            yield

    def _forward(self, forwards: bool) -> None:
        command = f"echo {int(forwards)} > /proc/sys/net/ipv4/ip_forward"
        _run("ip", "netns", "exec", self._router, "sh", "-c", command)


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()} (network namespaces need the rights of root)")
