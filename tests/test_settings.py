"""Settings: the precedence of their sources, and the error for a wrong value in each source."""

import os
from pathlib import Path

import platformdirs
import pytest

from jetsql.errors import EngineError
from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.engine_settings import Settings, load
from tests.support.golden_reports import raises


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment whose file of settings exists and is empty."""
    file = tmp_path / "config.toml"
    file.touch()
    return {"JETSQL_CONFIG": str(file)}


def write(environ: dict[str, str], text: str) -> None:
    Path(environ["JETSQL_CONFIG"]).write_text(text, encoding="utf-8")


def test_defaults(environ: dict[str, str]) -> None:
    settings = load(environ=environ)
    assert settings == Settings(home=settings.home, class_archives=settings.class_archives)
    assert settings.class_archives == platformdirs.user_cache_path("jetsql", appauthor=False) / "classes"
    assert settings.home.is_absolute()
    assert (settings.master, settings.single_file_bytes, settings.old_versions_seconds) == ("local[*]", 2**18, 600)
    assert settings.jobs == JobSettings()


def test_flags_win_over_environment_over_file(environ: dict[str, str], tmp_path: Path) -> None:
    text = "home = '/file'\nmaster = 'local[1]'\ncreate_wait_seconds = 1\nstop_deadline_seconds = 2\n"
    write(environ, text + "ended_jobs_days = 0.5\nended_jobs_most = 0\n")
    environ |= {"JETSQL_MASTER": "local[2]", "JETSQL_CREATE_WAIT_SECONDS": "1.5", "JETSQL_HOME": "/environment"}
    settings = load(home=tmp_path, environ=environ)
    assert settings.home == tmp_path
    assert settings.master == "local[2]"
    assert settings.jobs == JobSettings(
        create_wait_seconds=1.5, stop_deadline_seconds=2, ended_jobs_days=0.5, ended_jobs_most=0
    )


def test_sparks_settings_come_from_all_three_and_are_joined(environ: dict[str, str]) -> None:
    write(environ, "spark.ui.enabled = true\n[spark.sql]\nshuffle.partitions = 4\n'ansi.enabled' = false\n")
    environ["JETSQL_CONF"] = "spark.a='two words' spark.sql.shuffle.partitions=5"
    assert load(conf={"spark.sql.shuffle.partitions": "6"}, environ=environ).spark_conf == {
        "spark.ui.enabled": "true",
        "spark.sql.ansi.enabled": "false",
        "spark.a": "two words",
        "spark.sql.shuffle.partitions": "6",
    }


@pytest.mark.parametrize("origin", ["file", "environment", "flag"])
def test_old_name_of_a_setting_gives_a_warning(
    environ: dict[str, str], origin: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Release 0.1 called it look_seconds."""
    write(environ, "look_seconds = 3\n" if origin == "file" else "")
    environ |= {"JETSQL_LOOK_SECONDS": "3"} if origin == "environment" else {}
    flags = {"look_seconds": "3"} if origin == "flag" else {}
    assert load(environ=environ, flags=flags).streaming_select_seconds == 3
    assert "look_seconds" in caplog.text.lower().replace("-", "_") and "streaming_select_seconds" in caplog.text


def test_new_name_of_a_setting_overrides_the_old_one(environ: dict[str, str]) -> None:
    write(environ, "streaming_select_seconds = 4\nlook_seconds = 3\n")
    assert load(environ=environ).streaming_select_seconds == 4
    assert load(environ={**environ, "JETSQL_LOOK_SECONDS": "5"}).streaming_select_seconds == 5


def test_error_under_an_old_name_names_it(environ: dict[str, str]) -> None:
    write(environ, "look_seconds = 'soon'\n")
    with pytest.raises(EngineError, match=r"look_seconds in .* is .soon."):
        load(environ=environ)


def test_an_empty_variable_is_none(environ: dict[str, str]) -> None:
    assert load(environ={**environ, "JETSQL_MASTER": ""}).master == "local[*]"


def test_a_relative_home_in_the_file_is_meant_from_there(environ: dict[str, str], tmp_path: Path) -> None:
    write(environ, "home = 'engine'")
    assert load(environ=environ).home == tmp_path / "engine"


