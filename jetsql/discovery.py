"""Where a running engine is found: a note in its home, written when it answers and removed when it ends.

The note is private (mode 0600), for the token in it is as good as a shell on the engine. The token itself is made once
a home and kept beside it, so that what was set up with it goes on working after a restart.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

NOTE = "engine.json"
TOKEN = "engine.token"


@dataclass(frozen=True)
class EngineNote:
    """What the running engine of a home says of itself.

    url: of the HTTP door. connect, thrift: of the other doors; empty where they are not open. started: seconds since
    the epoch. master, conf: Spark's, as given.
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


def read_note(home: Path) -> EngineNote | None:
    """The note of a home, if there is one that can be read; its engine may be gone all the same."""
    try:
        told: dict[str, Any] = json.loads((home / NOTE).read_text(encoding="utf-8"))
        return EngineNote(**{each.name: told[each.name] for each in fields(EngineNote) if each.name in told})
    except (OSError, ValueError, TypeError):
        return None


def write_note(home: Path, note: EngineNote) -> None:
    """At once and whole, so that nobody reads half of it."""
    with _private_file(home / f"{NOTE}.new") as descriptor:
        os.write(descriptor, json.dumps(asdict(note), indent=2).encode())
    os.replace(home / f"{NOTE}.new", home / NOTE)


def remove_note(home: Path) -> None:
    (home / NOTE).unlink(missing_ok=True)


def token(home: Path) -> str:
    """The token of a home, made at its first use. Raises OSError."""
    file = home / TOKEN
    with suppress(FileNotFoundError):
        kept = file.read_text(encoding="utf-8").strip()
        if kept:
            file.chmod(0o600)
            return kept
    made = secrets.token_urlsafe(24)
    with _private_file(file) as descriptor:
        os.write(descriptor, f"{made}\n".encode())
    return made


@contextmanager
def _private_file(file: Path) -> Iterator[int]:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
