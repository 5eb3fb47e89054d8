"""The settings of OpenLineage events: URLs, keys, and where they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.jobs.openlineage.openlineage_settings import HttpReceiver, OpenLineageSettings
from jetsql.settings.engine_settings import load
from tests.support.golden_reports import raises

HTTPS = "https://data.example/api/v1/lineage"
LOOPBACK = "http://127.0.0.1:5000/api/v1/lineage"


def settings(tmp_path: Path, text: str) -> OpenLineageSettings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load(environ={"JETSQL_CONFIG": str(file)}).openlineage


def test_url_without_a_path_gets_the_path_of_openlineage(tmp_path: Path) -> None:
    found = settings(tmp_path, "openlineage_url = 'http://marquez:5000'")
    assert (found.openlineage_url, found.is_on) == ("http://marquez:5000/api/v1/lineage", True)
    found = settings(tmp_path, "openlineage_url = 'https://data.example/openlineage?source=1'")
    assert found.openlineage_url == "https://data.example/openlineage?source=1"


def test_file_is_next_to_the_configuration(tmp_path: Path) -> None:
    found = settings(tmp_path, "openlineage_file = 'events.jsonl'")
    assert (found.openlineage_file, found.is_on) == (tmp_path / "events.jsonl", True)
    assert not settings(tmp_path, "").is_on


@pytest.mark.parametrize(
    "url", ["marquez:5000", "ftp://host", "http://ann:pw@host", "https://", "http://h:x", "http://a b"]
)
def test_wrong_url_is_an_error_of_the_file(tmp_path: Path, url: str) -> None:
    with raises(EngineError) as caught:
        settings(tmp_path, f"openlineage_url = '{url}'")
    assert "without user and password" in caught.value.hint
    assert "pw" not in caught.value.message


def test_key_is_a_secret_that_needs_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OL_KEY", "abc")
    key = "openlineage_api_key = 'secret:env:OL_KEY'\nopenlineage_url = "
    assert settings(tmp_path, key + "'https://data.example'").receiver() == HttpReceiver(HTTPS, "abc")
    assert settings(tmp_path, key + "'http://127.0.0.1:5000/'").receiver() == HttpReceiver(LOOPBACK, "abc")
    with raises(EngineError) as caught:
        settings(tmp_path, key + "'http://data.example'").receiver()
    assert "no TLS" in caught.value.message
    monkeypatch.setenv("OL_KEY", "a\nb")
    with raises(EngineError) as caught:
        settings(tmp_path, key + "'https://data.example'").receiver()
    assert "a\nb" not in caught.value.message


def test_url_can_be_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OL_URL", "https://data.example?token=abc")
    receiver = settings(tmp_path, "openlineage_url = 'secret:env:OL_URL'").receiver()
    assert receiver is not None
    assert (receiver.url, receiver.name) == ("https://data.example?token=abc", "https://data.example")
    monkeypatch.setenv("OL_URL", "data.example?token=abc")
    with raises(EngineError) as caught:
        settings(tmp_path, "openlineage_url = 'secret:env:OL_URL'").receiver()
    assert "abc" not in caught.value.message
