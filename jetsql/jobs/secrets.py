"""What must not be shown: values of secret options, and secrets within other texts (design 6).

One rule for SHOW CREATE JOB, DESCRIBE JOB, history and error messages: the name of an option decides, and in a URL the
user info and the password parameters. References (`secret:env:NAME`) are not secrets themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "***"

_LEAST_HIDDEN: Final = 3  # hiding every "a" in a message would protect nothing

_WORDS: Final = r"password|passwd|secret|token|credential|jaas|access.?key|private.?key"
_SECRET_NAME: Final = re.compile(_WORDS, re.IGNORECASE)
_USER_INFO: Final = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@'\"]+@", re.IGNORECASE)
_PARAMETER: Final = re.compile(rf"([?&;](?:[\w.-]*(?:{_WORDS})[\w.-]*)=)[^&;\s'\"]*", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether an option of this name holds a secret; `key.*` options never do (`key.columns`)."""
    return not name.lower().startswith("key.") and _SECRET_NAME.search(name) is not None


def names_secret(value: str) -> bool:
    """Whether an option's value says where its secret is, instead of being it."""
    return value.startswith("secret:")


def hide_in_text(text: str) -> str:
    """The text with user info and password parameters of its URLs hidden."""
    return _PARAMETER.sub(rf"\g<1>{HIDDEN}", _USER_INFO.sub(rf"\g<1>{HIDDEN}@", text))


def show(options: Mapping[str, str]) -> dict[str, str]:
    """Options as they may be shown."""
    return {name: _shown(name, value) for name, value in options.items()}


def hide(text: str, options: Mapping[str, str]) -> str:
    """A message about a job with these options, as it may be shown."""
    hidden = hide_in_text(text)
    for name, value in options.items():
        if _shown(name, value) == HIDDEN and len(value) >= _LEAST_HIDDEN:
            hidden = hidden.replace(value, HIDDEN)
    return hidden


def _shown(name: str, value: str) -> str:
    if names_secret(value):
        return value
    return HIDDEN if is_secret(name) else hide_in_text(value)
