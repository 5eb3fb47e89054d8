"""Certificates for tests: an authority, and the certificates of servers that it signs."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
LOOPBACK = ("localhost", "127.0.0.1")


def new_key(rsa_bits: int = 0) -> PrivateKey:
    """Return a new key: of an elliptic curve, or of RSA with so many bits."""
    return rsa.generate_private_key(65537, rsa_bits) if rsa_bits else ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True)
class Files:
    """The files of a server's certificate."""

    certificate: Path
    key: Path


class Authority:
    """An authority whose certificate is in a file."""

    def __init__(self, folder: Path, name: str = "Test authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._key = new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(self._name, self._key.public_key(), timedelta(days=-1), timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / "ca.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self,
        files: Files,
        names: Sequence[str] = LOOPBACK,
        begins: timedelta = timedelta(days=-1),
        ends: timedelta = timedelta(days=2),
        key: PrivateKey | None = None,
        form: PrivateFormat = PrivateFormat.PKCS8,
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH,
    ) -> Files:
        """Write a certificate for these names, and its key with mode 0600; the files are replaced."""
        key = key or new_key()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = (
            self._builder(subject, key.public_key(), begins, ends)
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        _replace(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))
        write_key(files.key, key, form)
        return files

    def _builder(self, subject: x509.Name, key: object, begins: timedelta, ends: timedelta) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name)
        builder = builder.public_key(key).serial_number(x509.random_serial_number())  # type: ignore[arg-type]
        return builder.not_valid_before(now + begins).not_valid_after(now + ends)


def write_key(
    file: Path, key: PrivateKey, form: PrivateFormat = PrivateFormat.PKCS8, passphrase: bytes | None = None
) -> None:
    """Write a private key with mode 0600."""
    encryption = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    _replace(file, key.private_bytes(serialization.Encoding.PEM, form, encryption))


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _replace(file: Path, content: bytes) -> None:
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(content)
    new.chmod(0o600)
    os.replace(new, file)
