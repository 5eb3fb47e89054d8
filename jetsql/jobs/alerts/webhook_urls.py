"""The URLs of webhooks: which can be called, and what is shown of them."""

from __future__ import annotations

from urllib.parse import urlsplit

from jetsql.loopback import is_loopback


def find_url_problem(url: str) -> str:
    """Return why a URL cannot be called, as a phrase without a full stop; empty for one that can."""
    if any(sign.isspace() or not sign.isprintable() for sign in url) or not url.isascii():
        return "it has a blank or a sign that is not ASCII"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it is not a URL"
    if not host or parts.scheme not in ("http", "https"):
        return "it is not a URL with https:// and a host"
    if "@" in parts.netloc or "\\" in url:
        return "it has a user or a backslash"
    if parts.scheme == "http" and not is_loopback(host):
        return "only https is allowed, or http to this machine (127.0.0.1, [::1] or localhost)"
    return ""


def origin_of(url: str) -> str:
    """Return scheme and host of a URL: the path can be a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
