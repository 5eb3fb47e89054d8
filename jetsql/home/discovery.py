"""Where a running engine is found: a note in its home, written when it answers and removed when it ends.

The note is private (mode 0600), for the token in it is as good as a shell on the engine. The token itself is made once
a home and kept beside it, so that what was set up with it goes on working after a restart.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from jetsql.home.private_files import MODE, write_private

NOTE: Final = "engine.json"
TOKEN: Final = "engine.token"
API: Final = 1
"""The version of the HTTP endpoint that this package speaks, the 1 in /v1."""


@dataclass(frozen=True)
class EngineNote:
    """What the running engine of a home says of itself.

    url: of the HTTP endpoint. connect, thrift: of the other endpoints; empty where they are not open. started:
    seconds since
    the epoch. master, conf: Spark's, as given. api: the version of its HTTP endpoint. stopping: it was asked to end.
    """

    pid: int
    url: str
    token: str
    version: str
    started: float
    master: str = ""
    conf: Mapping[str, str] = field(default_factory=dict)
    connect: str = ""
    thrift: str = ""
    api: int = API
    stopping: bool = False


def read_note(home: Path) -> EngineNote | None:
    """The note of a home, if there is one; its engine may be gone all the same. Raises PermissionError."""
    try:
        content: dict[str, Any] = json.loads((home / NOTE).read_text(encoding="utf-8"))
        return EngineNote(**{each.name: content[each.name] for each in fields(EngineNote) if each.name in content})
    except PermissionError:  # somebody else's home
        raise
    except (OSError, ValueError, TypeError):
        return None


def write_note(home: Path, note: EngineNote) -> None:
    """Raise OSError."""
    write_private(home / NOTE, json.dumps(asdict(note), indent=2))


def remove_note(home: Path) -> None:
    (home / NOTE).unlink(missing_ok=True)


def new_nonce() -> str:
    """What a client asks an engine to show its knowledge of the token with; never the same again."""
    return secrets.token_urlsafe(16)


def proof(token: str, nonce: str) -> str:
    """What only somebody who knows the token can answer to a nonce; it tells nothing of the token."""
    return hmac.digest(token.encode(), nonce.encode(), "sha256").hex()


def token(home: Path) -> str:
    """Return the token of a home, made at its first use. Raises OSError."""
    file = home / TOKEN
    with suppress(FileNotFoundError):
        kept = file.read_text(encoding="utf-8").strip()
        if kept:
            file.chmod(MODE)
            return kept
    made = secrets.token_urlsafe(24)
    write_private(file, f"{made}\n")
    return made