def test_missing_file_is_accepted(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
        patch.setenv("HOME", str(tmp_path / "none"))
        assert load(environ={}).master == "local[*]"


def test_identity_provider(environ: dict[str, str], tmp_path: Path) -> None:
    write(environ, "jwt_issuer = 'https://a.example/'\njwt_audience = ['x', 'y']\njwt_keys = 'keys.json'\n")
    identity = load(environ={**environ, "JETSQL_OIDC_SCOPES": "openid, email"}).identity
    assert (identity.jwt_issuer, identity.jwt_audience) == ("https://a.example/", ("x", "y"))
    assert (identity.jwt_keys, identity.oidc_scopes) == (str(tmp_path / "keys.json"), ("openid", "email"))
    write(environ, "jwt_issuer = 'http://[::1]:8080'\njwt_keys = 'https://a.example/keys'\njwt_audience = 'x'\n")
    identity = load(environ=environ).identity
    assert (identity.jwt_keys, identity.jwt_audience) == ("https://a.example/keys", ("x",))


def refusal(environ: dict[str, str], **flags: object) -> str:
    with raises(EngineError) as caught:
        load(environ=environ, **flags)  # type: ignore[arg-type]
    assert caught.value.condition == "JETSQL.INVALID_SETTING"
    return caught.value.explanation


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("create_wait = 3", "there is no setting 'create_wait'. Did you mean create_wait_seconds?"),
        ("cheese = 3", "Settings: home, master,"),
        ("create_wait_seconds = 'soon'", "a number of seconds, 0 or more"),
        ("create_wait_seconds = true", "a number of seconds, 0 or more"),
        ("stop_deadline_seconds = nan", "a number of seconds, 0 or more"),
        ("stop_deadline_seconds = -1", "a number of seconds, 0 or more"),
        ("single_file_bytes = 1.5", "a whole number of bytes"),
        ("single_file_bytes = 0", "a whole number of bytes"),
        ("ended_jobs_days = -1", "a number of days, 0 or more"),
        ("ended_jobs_most = 1.5", "a whole number, 0 or more"),
        ("ended_jobs_most = true", "a whole number, 0 or more"),
        ("kubernetes_jobs_user = ' '", "the name of a user"),
        ("kubernetes_jobs_user = 'Engine'", "a user other than those of the engine"),
        ("driver_memory = 2", "a size such as 900m or 2g"),
        ("driver_memory = 'much'", "a size such as 900m or 2g"),
        ("home = 3", "the path of a folder"),
        ("home = ''", "the path of a folder"),
        ("home = 'a;b'", "a path without"),
        ("home = '~no-such-user/x'", "with an existing user after ~"),
        ("master = ' '", "a master URL"),
        ("storage = ''", "the path of a folder, or a URI"),
        ("storage = 'hdfs://host/a b'", "the path of a folder, or a URI"),
        ("storage = 'a;b'", "a path without"),
        ("spark = 3", "full names"),
        ("spark.'a b' = 3", "not a Spark setting"),
        ("= 3", "is not valid TOML"),
        ("jwt_issuer = 'http://issuer.example'", "a URL with https, or with http of this machine"),
        ("jwt_issuer = 'https://user@issuer.example'", "a URL with https, or with http of this machine"),
        ("jwt_issuer = 'ftp://127.0.0.1'", "a URL with https, or with http of this machine"),
        ("jwt_keys = 'http://192.0.2.1/keys'", "a URL with https, or with http of this machine"),
        ("jwt_audience = []", "one or several texts"),
        ("jwt_user_claim = 'a..b'", "the name of a claim"),
        ("oidc_client_id = 'a b'", "a text without blanks"),
        ("oidc_client_secret = 'a secret'", "a reference to a secret"),
    ],
)
def test_error_in_the_file_names_it(environ: dict[str, str], text: str, part: str) -> None:
    write(environ, text)
    message = refusal(environ)
    assert part in message
    assert environ["JETSQL_CONFIG"] in message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("hdfs://host:8020/jetsql/", "hdfs://host:8020/jetsql"),
        ("s3a://bucket/a/b", "s3a://bucket/a/b"),
        ("file:/shared/jetsql", "file:/shared/jetsql"),
        ("/shared/jetsql/", "/shared/jetsql"),
        ("beside", "{here}/beside"),
    ],
)
def test_a_storage_is_a_uri_or_a_folder(environ: dict[str, str], text: str, place: str) -> None:
    write(environ, f"storage = '{text}'")
    assert load(environ=environ).storage == place.format(here=Path(environ["JETSQL_CONFIG"]).parent)


