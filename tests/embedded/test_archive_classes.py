"""The archive of Spark's classes is made by a command and used by the next engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from jetsql.engine.jvm.class_archive import ClassArchive, find_archive
from jetsql.home.storage import METASTORE
from tests.support.paths import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
_MAPPED = """
import jetsql, sys
with jetsql.open(home=sys.argv[1], master="local[1]", conf={"spark.driver.memory": "512m"}) as engine:
    print([row for row in engine.run("SHOW JOBS").rows])
    pid = engine.spark.sparkContext._gateway.proc.pid
    print(sys.argv[2] in open(f"/proc/{pid}/maps").read())
"""
_SCHEMAS = """
import jetsql, sys
with jetsql.open(home=sys.argv[1], master="local[1]", conf={"spark.driver.memory": "512m"}) as engine:
    engine.run("CREATE TABLE numbers (id BIGINT) USING json")
    for [name] in sorted(engine.run("SHOW SCHEMAS").rows):
        [location] = [row[1] for row in engine.run(f"DESCRIBE SCHEMA {name}").rows if row[0] == "Location"]
        print(name, location)
    print([row[1] for row in engine.run("SHOW TABLES").rows])
"""


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_SUBMIT_ARGS"}
    environment |= {"JETSQL_CLASS_ARCHIVES": str(folder), "JETSQL_CONFIG": os.devnull, **variables}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> ClassArchive:
    folder = tmp_path_factory.mktemp("cache") / "classes"
    ended = run(folder, "-m", "jetsql", "archive-classes")
    assert ended.returncode == 0, ended.stderr
    archive = find_archive(folder)
    assert archive is not None and str(archive.file) in ended.stderr
    return archive


def uses_archive(archive: ClassArchive, home: Path) -> bool:
    ended = run(archive.file.parent, "-c", _MAPPED, str(home), str(archive.file))
    assert ended.returncode == 0, ended.stderr
    jobs, mapped = ended.stdout.splitlines()
    assert jobs == "[]"
    return mapped == "True"


def test_the_next_engine_uses_the_archive(archive: ClassArchive, tmp_path: Path) -> None:
    assert uses_archive(archive, tmp_path / "home")
    assert sorted(file.suffix for file in archive.file.parent.iterdir()) == [".catalog", ".jsa", ".lock"]


def describe_schemas(archives: Path, home: Path) -> list[str]:
    """Return the schemas of a new home with their folders, and the table that it creates."""
    ended = run(archives, "-c", _SCHEMAS, str(home))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_new_home_has_a_copy_of_the_catalogue(archive: ClassArchive, tmp_path: Path) -> None:
    home = tmp_path / "it's new"
    warehouse = "file:" + quote(f"{home}/warehouse", safe="/'")  # as Hive writes it
    assert describe_schemas(archive.file.parent, home) == [
        f"default {warehouse}",
        f"jetsql {warehouse}/jetsql.db",
        "['numbers']",
    ]
    assert (home / METASTORE / "BACKUP.HISTORY").exists()
    assert not list(home.glob("*.incomplete"))


def test_damaged_catalogue_is_not_used(archive: ClassArchive, tmp_path: Path) -> None:
    archives, home = tmp_path / "classes", tmp_path / "home"
    archives.mkdir(mode=0o700)
    damaged = ClassArchive(archives / archive.file.name)
    shutil.copytree(archive.catalog, damaged.catalog)
    for file in (damaged.catalog / "seg0").iterdir():
        file.write_bytes(b"")
    assert len(describe_schemas(archives, home)) == 3
    assert not (home / METASTORE / "BACKUP.HISTORY").exists()


def test_a_damaged_archive_does_not_prevent_a_start(archive: ClassArchive, tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    folder.mkdir(mode=0o700)
    damaged = ClassArchive(folder / archive.file.name)
    damaged.file.write_bytes(archive.file.read_bytes()[:100_000])
    damaged.file.chmod(0o400)
    assert not uses_archive(damaged, tmp_path / "home")
    assert "Java ended immediately" in damaged.failure.read_text(encoding="utf-8") and not damaged.file.exists()


def test_a_java_that_cannot_make_an_archive(tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    options = {"JAVA_TOOL_OPTIONS": "-XX:ArchiveClassesAtExit=/nowhere/file.jsa -Xshare:off"}
    ended = run(folder, "-m", "jetsql", "archive-classes", **options)
    assert ended.returncode == 3
    assert "CLASSES_NOT_ARCHIVED" in ended.stderr and "Engines start as before" in ended.stderr
    run(folder, "-m", "jetsql.embedded.archive_classes", str(folder), **options)
    missing = find_archive(folder)
    assert missing is not None and "not archived" in missing.failure.read_text(encoding="utf-8")
