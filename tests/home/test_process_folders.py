"""Temporary folders of processes: those of killed processes are deleted, those in use are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from jetsql.home.private_files import is_open_to_others
from jetsql.home.process_folders import make_process_folder, name_length
from tests.conftest import until

IMPORTS = "from jetsql.home.process_folders import make_process_folder as make; from pathlib import Path; "
EXEC = "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'input()'])"


def age(folder: Path) -> None:
    """Make a folder older than those that are kept because they are new."""
    os.utime(folder, (0, 0))


def left_by_killed_process(parent: Path) -> Path:
    code = f"{IMPORTS} print(make('jetsql-x-', Path({str(parent)!r}))); import os; os._exit(9)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout
    folder = Path(output.strip())
    (folder / "file").touch()
    return folder


def test_a_new_folder_is_private_and_has_the_given_name(tmp_path: Path) -> None:
    folder = make_process_folder("jetsql-x-", tmp_path)
    assert folder.parent == tmp_path and folder.name.startswith("jetsql-x-")
    assert len(folder.name) == name_length("jetsql-x-")
    assert not is_open_to_others(folder)


@pytest.mark.parametrize("is_old", [True, False])
def test_an_old_folder_of_a_killed_process_is_deleted(tmp_path: Path, is_old: bool) -> None:
    left = left_by_killed_process(tmp_path)
    if is_old:
        age(left)
    make_process_folder("jetsql-x-", tmp_path)
    assert left.exists() is not is_old


def test_folders_in_use_and_of_other_names_are_kept(tmp_path: Path) -> None:
    used = make_process_folder("jetsql-x-", tmp_path)
    other, longer = tmp_path / "jetsql-y-12345678", tmp_path / "jetsql-x-1234567890"
    target = tmp_path / "target"
    for folder in (other, longer, target):
        folder.mkdir()
    link = tmp_path / "jetsql-x-abcdefgh"
    link.symlink_to(target)
    for folder in (used, other, longer, target):
        age(folder)
    make_process_folder("jetsql-x-", tmp_path)
    assert all(folder.exists() for folder in (used, other, longer, link, target))


@pytest.mark.parametrize("keep", [True, False])
def test_a_folder_belongs_to_the_next_program_of_its_process(tmp_path: Path, keep: bool) -> None:
    code = f"{IMPORTS} print(make('jetsql-x-', Path({str(tmp_path)!r}), keep={keep}), flush=True); {EXEC}"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        until(lambda: psutil.Process(process.pid).cmdline()[-1:] == ["input()"])
        age(folder)
        make_process_folder("jetsql-x-", tmp_path)
        assert folder.exists() is keep
        process.communicate("\n")
    make_process_folder("jetsql-x-", tmp_path)
    assert not folder.exists()