def test_a_file_that_cannot_be_read(environ: dict[str, str], tmp_path: Path) -> None:
    assert "Cannot read" in refusal({"JETSQL_CONFIG": str(tmp_path / "missing.toml")})
    assert "Cannot read" in refusal({"JETSQL_CONFIG": str(tmp_path)})
    Path(environ["JETSQL_CONFIG"]).write_bytes(b"\xff")
    assert "not UTF-8" in refusal(environ)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("JETSQL_DRIVER_MEMORY", "2"), ("JETSQL_STOP_DEADLINE_SECONDS", "x"), ("JETSQL_CONF", "a"), ("JETSQL_CONF", "'")],
)
def test_error_in_the_environment_names_the_variable(environ: dict[str, str], variable: str, value: str) -> None:
    assert refusal({**environ, variable: value}).startswith(f"{variable} in the environment")


def test_error_in_a_flag_names_it(environ: dict[str, str]) -> None:
    assert refusal(environ, home="").startswith("--home")
    assert refusal(environ, home="~no-such-user/x").startswith("--home")
    assert refusal(environ, conf={"shuffle.partitions": "3"}).startswith("--conf: 'shuffle.partitions'")


def test_every_setting_may_name_a_secret(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("10001\n", encoding="utf-8")
    environ = {"JETSQL_CONFIG": os.devnull, "JETSQL_THRIFT_PORT": f"secret:file:{secret}"}
    assert load(environ=environ).endpoints.thrift_port == 10001


def test_an_error_of_a_setting_does_not_show_the_secret(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hush\n", encoding="utf-8")
    with pytest.raises(EngineError) as caught:
        load(environ={"JETSQL_CONFIG": os.devnull, "JETSQL_THRIFT_PORT": f"secret:file:{secret}"})
    assert "port number" in str(caught.value) and "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("secret:env:MISSING", "variable MISSING is not set"),
        ("secret:file:/no/such/file", "No such file"),
        ("secret:file:", "is not a reference"),
        ("secret:env:", "is not a reference"),
        ("secret:vault:x", "is not a reference"),
    ],
)
def test_error_of_an_unreadable_secret_names_the_setting(value: str, reason: str) -> None:
    with pytest.raises(EngineError) as caught:
        load(environ={"JETSQL_CONFIG": os.devnull, "JETSQL_THRIFT_PORT": value})
    assert caught.value.condition == "JETSQL.SECRET_NOT_READABLE"
    assert "JETSQL_THRIFT_PORT" in caught.value.message and reason in caught.value.message


def test_settings_of_spark_stay_references_until_spark_starts() -> None:
    conf = {"spark.hadoop.fs.s3a.secret.key": "secret:env:S3"}
    assert load(conf=conf, environ={"JETSQL_CONFIG": os.devnull}).spark_conf == conf


@pytest.mark.parametrize(("value", "folder"), (("none", None), ("/archives", Path("/archives"))))
def test_the_folder_of_class_archives(environ: dict[str, str], value: str, folder: Path | None) -> None:
    assert load(environ=environ | {"JETSQL_CLASS_ARCHIVES": value}).class_archives == folder
    write(environ, f'class_archives = "{value}"')
    assert load(environ=environ).class_archives == folder


def test_paths_of_spark_settings_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return absolute paths, because an engine leaves the folder in which it is started."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "etc" / "config.toml"
    file.parent.mkdir()
    file.write_text('[spark]\nfiles = "a.txt"\n')
    conf = {
        "spark.jars": "a.jar,/b.jar, hdfs://names/c.jar",
        "spark.driver.extraClassPath": f"lib{os.pathsep}/opt",
        "spark.local.dir": "secret:env:FOLDER",
        "spark.my.password": "secret:file:pass",
        "spark.app.name": "a.jar",
    }
    assert load(conf=conf, environ={"JETSQL_CONFIG": str(file)}).spark_conf == {
        "spark.files": f"{tmp_path}/etc/a.txt",
        "spark.jars": f"{tmp_path}/a.jar,/b.jar,hdfs://names/c.jar",
        "spark.driver.extraClassPath": f"{tmp_path}/lib{os.pathsep}/opt",
        "spark.local.dir": "secret:env:FOLDER",
        "spark.my.password": f"secret:file:{tmp_path}/pass",
        "spark.app.name": "a.jar",
    }
