"""References to secrets in values: `secret:env:NAME` and `secret:file:PATH`.

JetSQL stores and shows the reference, not the secret. Spark's JVM resolves the options of tables (`Secrets.java`); this
module resolves the settings of the engine when it starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError

_MARK: Final = "secret:"
_FILE: Final = f"{_MARK}file:"


def is_reference(value: str) -> bool:
    """Return whether a value is a reference to a secret."""
    return value.startswith(_MARK)


def named_secret(value: str) -> str | None:
    """Return the name in a reference to a secret of CREATE SECRET, `secret:NAME`; None for any other value."""
    name = value.removeprefix(_MARK)
    return name if is_reference(value) and name and ":" not in name else None


def with_absolute_path(value: str, folder: str) -> str:
    """Return a reference to a file with an absolute path; return any other value unchanged.

    folder: the one that a relative path means.
    """
    if not value.startswith(_FILE):
        return value
    return _FILE + os.path.join(folder, value.removeprefix(_FILE))


def resolved(value: str, origin: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the secret of a reference; return any other value unchanged.

    origin: the setting, as error messages name it. Raises EngineError SECRET_NOT_READABLE, without the secret.
    """
    if not is_reference(value):
        return value
    kind, _, name = value.removeprefix(_MARK).partition(":")
    if kind == "env" and name:
        if name not in environ:
            raise _not_readable(origin, f"the variable {name} is not set", f"Start the engine with {name} set.")
        return environ[name]
    if kind == "file" and name:
        try:
            return Path(name).read_text(encoding="utf-8").rstrip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8"
            raise _not_readable(origin, f"the file {name}: {reason}", "Write the secret into that file.") from None
    raise _not_readable(origin, f"{value!r} is not a reference", "Write 'secret:env:NAME' or 'secret:file:PATH'.")


def _not_readable(origin: str, reason: str, hint: str) -> EngineError:
    return EngineError("SECRET_NOT_READABLE", f"Cannot read the secret of {origin}: {reason}.", hint=hint)
