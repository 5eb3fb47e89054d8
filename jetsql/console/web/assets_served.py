"""The scripts and styles of the pages. `make console` builds them; nothing is loaded from elsewhere."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# The address of an asset has its hash, so a browser keeps each version.
_KEPT: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class Asset:
    """A file as it is sent."""

    content: bytes
    compressed: bytes  # with gzip
    media_type: str
    version: str  # the beginning of its hash


@cache
def assets() -> dict[str, Asset]:
    """Return all assets by name."""
    folder = resources.files("jetsql.console").joinpath("assets")
    found = {}
    for entry in folder.iterdir():
        suffix = entry.name[entry.name.rfind(".") :]
        if suffix in _TYPES:
            content = entry.read_bytes()
            version = hashlib.sha256(content).hexdigest()[:12]
            found[entry.name] = Asset(content, gzip.compress(content, 9, mtime=0), _TYPES[suffix], version)
    return found


def asset_url(name: str) -> str:
    """Return the address of an asset."""
    return f"/console/assets/{assets()[name].version}/{name}"


async def serve_asset(http: Request) -> Response:
    """Return the response with an asset."""
    asset = assets().get(http.path_params["name"])
    if asset is None:
        raise HTTPException(404)
    # A page of an earlier release must not make the browser keep this content under the earlier address.
    is_current = http.path_params["version"] == asset.version
    headers = {"Cache-Control": _KEPT if is_current else "no-store", "Vary": "Accept-Encoding"}
    if "gzip" in http.headers.get("accept-encoding", ""):
        return Response(asset.compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.content, headers=headers, media_type=asset.media_type)
