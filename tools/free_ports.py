"""Free ports of loopback for servers whose port is a setting, such as Kafka and PostgreSQL."""

from __future__ import annotations

import random
import socket
from typing import Final

_PORTS: Final = range(20_000, 32_000)
"""Below the ports of outgoing connections on Linux and macOS: one of those could be in use before its server
listens, or while the server is stopped."""


def free_ports(count: int) -> list[int]:
    """Return ports that no socket has."""
    found: list[int] = []
    while len(found) < count:
        port = random.choice(_PORTS)
        if port not in found and _is_free(port):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
