"""Hadoop's view of a damaged file: `jetsql check`, which reads without Java, comes to the same result as the engine."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.engine.jvm.filesystem import FileSystem
from jetsql.jobs.checkpoint_files.stored_files import LocalFiles, StoredFiles
from tests.support.engines.check_homes import write

pytestmark = pytest.mark.spark


def outcome(files: StoredFiles, path: Path) -> object:
    try:
        return files.read_checked(str(path))
    except (FileNotFoundError, ValueError) as error:
        return type(error), "" if isinstance(error, FileNotFoundError) else str(error)


def damage(chance: random.Random, path: Path) -> None:
    """Change some bytes of a file, or its length."""
    content = bytearray(path.read_bytes())
    first = 8 if path.suffix == ".crc" else 0  # Hadoop allocates what a changed header of checksums asks for
    match chance.randrange(4):
        case 0:
            del content[chance.randrange(len(content) + 1) :]
        case 1:
            content += chance.randbytes(chance.randrange(1, 20))
        case _ if len(content) > first:
            content[chance.randrange(first, len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(content))


def test_both_views_of_a_damaged_file_are_equal(engine: EngineInstance, tmp_path: Path) -> None:
    hadoop, local, chance = FileSystem(engine.spark), LocalFiles(), random.Random(7)
    for number in range(150):
        path = write(tmp_path / str(number), "x" * chance.choice((0, 1, 511, 512, 513, 1300)))
        for each in (path, path.with_name(f".{path.name}.crc")):
            if chance.random() < 0.6:
                damage(chance, each)
        assert outcome(hadoop, path) == outcome(local, path), (number, path.stat().st_size)
        assert hadoop.has_checksums(str(path)) == local.has_checksums(str(path))


def test_paths_without_a_file(engine: EngineInstance, tmp_path: Path) -> None:
    hadoop, local = FileSystem(engine.spark), LocalFiles()
    write(tmp_path / "folder/.hidden/file", "x")
    for name in ("missing", "folder"):
        assert outcome(hadoop, tmp_path / name) == outcome(local, tmp_path / name)
    assert hadoop.list_names(str(tmp_path / "missing")) == local.list_names(str(tmp_path / "missing")) == []
    assert hadoop.list_tree(str(tmp_path / "missing")) == local.list_tree(str(tmp_path / "missing")) == []
    assert hadoop.list_tree(str(tmp_path)) == [n for n in local.list_tree(str(tmp_path)) if not n.endswith(".crc")]
