"""Discovery of a running engine: a file in its home, written when it accepts connections and removed when it ends.

The file is private (mode 0600), because its token gives full access to the engine. Each home has one token, which is
kept in a file of its own, so that clients with the token work after a restart.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jetsql.errors import EngineError
from jetsql.home.private_files import MODE, read_own, write_private

NOTE: Final = "engine.json"
TOKEN: Final = "engine.token"
API: Final = 1
"""The version of the HTTP API, the 1 in /v1."""

_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True)
class EngineNote:
    """The file `engine.json` of a running engine."""

    pid: int
    url: str  # of the HTTP endpoint
    token: str
    version: str  # of JetSQL
    started: float  # seconds since the epoch
    master: str = ""  # Spark's master, as configured
    conf: Mapping[str, str] = field(default_factory=dict)  # Spark settings, as configured
    connect: str = ""  # the URL of Spark Connect; empty when it is not open
    thrift: str = ""  # the URL of the Thrift endpoint; empty when it is not open
    api: int = API
    stopping: bool = False  # the engine is going to end
    role: str = "leader"  # or `standby`
    address: str = ""  # the URL of the HTTP endpoint for other machines, with a name that its certificate should have
    certificate: str = ""  # that its endpoints use, in PEM; empty without TLS
    certificate_file: str = ""  # where it is read from, so that a renewed one is known as well
    binds_proof: bool = True  # its proof is for one address; the engines of earlier releases do not write the field


def read_note(home: Path) -> EngineNote | None:
    """Return the note of a home, or None. Its engine can have crashed. Raises PermissionError."""
    try:
        content: dict[str, Any] = {"binds_proof": False, **json.loads(read_own(home / NOTE))}
        return EngineNote(**{each.name: content[each.name] for each in fields(EngineNote) if each.name in content})
    except PermissionError:  # the home of another user
        raise
    except (OSError, ValueError, TypeError):
        return None


def write_note(home: Path, note: EngineNote) -> None:
    """Write the note of a home. Raises OSError."""
    write_private(home / NOTE, json.dumps(asdict(note), indent=2))


def remove_note(home: Path) -> None:
    """Remove the note of a home, if it exists."""
    (home / NOTE).unlink(missing_ok=True)


def new_nonce() -> str:
    """Return a random text for one `proof`."""
    return secrets.token_urlsafe(16)


def proof(key: str, nonce: str, address: str) -> str:
    """Return the HMAC of a nonce and an address, which proves the knowledge of a token without revealing it.

    key: `proof_key` of the token. address: the host and port that the client means, see `address_of`. A program at
    another address cannot use the proof, because the engine gives none for an address that is not its own.
    """
    return hmac.digest(key.encode(), f"2\n{address}\n{nonce}".encode(), "sha256").hex()


def unbound_proof(token: str, nonce: str) -> str:
    """Return the proof of an engine of an earlier release, which any program can forward."""
    return hmac.digest(token.encode(), nonce.encode(), "sha256").hex()


def address_of(url: str) -> str:
    """Return the host and port of a URL as `proof` takes them, in lower case; an IPv6 address is in brackets."""
    parts = urlsplit(url)
    host = (parts.hostname or "localhost").lower()
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or _PORTS.get(parts.scheme, 80)}"


def read_token(home: Path) -> str:
    """Return the token of a home, or an empty text. Raises EngineError HOME_NOT_USABLE, OSError."""
    file = home / TOKEN
    try:
        return read_own(file).strip()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise EngineError(
            "HOME_NOT_USABLE",
            f"The file {file}, which has the token of the home, is damaged.",
            hint=f"Restore it, or delete it: rm {shlex.quote(str(file))}. The next start writes a new token, which the"
            " clients need then.",
        ) from error


def token(home: Path) -> str:
    """Return the token of a home; generate it at the first call. Raises EngineError HOME_NOT_USABLE, OSError."""
    file = home / TOKEN
    kept = read_token(home)
    if kept:
        file.chmod(MODE)
        return kept
    made = secrets.token_urlsafe(24)
    write_private(file, f"{made}\n")
    return made
