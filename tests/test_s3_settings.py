"""The settings of object stores, as settings of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.settings.engine_settings import Settings, load

_KEY = "spark.hadoop.fs.s3a"


def _load(folder: Path, text: str, conf: dict[str, str] | None = None, /, **environ: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return load(home=folder, conf=conf, environ={"JETSQL_CONFIG": str(file), **environ})


def test_nothing_is_set_without_them(tmp_path: Path) -> None:
    settings = _load(tmp_path, "")
    assert settings.start_conf == {}
    assert settings.connectors(f"file:{tmp_path}") == ()


@pytest.mark.parametrize("origin", ["file", "environment", "storage"])
def test_the_connector_is_loaded(tmp_path: Path, origin: str) -> None:
    text = {"file": "s3 = true", "storage": "storage = 's3a://lake/home'"}.get(origin, "")
    settings = _load(tmp_path, text, **({"JETSQL_S3": "true"} if origin == "environment" else {}))
    assert settings.connectors(settings.storage or f"file:{tmp_path}") == ("s3",)


def test_another_store_than_amazons(tmp_path: Path) -> None:
    text = "s3_endpoint = 'http://127.0.0.1:9000/'\ns3_region = 'us-east-1'\ns3_path_style = true"
    assert _load(tmp_path, text).start_conf == {
        f"{_KEY}.endpoint": "http://127.0.0.1:9000",
        f"{_KEY}.endpoint.region": "us-east-1",
        f"{_KEY}.connection.ssl.enabled": "false",
        f"{_KEY}.path.style.access": "true",
    }
    settings = _load(tmp_path, text, {f"{_KEY}.endpoint.region": "local"})
    assert settings.start_conf[f"{_KEY}.endpoint.region"] == "local", "Spark's own settings have precedence"


def test_keys_stay_references(tmp_path: Path) -> None:
    text = "s3_access_key = 'secret:env:KEY'\ns3_secret_key = 'secret:file:/run/secrets/s3'"
    settings = _load(tmp_path, text, JETSQL_S3_SESSION_TOKEN="secret:env:TOKEN")
    assert settings.start_conf == {
        f"{_KEY}.access.key": "secret:env:KEY",
        f"{_KEY}.secret.key": "secret:file:/run/secrets/s3",
        f"{_KEY}.session.token": "secret:env:TOKEN",
    }
    assert settings.spark_conf == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3_secret_key = 'in the open'", "a reference to a secret"),
        ("s3_endpoint = '127.0.0.1:9000'", "the URL of an object store"),
        ("s3_region = 'eu central'", "the name of a region"),
        ("s3 = 'perhaps'", "true or false"),
    ],
)
def test_wrong_values(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(EngineError) as error:
        _load(tmp_path, text)
    assert error.value.condition == "JETSQL.INVALID_SETTING"
    assert expected in error.value.hint
    assert "in the open" not in str(error.value)
