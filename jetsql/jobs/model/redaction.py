"""Redaction of secrets: values of secret options, and secrets within other texts.

One rule applies to SHOW CREATE JOB, DESCRIBE JOB, history and error messages. An option is secret by its name. In a URL
the user info and the password parameters are secret. References (`secret:env:NAME`) are not secret.

`SECRET_NAMES` is the only list of such names. Java (`Secrets.java`) and Spark's redaction use the same pattern, so it
only uses syntax that the regular expressions of Python and Java share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from jetsql.secret_references import is_reference

REDACTED: Final = "***"

_MIN_INSIDE_WORDS: Final = 3  # redacting every "a" in a message would protect nothing

_KEY_OF: Final = "access|account|api|client|encryption|master|private|shared|subscription"
_WORDS: Final = "|".join(
    (
        r"(?i:password|passwd|passphrase|passcode|pwd|secret|credential|jaas)",
        r"(?i:token)(?!(?i:i[sz]))",  # not tokenizer
        r"(?i:(?:access|api|private)[^A-Za-z0-9]?key)",
        rf"(?i:(?:{_KEY_OF})[^A-Za-z0-9]?key|key.?store[^A-Za-z0-9]?key)(?![A-Za-z])",
        r"(?i:user.?info|connection.?string|shared.?access|http.?header)",
        r"(?i:authorization|cookie)(?![A-Za-z]|[._-](?i:enabled|path|domain|type|provider|mode|class))",
        r"(?i:signature)(?!(?i:.?(?:alg|ver)))",
        # Parts of other words (bypass, compass, sasl, design, oauthbearer): only as a separate word.
        r"(?<![A-Za-z])(?i:bearer|pass|sas|sig)(?![A-Za-z]|[._-](?i:through))",
        r"(?<=[a-z0-9])(?:Pass|Sas|Sig)(?![a-z]|(?i:.?through))",
        r"(?i:(?:db|key|store|user)pass)(?![A-Za-z])",
    )
)
_FIRST_LETTERS: Final = "(?=(?i:[abcdehjkmpstu]))"  # of the words; Spark matches each setting at each batch
SECRET_NAMES: Final = rf"^(?!(?i:key\.))[\s\S]*?{_FIRST_LETTERS}(?:{_WORDS})"
"""Matches the names of options with secret values. `key.*` are options of Kafka tables (`key.columns`), not secrets."""

_SECRET_NAME: Final = re.compile(SECRET_NAMES)
_WORD: Final = re.compile(_WORDS)
# Both take linear time: a text of a user can have any length, and a search holds Python's interpreter lock.
_USER_INFO: Final = re.compile(r"(?<=[a-z0-9+.-])(://)[^\s/@'\"]++@", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"([?&;](?P<name>[\w.-]++)=)[^&;\s'\"]*")


# Without repetitions in repetitions: a folder in a text ends at white space or at a mark.
_FOLDERS: Final = re.compile(r"\bfile:/[^\s'\"`,;()]*|(?<![\w/:.*])/[^\s/'\"`,;():*]+/[^\s'\"`,;():]*", re.IGNORECASE)


def redact_folders(text: str) -> str:
    """Return the text without the absolute paths of files and folders."""
    return _FOLDERS.sub(REDACTED, text)


def is_secret(name: str) -> bool:
    """Return whether the value of an option with this name is secret."""
    return _SECRET_NAME.search(name) is not None


def redact_urls(text: str) -> str:
    """Return the text with user info and password parameters of its URLs redacted."""
    return _PARAMETER.sub(_redact_parameter, _USER_INFO.sub(rf"\g<1>{REDACTED}@", text))


def _redact_parameter(parameter: re.Match[str]) -> str:
    is_secret_word = _WORD.search(parameter["name"]) is not None
    return f"{parameter[1]}{REDACTED}" if is_secret_word else parameter[0]


def redact_url(url: str) -> str:
    """Return a URL that a user wrote with user info and secret parameters redacted, even if the URL is incomplete."""
    before, at, host = url.rpartition("@")
    scheme, colon, _ = before.rpartition("://")
    return redact_urls(f"{scheme}{colon}{REDACTED}@{host}" if at else url)


def show(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with secret values redacted."""
    return {name: _shown(name, value) for name, value in options.items()}


def redact(text: str, options: Mapping[str, str]) -> str:
    """Return a message about a job with the secret values of its options redacted."""
    redacted = redact_urls(text)
    for name, value in options.items():
        if _shown(name, value) == REDACTED and value:
            redacted = _redact_value(redacted, value)
    return redacted


def _redact_value(text: str, value: str) -> str:
    if len(value) >= _MIN_INSIDE_WORDS:
        return text.replace(value, REDACTED)
    return re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", REDACTED, text)


def _shown(name: str, value: str) -> str:
    if is_reference(value):
        return value
    return REDACTED if is_secret(name) else redact_urls(value)
