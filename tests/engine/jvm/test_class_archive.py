"""Find, use and request the archive of Spark's classes. No test here starts Java."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from jetsql.engine.jvm import class_archive
from jetsql.engine.jvm.class_archive import ClassArchive, archive_later, archive_options, find_archive


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a Java that is only files, and return its folder."""
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text('JAVA_VERSION="17.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a Spark that is only files, and return the folder of its jars."""
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / f"spark-core_2.13-{pyspark.__version__}.jar").write_text("1")
    monkeypatch.setenv("SPARK_HOME", str(jars.parent))
    return jars


@pytest.fixture
def folder(tmp_path: Path, java: Path, spark: Path) -> Path:
    archives = tmp_path / "classes"
    archives.mkdir(mode=0o700)
    return archives


def archive_of(folder: Path) -> ClassArchive:
    archive = find_archive(folder)
    assert archive is not None
    archive.file.write_text("classes")
    archive.file.chmod(0o600)
    return archive


def test_an_archive_is_used(folder: Path) -> None:
    assert archive_options(folder) == ()
    archive = archive_of(folder)
    assert archive_options(folder)[0] == f"-XX:SharedArchiveFile={archive.file}"
    assert archive_options(None) == ()


def test_archive_that_cannot_be_read_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = archive_of(folder)
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, mode: mode != os.R_OK)
        assert archive_options(folder) == () and archive.exists()
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", raise_permission_error)
        assert archive_options(folder) == () and not archive.exists() and archive.is_missing()


def raise_permission_error(*path: object, **options: object) -> None:
    raise PermissionError("closed folder")


def test_another_java_or_spark_has_another_archive(folder: Path, java: Path, spark: Path) -> None:
    archive_of(folder)
    (java / "release").write_text('JAVA_VERSION="17.0.2"')
    assert archive_options(folder) == ()
    archive_of(folder)
    (spark / f"spark-core_2.13-{pyspark.__version__}.jar").write_text("another")
    assert archive_options(folder) == ()
    archive_of(folder)
    (spark / "more.jar").write_text("")
    assert archive_options(folder) == ()


def test_without_java_there_is_no_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(folder))
    assert find_archive(folder) is None and archive_options(folder) == ()
    assert archive_later(folder) is None


@pytest.mark.parametrize("mode", (0o770, 0o707, 0o777))
def test_an_archive_that_others_can_write_is_not_used(folder: Path, mode: int) -> None:
    archive = archive_of(folder)
    archive.file.chmod(mode)
    assert archive_options(folder) == ()
    archive.file.chmod(0o600)
    folder.chmod(mode)
    assert archive_options(folder) == ()
    folder.chmod(0o700)
    assert archive_options(folder) != ()


@pytest.mark.skipif(os.getuid() != 0, reason="only the administrator can give a file away")
def test_an_archive_of_another_user_is_not_used(folder: Path) -> None:
    archive = archive_of(folder)
    os.chown(archive.file, 65534, 65534)
    assert archive_options(folder) == ()


def test_catalogue_that_others_can_write_is_not_copied(folder: Path) -> None:
    archive = archive_of(folder)
    assert not archive.has_catalog()
    archive.catalog.mkdir(mode=0o700)
    assert archive.has_catalog()
    archive.catalog.chmod(0o770)
    assert not archive.has_catalog()
    archive.catalog.chmod(0o700)
    folder.chmod(0o777)
    assert not archive.has_catalog()
    folder.chmod(0o700)


def test_a_folder_that_cannot_be_written_is_used(folder: Path) -> None:
    archive = archive_of(folder)
    archive.file.chmod(0o400)
    folder.chmod(0o500)
    assert archive_options(folder) != ()
    folder.chmod(0o700)


def test_the_archives_used_last_are_kept(folder: Path, java: Path) -> None:
    archives = []
    for version in range(4):
        (java / "release").write_text(f'JAVA_VERSION="{version}"')
        archive = archive_of(folder)
        archive.lock.write_text("")
        archive.catalog.mkdir()
        os.utime(archive.file, (version, version))
        archives.append(archive)
    archives[1].java_options  # noqa: B018 the use of an archive is remembered
    archives[-1].remove_others()
    assert {file.name for file in folder.iterdir()} == {
        file.name for kept in (archives[1], archives[3]) for file in (kept.file, kept.lock, kept.catalog)
    }


def test_a_missing_archive_is_made_in_the_background(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(class_archive, "_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: commands.append(command))
    timer = archive_later(folder)
    assert timer is not None
    timer.join()
    assert list(commands[0][1:]) == ["-P", "-m", class_archive.MAKER, str(folder)]


def test_an_archive_is_made_once(folder: Path) -> None:
    archive = archive_of(folder)
    assert archive_later(folder) is None
    archive.file.unlink()
    archive.failure.write_text("this Java writes no archive")
    assert archive_later(folder) is None
    assert archive_later(None) is None
