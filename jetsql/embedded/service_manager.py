"""Messages to systemd for a unit of `Type=notify`, as `sd_notify(3)` defines them."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

_VARIABLE: Final = "NOTIFY_SOCKET"
READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"


def notify_manager(state: str, status: str) -> None:
    """Send the state of the engine, and a status for its user, to systemd. Does nothing without systemd.

    The engine does not depend on the message, so errors are ignored.
    """
    address = os.environ.get(_VARIABLE, "")
    if not address:
        return
    if address.startswith("@"):  # a name without a file
        address = f"\0{address[1:]}"
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        connection.connect(address)
        connection.sendall(f"{state}\nSTATUS={status}\n".encode())
