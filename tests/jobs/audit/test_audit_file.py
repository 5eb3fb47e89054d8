"""The file of the audit log: its mode, its rotation, and what happens when it cannot be written or is taken away."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jetsql.jobs.audit.audit_file import AUDIT_LOG, AuditFile


def test_file_is_private_from_its_creation(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        AuditFile(tmp_path).append(b"{}\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / AUDIT_LOG).stat().st_mode) == 0o600


def test_open_file_is_made_private(tmp_path: Path) -> None:
    log = tmp_path / AUDIT_LOG
    log.touch()
    log.chmod(0o644)
    AuditFile(tmp_path).append(b"{}\n")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_files_are_rotated_and_the_oldest_is_deleted(tmp_path: Path) -> None:
    file = AuditFile(tmp_path, most_bytes=40, files=3)
    for number in range(20):
        file.append(f'{{"number": {number:02}}}\n'.encode())
    assert sorted(path.name for path in tmp_path.iterdir()) == [AUDIT_LOG, f"{AUDIT_LOG}.1", f"{AUDIT_LOG}.2"]
    assert all(path.stat().st_size <= 40 and stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.iterdir())
    assert file.newest(3) == [b'{"number": 17}\n', b'{"number": 18}\n', b'{"number": 19}\n']
    assert file.newest(100)[0] == b'{"number": 14}\n'


def test_long_line_gets_a_file_of_its_own(tmp_path: Path) -> None:
    file = AuditFile(tmp_path, most_bytes=10)
    file.append(b"a" * 50 + b"\n")
    file.append(b"b\n")
    assert (tmp_path / AUDIT_LOG).read_bytes() == b"b\n"
    assert file.newest(5) == [b"a" * 50 + b"\n", b"b\n"]


def test_lines_continue_after_a_restart(tmp_path: Path) -> None:
    first = AuditFile(tmp_path)
    first.append(b"1\n")
    first.close()
    second = AuditFile(tmp_path)
    second.append(b"2\n")
    assert second.newest(5) == [b"1\n", b"2\n"]


def test_torn_line_ends_before_the_next_one(tmp_path: Path) -> None:
    (tmp_path / AUDIT_LOG).write_bytes(b'{"time": "20')
    file = AuditFile(tmp_path)
    file.append(b"{}\n")
    assert file.newest(5) == [b'{"time": "20\n', b"{}\n"]


@pytest.mark.parametrize("way", ["deleted", "renamed"])
def test_file_that_was_taken_away_is_created_again(tmp_path: Path, way: str) -> None:
    file, log = AuditFile(tmp_path), tmp_path / AUDIT_LOG
    file.append(b"1\n")
    if way == "deleted":
        log.unlink()
    else:
        log.rename(tmp_path / "moved")
    file.append(b"2\n")
    assert log.read_bytes() == b"2\n"


def test_open_reader_does_not_stop_the_rotation(tmp_path: Path) -> None:
    file = AuditFile(tmp_path, most_bytes=4)
    file.append(b"1\n")
    with open(tmp_path / AUDIT_LOG, "rb") as reading:
        for number in range(2, 6):
            file.append(f"{number}\n".encode())
        assert reading.read() == b"1\n2\n"
    assert file.newest(9) == [b"1\n", b"2\n", b"3\n", b"4\n", b"5\n"]


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_other_kinds_of_files_are_refused(tmp_path: Path, kind: str) -> None:
    log, other = tmp_path / AUDIT_LOG, tmp_path / "other"
    if kind == "link":
        log.symlink_to(other)
    elif kind == "folder":
        log.mkdir()
    else:
        os.mkfifo(log)
    with pytest.raises(OSError):
        AuditFile(tmp_path).append(b"{}\n")
    assert not other.exists()


def test_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        AuditFile(tmp_path / "gone").append(b"{}\n")


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    file = AuditFile(tmp_path, most_bytes=5000)
    threads = [
        threading.Thread(target=lambda n=n: [file.append(f"{n} {'x' * 50}\n".encode()) for _ in range(100)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = file.newest(10_000)
    assert len(lines) == 800 and all(len(line) == 53 for line in lines)


_FULL = """
import resource, signal, sys
from pathlib import Path
from jetsql.jobs.audit.audit_file import AuditFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = AuditFile(Path(sys.argv[1]))
file.append(b"a" * 50 + b"\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    file.append(b"b" * 80 + b"\\n")
except OSError as error:
    print(error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.append(b"c\\n")
"""


def test_nothing_stays_of_a_line_that_does_not_fit(tmp_path: Path) -> None:
    """Limit the size of files, which fails a write in the middle, as a full disk does."""
    ran = subprocess.run([sys.executable, "-c", _FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "27"
    assert (tmp_path / AUDIT_LOG).read_bytes() == b"a" * 50 + b"\nc\n"
