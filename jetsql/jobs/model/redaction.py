"""What must not be shown: values of secret options, and secrets within other texts.

One rule for SHOW CREATE JOB, DESCRIBE JOB, history and error messages: the name of an option decides, and in a URL the
user info and the password parameters. References (`secret:env:NAME`) are not secrets themselves.

`SECRET_NAMES` is the only list of such names. Java (`Secrets.java`) and Spark's own redaction are given this pattern,
so it keeps to the syntax that Python's and Java's regular expressions share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from jetsql.secret_references import is_reference

REDACTED: Final = "***"

_LEAST_HIDDEN: Final = 3  # hiding every "a" in a message would protect nothing

_KEY_OF: Final = "access|account|api|client|encryption|master|private|shared|subscription"
_WORDS: Final = "|".join(
    (
        r"(?i:password|passwd|passphrase|passcode|pwd|secret|credential|jaas)",
        r"(?i:token)(?!(?i:i[sz]))",  # not tokenizer
        r"(?i:(?:access|api|private)[^A-Za-z0-9]?key)",
        rf"(?i:(?:{_KEY_OF})[^A-Za-z0-9]?key|key.?store[^A-Za-z0-9]?key)(?![A-Za-z])",
        r"(?i:user.?info|connection.?string|shared.?access|header.authorization)",
        r"(?i:signature)(?!(?i:.?(?:alg|ver)))",
        # Words that other names have in them (bypass, compass, sasl, design): as a word of their own only.
        r"(?<![A-Za-z])(?i:pass|sas|sig)(?![A-Za-z]|[._-](?i:through))",
        r"(?<=[a-z0-9])(?:Pass|Sas|Sig)(?![a-z]|(?i:.?through))",
        r"(?i:(?:db|key|store|user)pass)(?![A-Za-z])",
    )
)
SECRET_NAMES: Final = rf"^(?!(?i:key\.))[\s\S]*?(?:{_WORDS})"
"""Finds the names of options that hold secrets. `key.*` are options of Kafka tables (`key.columns`), never secrets."""

_SECRET_NAME: Final = re.compile(SECRET_NAMES)
_USER_INFO: Final = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@'\"]+@", re.IGNORECASE)
_PARAMETER: Final = re.compile(rf"([?&;](?:[\w.-]*(?:{_WORDS})[\w.-]*)=)[^&;\s'\"]*")


def is_secret(name: str) -> bool:
    """Return whether an option of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def redact_urls(text: str) -> str:
    """Return the text with user info and password parameters of its URLs hidden."""
    return _PARAMETER.sub(rf"\g<1>{REDACTED}", _USER_INFO.sub(rf"\g<1>{REDACTED}@", text))


def redact_url(url: str) -> str:
    """Return what a user wrote as a URL with user info and secret parameters hidden, also where a part is missing."""
    before, at, host = url.rpartition("@")
    scheme, colon, _ = before.rpartition("://")
    return redact_urls(f"{scheme}{colon}{REDACTED}@{host}" if at else url)


def show(options: Mapping[str, str]) -> dict[str, str]:
    """Options as they may be shown."""
    return {name: _shown(name, value) for name, value in options.items()}


def redact(text: str, options: Mapping[str, str]) -> str:
    """Return a message about a job with these options, as it may be shown."""
    hidden = redact_urls(text)
    for name, value in options.items():
        if _shown(name, value) == REDACTED and len(value) >= _LEAST_HIDDEN:
            hidden = hidden.replace(value, REDACTED)
    return hidden


def _shown(name: str, value: str) -> str:
    if is_reference(value):
        return value
    return REDACTED if is_secret(name) else redact_urls(value)
