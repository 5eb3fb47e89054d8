"""The user of this machine whose process has sent a request."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, Final

# The sockets of this network namespace, with their owners (proc_net_tcp.rst of Linux).
_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def client_user(scope: Mapping[str, Any]) -> int | None:
    """Return the id of the user whose process has opened the connection of a request.

    None for a client on another machine or behind a proxy that names it, and on systems other than Linux.
    scope: that of ASGI.
    """
    client, server = _end(scope.get("client")), _end(scope.get("server"))
    if client is None or server is None:
        return None
    pattern = re.compile(rf"^ *\d+: {client} {server} [0-9A-F]{{2}} \S+ \S+ \S+ +(?P<uid>\d+) ", re.MULTILINE)
    for table in _TABLES:
        try:
            found = pattern.search(table.read_text(encoding="ascii"))
        except OSError:
            continue
        if found is not None:
            return int(found["uid"])
    return None


def _end(address: tuple[str, int] | None) -> str | None:
    """Return a pattern for one end of a connection, as the tables write it; None without an address."""
    if address is None:
        return None
    host, port = address
    try:
        return rf"{_in_hexadecimal(ip_address(host.partition('%')[0]))}:{port:04X}"
    except ValueError:
        return None


def _in_hexadecimal(address: IPv4Address | IPv6Address) -> str:
    """Return a pattern for an address: words of 32 bits in the order of the machine. IPv4 may be mapped to IPv6."""
    words = re.findall("....", address.packed.decode("latin-1"), re.DOTALL)
    text = "".join(f"{socket.htonl(int.from_bytes(word.encode('latin-1'))):08X}" for word in words)
    return f"(?:{_in_hexadecimal(IPv6Address(f'::ffff:{address}'))}|{text})" if address.version == 4 else text
