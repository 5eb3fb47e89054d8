"""The addresses of this machine itself."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host. host: a name or an address"""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.casefold() == "localhost"
