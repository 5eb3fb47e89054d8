"""The form of the tokens of users, as the engine makes them and its clients know them: `jsq_`, an id, and a secret.

The engine stores the id and the digest of the secret. The token of the home has another form, and so have the JWTs of
an issuer outside of JetSQL.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

_TOKEN: Final = re.compile(r"jsq_([a-z0-9]{8})_([A-Za-z0-9_-]{43})")
_JWT: Final = re.compile(r"eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_JWT_CHARS_MOST: Final = 16 * 1024
ID_DIGITS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
"""The characters of ids, of which each has eight."""
SECRET_BYTES: Final = 32


def write_token(token_id: str, secret: str) -> str:
    """Return the token with an id and a secret, which is `SECRET_BYTES` in URL-safe Base64."""
    return f"jsq_{token_id}_{secret}"


def token_id(text: str) -> str:
    """Return the id in a token of a user; empty for any other text."""
    match = _TOKEN.fullmatch(text)
    return "" if match is None else match[1]


def is_jwt(text: str) -> bool:
    """Return whether a text has the form of a signed JWT, in the compact form of RFC 7515."""
    return len(text) <= _JWT_CHARS_MOST and _JWT.fullmatch(text) is not None


def secret_digest(text: str) -> str:
    """Return the SHA-256 of the secret in a token of a user, in hexadecimal digits; empty for any other text.

    The secret has 256 random bits, so its digest cannot be searched, and no slow hash is needed.
    """
    match = _TOKEN.fullmatch(text)
    return "" if match is None else hashlib.sha256(match[2].encode()).hexdigest()


def proof_key(text: str) -> str:
    """Return the key of the proof that an engine knows a token: what it has stored of a user's, or its own token."""
    return secret_digest(text) or text
