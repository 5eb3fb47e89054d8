"""The catalogues of config.toml and the table formats, as settings of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.errors import EngineError
from jetsql.settings.engine_settings import Settings, load

_DELTA = "io.delta.sql.DeltaSparkSessionExtension"
_ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def _load(folder: Path, text: str, conf: dict[str, str] | None = None, **environ: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return load(home=folder, conf=conf, environ={"JETSQL_CONFIG": str(file), **environ})


def test_delta_extends_the_catalogue_of_the_session(tmp_path: Path) -> None:
    settings = _load(tmp_path, "delta = true")
    assert settings.formats == ("delta",)
    assert settings.start_conf == {
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
        "spark.sql.extensions": _DELTA,
    }
    assert _load(tmp_path, "", JETSQL_DELTA="true").start_conf == settings.start_conf
    assert _load(tmp_path, "[catalogs.spark_catalog]\ntype = 'delta'").start_conf == settings.start_conf
    assert _load(tmp_path, "").start_conf == {}


def test_delta_table_state_needs_few_tasks_on_one_machine(tmp_path: Path) -> None:
    key = "spark.databricks.delta.snapshotPartitions"
    assert key not in _load(tmp_path, "delta = true\nmaster = 'spark://host:7077'").start_conf
    assert _load(tmp_path, f"delta = true\n{key} = 8").start_conf[key] == "8"


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("hadoop", {"warehouse": "/data/lake"}),
        ("jdbc", {"uri": "jdbc:sqlite:/data/lake.db", "warehouse": "/data/lake", "jdbc.user": "me"}),
        ("rest", {"uri": "https://lake", "credential": "secret:env:LAKE"}),
        ("hive", {}),
    ],
)
def test_a_catalogue_of_iceberg(tmp_path: Path, kind: str, keys: dict[str, str]) -> None:
    lines = "\n".join(f"{key} = '{value}'" for key, value in keys.items())
    settings = _load(tmp_path, f"[catalogs.lake]\ntype = 'iceberg'\nkind = '{kind}'\n{lines}")
    assert settings.formats == ("iceberg",)
    assert settings.start_conf == {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": kind,
        **{f"spark.sql.catalog.lake.{key}": value for key, value in keys.items()},
        "spark.sql.extensions": _ICEBERG,
    }


def test_catalogues_of_iceberg_whose_versions_are_in_a_server(tmp_path: Path) -> None:
    text = "[catalogs.{0}]\ntype = 'iceberg'\nkind = '{0}'\nuri = 'x'\nwarehouse = '/data/{0}'\n"
    settings = _load(tmp_path, "".join(text.format(kind) for kind in ("hadoop", "jdbc", "rest", "hive")))
    assert settings.iceberg_servers == {"jdbc": "/data/jdbc", "rest": "/data/rest"}


def test_catalogues_of_other_classes(tmp_path: Path) -> None:
    settings = _load(tmp_path, "[catalogs.other]\ntype = 'com.example.Catalog'\nsize = 3\ndeep.er = true")
    assert settings.formats == ()
    assert settings.start_conf == {
        "spark.sql.catalog.other": "com.example.Catalog",
        "spark.sql.catalog.other.size": "3",
        "spark.sql.catalog.other.deep.er": "true",
    }


def test_settings_of_the_user_stay(tmp_path: Path) -> None:
    text = "delta = true\n[catalogs.lake]\ntype = 'iceberg'\nkind = 'hadoop'\nwarehouse = '/data/lake'"
    conf = {
        "spark.sql.extensions": f"com.example.Mine, {_ICEBERG}",
        "spark.sql.catalog.spark_catalog": "com.example.Session",
        "spark.sql.catalog.lake.warehouse": "/elsewhere",
    }
    settings = _load(tmp_path, text, conf)
    assert settings.start_conf["spark.sql.extensions"] == f"com.example.Mine,{_ICEBERG},{_DELTA}"
    assert settings.start_conf["spark.sql.catalog.spark_catalog"] == "com.example.Session"
    assert settings.start_conf["spark.sql.catalog.lake.warehouse"] == "/elsewhere"
    assert settings.start_conf["spark.sql.catalog.lake.type"] == "hadoop"
    assert settings.spark_conf == conf, "the settings of catalogues are not the user's"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("catalogs = 3", "catalogs is 3. Write a section [catalogs.NAME]"),
        ("catalogs.lake = 'x'", "[catalogs.lake] is not a section"),
        ("[catalogs.'a-b']\ntype = 'iceberg'", "has letters, digits and underscores"),
        ("[catalogs.lake]\nkind = 'hadoop'", "has the type ''. The type is iceberg, delta, or"),
        ("[catalogs.lake]\ntype = 'delta'", "write [catalogs.spark_catalog]"),
        ("[catalogs.lake]\ntype = 'iceberg'\nkind = 'hadop'", "Did you mean hadoop?"),
        ("[catalogs.lake]\ntype = 'iceberg'", "Kinds: hadoop, jdbc, rest, hive."),
        ("[catalogs.lake]\ntype = 'iceberg'\nkind = 'hadoop'", "has no warehouse"),
        ("[catalogs.lake]\ntype = 'iceberg'\nkind = 'jdbc'\nwarehouse = 'w'", "has no uri"),
        ("[catalogs.lake]\ntype = 'iceberg'\nkind = 'rest'\nuri = 'u'\nwharehouse = 'w'", "Did you mean warehouse?"),
        ("[catalogs.spark_catalog]\ntype = 'delta'\nwarehouse = 'w'", "type delta has no further keys"),
    ],
)
def test_refused_catalogues(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(EngineError) as error:
        _load(tmp_path, text)
    assert error.value.condition == "JETSQL.INVALID_SETTING"
    assert message in error.value.explanation
