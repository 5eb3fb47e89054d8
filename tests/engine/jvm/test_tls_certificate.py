"""The certificate of the endpoints in Java: forms of keys, and files that are not usable."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.jvm.java_classes import java
from jetsql.engine.spark.spark_endpoints import read_certificate
from jetsql.errors import EngineError
from tests.support.servers.certificates import Authority, Files, new_key, write_key

pytestmark = pytest.mark.spark


@pytest.fixture
def spark(engine: EngineInstance) -> SparkSession:
    return engine.spark


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "cert.pem", tmp_path / "key.pem")


def serial(certificate: Any, kind: str = "EC") -> int:
    """Return the serial number of the certificate for a new connection."""
    alias = certificate.chooseServerAlias(kind, None, None)
    return int(certificate.getCertificateChain(alias)[0].getSerialNumber().toString())


@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("bits", [0, 2048, 4096])
def test_all_forms_of_keys_are_read(
    spark: SparkSession, authority: Authority, files: Files, form: PrivateFormat, bits: int
) -> None:
    authority.issue(files, key=new_key(bits), form=form)
    certificate = java(spark).endpoints.TlsCertificate.read(str(files.certificate), str(files.key))
    kind = "RSA" if bits else "EC"
    assert certificate.getPrivateKey(certificate.chooseServerAlias(kind, None, None)) is not None
    assert certificate.chooseServerAlias("EC" if bits else "RSA", None, None) is None


def test_files_that_are_not_usable_are_refused(spark: SparkSession, authority: Authority, files: Files) -> None:
    authority.issue(files)
    write_key(files.key, new_key())
    with pytest.raises(EngineError, match="does not belong to the certificate") as caught:
        read_certificate(spark, files.certificate, files.key)
    assert caught.value.condition == "JETSQL.CERTIFICATE_NOT_USABLE"
    files.key.write_text("nothing")
    with pytest.raises(EngineError, match="no private key in PEM"):
        read_certificate(spark, files.certificate, files.key)
    authority.issue(files, ends=timedelta(seconds=-1))
    with pytest.raises(EngineError, match="NotAfter"):
        read_certificate(spark, files.certificate, files.key)
    files.certificate.unlink()
    with pytest.raises(Py4JJavaError, match="NoSuchFile"):
        java(spark).endpoints.TlsCertificate.read(str(files.certificate), str(files.key))


def test_a_renewed_certificate_is_used_when_it_is_usable(
    spark: SparkSession, authority: Authority, files: Files
) -> None:
    authority.issue(files)
    certificate = java(spark).endpoints.TlsCertificate.read(str(files.certificate), str(files.key))
    first = serial(certificate)
    begun = certificate.chooseServerAlias("EC", None, None)
    key = files.key.read_bytes()
    authority.issue(files)
    renewed, files_key = files.certificate.read_bytes(), files.key.read_bytes()
    files.key.write_bytes(key)  # the certificate is replaced first
    assert serial(certificate) == first
    files.key.write_bytes(files_key)
    second = serial(certificate)
    assert second != first
    assert certificate.getPrivateKey(begun) is not None  # a handshake ends with the certificate that it began with
    assert int(certificate.getCertificateChain(begun)[0].getSerialNumber().toString()) == first
    files.certificate.unlink()
    assert serial(certificate) == second
    files.certificate.write_bytes(renewed)
    assert serial(certificate) == second
