"""The tokens of users: how they are made and recognized. What is stored of one does not help to make it."""

from __future__ import annotations

import hmac
import secrets
from typing import Final, NamedTuple

from jetsql.home.token_form import ID_DIGITS, SECRET_BYTES, secret_digest, write_token
from jetsql.jobs.access.access_records import UserToken

_ID_LENGTH: Final = 8
_NO_DIGEST: Final = "0" * 64  # of no secret


class NewToken(NamedTuple):
    """A token before it is shown to its user, once."""

    id: str
    text: str
    digest: str


def make_token() -> NewToken:
    """Return a new random token."""
    token_id = "".join(secrets.choice(ID_DIGITS) for _ in range(_ID_LENGTH))
    text = write_token(token_id, secrets.token_urlsafe(SECRET_BYTES))
    return NewToken(token_id, text, secret_digest(text))


def is_token(text: str, stored: UserToken | None) -> bool:
    """Return whether a text is the stored token. Without one, this takes as long and returns False."""
    digest = secret_digest(text)
    is_equal = hmac.compare_digest(digest, _NO_DIGEST if stored is None else stored.digest)
    return is_equal and stored is not None and digest != ""
