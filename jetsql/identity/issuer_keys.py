"""The public keys of an issuer, which change: from a JWKS in a file or at a URL (RFC 7517).

A key with an unknown id is searched once more, but not more often than every `RETRY_SECONDS`, so that strangers cannot
make the engine load the keys all the time. Keys are loaded again after `FRESH_SECONDS`, so that one that the issuer has
withdrawn is not accepted for long. If the issuer cannot be reached, its keys are kept for `KEPT_SECONDS`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final

from jetsql.identity.issuer_documents import IssuerError, as_object, read_document

_LOG: Final = logging.getLogger(__name__)
RETRY_SECONDS: Final = 30.0
FRESH_SECONDS: Final = 600.0
KEPT_SECONDS: Final = 24 * 3600.0
_RSA_BITS_LEAST: Final = 2048
_PRIVATE: Final = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")
_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""The algorithms that fit to a type of key. Those with a shared secret (`HS256`) and `none` are missing on purpose."""
_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
ALGORITHMS: Final = tuple(algorithm for algorithms in _TYPES.values() for algorithm in algorithms)
"""The accepted algorithms of signatures."""


class IssuerKeys:
    """The keys of one issuer. Any thread can use it; a call may wait for the issuer."""

    def __init__(self, read: Callable[[], Mapping[str, Any]], clock: Callable[[], float] = monotonic) -> None:
        """Create it. read: returns the JWKS, or raises IssuerError."""
        self._read = read
        self._clock = clock
        self._keys: tuple[Mapping[str, Any], ...] = ()
        self._loaded: float | None = None
        self._tried: float | None = None
        self._lock = Lock()

    def find(self, key_id: str | None, algorithm: str) -> Any:
        """Return the key of a signature, as PyJWT takes it. Raises IssuerError."""
        with self._lock:
            now = self._clock()
            if self._loaded is None or now - self._loaded >= FRESH_SECONDS:
                self._load(now)
            if self._loaded is None or now - self._loaded >= KEPT_SECONDS:
                raise IssuerError("the keys of the issuer are not known")
            found = self._matching(key_id, algorithm)
            if not found and self._load(now):
                found = self._matching(key_id, algorithm)
        if len(found) != 1:
            raise IssuerError(f"the issuer has {len(found)} keys with the id {key_id!r} for {algorithm}")
        return _as_key(found[0], algorithm)

    def _load(self, now: float) -> bool:
        """Load the keys unless that was tried just now, and return whether it succeeded."""
        if self._tried is not None and now - self._tried < RETRY_SECONDS:
            return False
        self._tried = now
        try:
            keys = self._read().get("keys")
        except IssuerError as error:
            _LOG.warning("The keys of the issuer of JWTs cannot be loaded: %s", error)
            return False
        if not isinstance(keys, list):
            _LOG.warning("The keys of the issuer of JWTs cannot be loaded: there is no list `keys`")
            return False
        self._keys = tuple(key for key in keys if isinstance(key, dict))
        self._loaded = now
        return True

    def _matching(self, key_id: str | None, algorithm: str) -> list[Mapping[str, Any]]:
        """Return the keys for a signature. A token without the id of a key needs an issuer with a single one."""
        return [key for key in self._keys if _fits(key, algorithm) and key_id in (None, key.get("kid"))]


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    uses = key.get("use") in (None, "sig") and key.get("alg") in (None, algorithm)
    curve = _CURVES.get(algorithm) in (None, key.get("crv"))
    return uses and curve and algorithm in _TYPES.get(str(key.get("kty")), ())


def _as_key(key: Mapping[str, Any], algorithm: str) -> Any:
    """Return a key as PyJWT takes it. Raises IssuerError."""
    jwt = import_module("jwt")
    public = {name: value for name, value in key.items() if name not in _PRIVATE}
    try:
        made = jwt.PyJWK(public, algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError) as error:
        raise IssuerError(f"the key {key.get('kid')!r} cannot be used: {error}") from error
    if getattr(made.key, "key_size", _RSA_BITS_LEAST) < _RSA_BITS_LEAST and key.get("kty") == "RSA":
        raise IssuerError(f"the key {key.get('kid')!r} has less than {_RSA_BITS_LEAST} bits")
    return made


def keys_reader(location: str, ca_file: Path | None) -> Callable[[], Mapping[str, Any]]:
    """Return the function that reads a JWKS. location: a path, or a URL"""
    if "://" in location:
        return lambda: read_document(location, ca_file)

    def read_file() -> Mapping[str, Any]:
        try:
            return as_object(Path(location).read_bytes(), location)
        except OSError as error:
            raise IssuerError(f"{location} cannot be read: {error}") from error

    return read_file
