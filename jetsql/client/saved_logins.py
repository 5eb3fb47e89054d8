"""The tokens of engines on other machines that `jetsql login` has saved, in a file that only its owner can read.

A token is saved for the URL of an engine with its scheme, so that one for `https://` is never sent without encryption.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from jetsql.errors import EngineError
from jetsql.home.private_files import private_folder, read_own, write_private


def saved_token(url: str) -> str:
    """Return the token that is saved for an engine; empty without one.

    url: one or several, separated by commas, with the same token. Raises EngineError for a file that cannot be read.
    """
    saved = _read()
    return next((saved[key] for key in map(_key, url.split(",")) if key in saved), "")


def save_token(url: str, token: str) -> Path:
    """Save the token for an engine, or for several, and return the file.

    Raises EngineError for a file that cannot be read or written.
    """
    _write(_read() | dict.fromkeys(map(_key, url.split(",")), token))
    return logins_file()


def remove_token(url: str) -> bool:
    """Remove the token for an engine, and return whether there was one. Raises as `save_token`."""
    saved = _read()
    gone = saved.keys() & set(map(_key, url.split(",")))
    if gone:
        _write({key: token for key, token in saved.items() if key not in gone})
    return bool(gone)


def logins_file() -> Path:
    """Return the file with the tokens: `logins.json` in the platform's configuration folder."""
    return platformdirs.user_config_path("jetsql", appauthor=False) / "logins.json"


def _key(url: str) -> str:
    """Return the URL of an engine in one form: with its port, without case and without a token."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}"


def _read() -> dict[str, str]:
    file = logins_file()
    text = "{}"
    try:
        with suppress(FileNotFoundError):
            text = read_own(file)
        saved = json.loads(text)
    except (OSError, ValueError) as error:
        raise _not_usable("read", error) from error
    is_valid = isinstance(saved, dict) and all(isinstance(token, str) for token in saved.values())
    if not is_valid:
        raise _not_usable("read", ValueError("it has no tokens by URL"))
    return dict(saved)


def _write(saved: dict[str, str]) -> None:
    file = logins_file()
    try:
        private_folder(file.parent)
        write_private(file, json.dumps(saved, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise _not_usable("written", error) from error


def _not_usable(verb: str, error: Exception) -> EngineError:
    message = f"The file {logins_file()} with the tokens of `jetsql login` cannot be {verb}: {error}."
    hint = "Delete the file, and log in again; or set JETSQL_TOKEN."
    return EngineError("INVALID_SETTING", message, hint=hint)
