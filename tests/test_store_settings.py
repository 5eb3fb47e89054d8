"""The settings of a store on PostgreSQL, and of Spark's catalogue in a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.home.store_url import StoreUrl, open_url, parse_url
from jetsql.settings.engine_settings import Settings, load
from jetsql.settings.store_settings import SCHEMA_CONFS

_KEY = "spark.hadoop.javax.jdo.option"
_URL = "postgresql://ann@db.example.com/jobs"


def _load(folder: Path, text: str = "", **environ: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return load(home=folder, environ={"JETSQL_CONFIG": str(file), **environ})


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("postgresql://h/d", StoreUrl("h", 5432, "d")),
        ("postgresql+psycopg://ann@h:5433/d?schema=two", StoreUrl("h", 5433, "d", "ann", schema="two")),
        ("postgresql://a%40b:p%3Aw%2F@[::1]/d%20e", StoreUrl("::1", 5432, "d e", "a@b", "p:w/")),
        ("postgresql://ann:secret:file:/etc/pw@h/d", StoreUrl("h", 5432, "d", "ann", "secret:file:/etc/pw")),
        ("postgresql://h/d?sslmode=require", StoreUrl("h", 5432, "d", tls={"sslmode": "require"})),
    ],
)
def test_the_parts_of_a_url(text: str, url: StoreUrl) -> None:
    assert parse_url(text) == url
    shown = parse_url(str(url))
    assert (shown.host, shown.port, shown.database, shown.user, shown.schema) == (
        url.host, url.port, url.database, url.user, url.schema
    )  # fmt: skip
    assert not shown.password and (not url.password or url.password not in repr(url))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://h/d", "a URL such as"),
        ("postgresql://h", "a URL such as"),
        ("postgresql:///d", "a URL such as"),
        ("postgresql://h:99999/d", "a URL such as"),
        ("postgresql://ann:in-the-open@h/d", "a URL without a password"),
        ("postgresql://h/d?schema=Two", "whose schema"),
        ("postgresql://h/d?schema=pg_x", "whose schema"),
        ("postgresql://h/d?options=-c", "not options"),
        ("", "a URL such as"),
    ],
)
def test_invalid_url(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(EngineError, match=expected) as caught:
        _load(tmp_path, f"store = '{text}'")
    assert "in-the-open" not in str(caught.value) and "store in" in str(caught.value)


def test_secrets_are_read_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _load(tmp_path, f"store = '{_URL}'\nstore_password = 'secret:env:PW'").store
    assert store.store is not None
    with pytest.raises(EngineError, match="store_password: the variable PW is not set"):
        open_url(store.store, store.store_password)
    monkeypatch.setenv("PW", "x")
    assert open_url(store.store, store.store_password).password == "x"
    monkeypatch.setenv("STORE", "postgresql://ann:y@h/d")
    whole = _load(tmp_path, JETSQL_STORE="secret:env:STORE").store.store
    assert whole == "secret:env:STORE" and open_url(whole, "secret:env:PW").password == "y"
    monkeypatch.setenv("STORE", "y@h/d")
    with pytest.raises(EngineError, match="INVALID_SETTING") as caught:
        open_url(whole, None)
    assert "y@h/d" not in str(caught.value)


def test_a_password_in_the_open_is_refused(tmp_path: Path) -> None:
    for name in ("store_password", "catalog_password"):
        with pytest.raises(EngineError, match="a reference to a secret") as caught:
            _load(tmp_path, f"{name} = 'in-the-open'")
        assert "in-the-open" not in str(caught.value)


def test_the_catalogue_is_in_the_schema_of_the_store(tmp_path: Path) -> None:
    text = f"store = '{_URL}?schema=two&sslmode=require'\nstore_password = 'secret:env:PW'\ncatalog = 'postgresql'"
    settings = _load(tmp_path, text)
    assert settings.connectors("file:/x") == ("postgresql",)
    parameters = "currentSchema=two&socketTimeout=30&sslmode=require"
    assert settings.start_conf == {
        f"{_KEY}.ConnectionURL": f"jdbc:postgresql://db.example.com:5432/jobs?{parameters}",
        f"{_KEY}.ConnectionUserName": "ann",
        f"{_KEY}.ConnectionPassword": "secret:env:PW",
        f"{_KEY}.ConnectionDriverName": "org.postgresql.Driver",
        **SCHEMA_CONFS,
    }
    assert settings.spark_conf == {}


def test_the_catalogue_is_in_any_database(tmp_path: Path) -> None:
    text = "catalog = 'jdbc:mysql://h/d'\ncatalog_user = 'ann'\ncatalog_password = 'secret:file:/x'"
    settings = _load(tmp_path, text)
    assert settings.connectors("file:/x") == ()
    assert settings.start_conf[f"{_KEY}.ConnectionURL"] == "jdbc:mysql://h/d"
    assert settings.start_conf[f"{_KEY}.ConnectionUserName"] == "ann"
    assert f"{_KEY}.ConnectionDriverName" not in settings.start_conf


def test_invalid_catalogues(tmp_path: Path) -> None:
    for wrong in ("postgres", "jdbc:postgresql://ann:x@h/d", "jdbc:postgresql://h/d?password=x"):
        with pytest.raises(EngineError, match="INVALID_SETTING"):
            _load(tmp_path, f"catalog = '{wrong}'")
    with pytest.raises(EngineError, match="store is not set"):
        assert _load(tmp_path, "catalog = 'postgresql'").start_conf
