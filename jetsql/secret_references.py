"""Values that name a secret instead of holding it: `secret:env:NAME` and `secret:file:PATH`.

What is stored and shown is the reference. Options of tables are resolved in Spark's JVM (`Secrets.java`); settings of
the engine are resolved here, when it starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError

_MARK: Final = "secret:"


def is_reference(value: str) -> bool:
    """Return whether a value says where its secret is, instead of being it."""
    return value.startswith(_MARK)


def resolved(value: str, origin: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the secret that a setting's value names; any other value as it is.

    origin: the setting, as an error names it. Raises EngineError SECRET_NOT_READABLE, never with the secret in it.
    """
    if not is_reference(value):
        return value
    kind, _, name = value.removeprefix(_MARK).partition(":")
    if kind == "env" and name:
        if name not in environ:
            raise _not_readable(origin, f"the environment has no variable {name}", f"Start the engine with {name} set.")
        return environ[name]
    if kind == "file" and name:
        try:
            return Path(name).read_text(encoding="utf-8").rstrip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise _not_readable(origin, f"the file {name}: {reason}", "Write the secret into that file.") from None
    raise _not_readable(origin, f"{value!r} names none", "Write 'secret:env:NAME' or 'secret:file:PATH'.")


def _not_readable(origin: str, reason: str, hint: str) -> EngineError:
    return EngineError("SECRET_NOT_READABLE", f"Cannot read the secret of {origin}: {reason}.", hint=hint)
