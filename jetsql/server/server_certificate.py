"""The certificate of an engine's endpoints: its checks at the start, and its renewal while the engine runs.

The files are checked for changes when a client connects, so a renewed certificate serves the next connection. Those
that are open continue with the old one. A renewed certificate that is not usable is reported in the log, and the old
one stays.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jetsql.errors import EngineError
from jetsql.home.pinned_certificate import trusting
from jetsql.home.private_files import regular_opener
from jetsql.settings.engine_settings import EndpointSettings

_LOG: Final = logging.getLogger(__name__)
# Forward secrecy and authenticated encryption only; those of TLS 1.3 all are of this kind.
CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_CERTIFICATE: Final = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_EXPIRED: Final = 10  # numbers of OpenSSL's X509_verify_cert_error_string
_NOT_YET_VALID: Final = 9
_REASONS: Final = {
    "KEY_VALUES_MISMATCH": "The private key does not belong to the certificate.",
    "EE_KEY_TOO_SMALL": "The key of the certificate is too short.",
    "CA_MD_TOO_WEAK": "The certificate has a signature that is too weak.",
}

FileState = tuple[int, ...]


@dataclass(frozen=True)
class _Loaded:
    """A certificate that is in use."""

    context: ssl.SSLContext
    own: str  # the engine's certificate in PEM, without those of its authorities
    ends: str  # the end of its validity


class ServerCertificate:
    """The certificate and the key in the files of the settings."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises EngineError CERTIFICATE_NOT_USABLE."""
        self.files = (certificate, key)
        self.on_renewal: Callable[[], None] = lambda: None
        """Called after another certificate was read."""
        self._state = _state(self.files)
        self._loaded = _load(*self.files)
        _LOG.info("The certificate %s is valid until %s", certificate, self._loaded.ends)

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection, with the certificate that the files have now."""
        state = _state(self.files)
        if state != self._state:
            self._state = state
            self._renew()
        return self._loaded.context

    @property
    def own(self) -> str:
        """Return the certificate that is in use, in PEM, without those of its authorities."""
        return self._loaded.own

    def _renew(self) -> None:
        try:
            self._loaded = _load(*self.files)
        except EngineError as error:
            _LOG.error("The endpoints still use the last certificate, because the new one is not usable: %s", error)
            return
        _LOG.info("The endpoints use a new certificate, which is valid until %s", self._loaded.ends)
        self.on_renewal()


def open_certificate(settings: EndpointSettings) -> ServerCertificate | None:
    """Return the certificate of the settings; None without one.

    Raises EngineError CERTIFICATE_NOT_USABLE, and INVALID_SETTING for only one of the two files.
    """
    certificate, key = settings.tls_cert, settings.tls_key
    if certificate is not None and key is not None:
        return ServerCertificate(certificate, key)
    if certificate is None and key is None:
        return None
    given, missing = ("tls_cert", "tls_key") if key is None else ("tls_key", "tls_cert")
    message = f"The setting {given} is set, but {missing} is not."
    raise EngineError("INVALID_SETTING", message, hint=f"Set {missing}, or unset {given} for endpoints without TLS.")


def _state(files: tuple[Path, ...]) -> FileState | None:
    """Return what changes when a file is replaced or written; None if one is missing."""
    try:
        found = [os.stat(file) for file in files]
    except OSError:
        return None
    return tuple(
        part for each in found for part in (each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns)
    )


def _load(certificate: Path, key: Path) -> _Loaded:
    text = _read(certificate, "tls_cert")
    _read(key, "tls_key", is_private=True)
    own = _CERTIFICATE.search(text)
    if own is None:
        raise _not_usable(f"The file {certificate} (tls_cert) has no certificate in PEM.", "Name a file in PEM.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    try:
        context.load_cert_chain(certificate, key, password=_refuse_encrypted)
    except _EncryptedKey:
        hint = "Write it without a passphrase, with mode 0600: openssl pkey -in KEY -out KEY.pem"
        raise _not_usable(f"The private key {key} (tls_key) is encrypted.", hint) from None
    except (OSError, ValueError) as error:  # SSLError is an OSError
        code = getattr(error, "reason", None) or ""
        reason = _REASONS.get(code, f"They are not readable: {code or error}.")
        message = f"{reason} The files are {certificate} (tls_cert) and {key} (tls_key)."
        raise _not_usable(message, "Name a certificate and its private key, both in PEM.") from error
    return _Loaded(context, own[0], _try(context, own[0], certificate))


class _EncryptedKey(Exception):
    """The key has a passphrase."""


def _refuse_encrypted() -> str:
    """Refuse to answer: without this function, OpenSSL asks for the passphrase at the terminal."""
    raise _EncryptedKey


def _read(file: Path, setting: str, is_private: bool = False) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace", opener=regular_opener) as reading:
            mode = os.fstat(reading.fileno()).st_mode
            if is_private and mode & stat.S_IRWXO:
                message = f"Other users of this machine can access the private key {file} ({setting})."
                raise _not_usable(message, f"Run chmod o= {file}, and make a new key if it was so for long.")
            return reading.read()
    except OSError as error:
        message = f"The file {file} ({setting}) cannot be read: {error.strerror or error}."
        raise _not_usable(message, "Name a file that the user of the engine can read.") from error


def _try(server: ssl.SSLContext, own: str, file: Path) -> str:
    """Connect to the certificate in memory, as a client that trusts it, and return the end of its validity."""
    client = trusting(own)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for _ in range(4):
            for each in ends:
                try:
                    each.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        return str((ends[0].getpeercert() or {}).get("notAfter", ""))
    except ssl.SSLCertVerificationError as error:
        what = {_EXPIRED: "has expired", _NOT_YET_VALID: "is not valid yet"}.get(error.verify_code)
        reason = what or f"is not one of a server: {error.verify_message}"
        raise _not_usable(f"The certificate {file} (tls_cert) {reason}.", "Renew it.") from error
    except (OSError, ValueError) as error:
        raise _not_usable(f"The certificate {file} (tls_cert) is not usable: {error}.", "Make a new one.") from error


def _not_usable(message: str, hint: str) -> EngineError:
    return EngineError("CERTIFICATE_NOT_USABLE", message, hint=hint)
