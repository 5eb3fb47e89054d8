"""A plugin of pytest that keeps the files of tests in memory, for those on Spark in `make test`.

    pytest -p tests.support.memory_folder ...

Engines write checkpoints, stores and catalogues with fsync. On a disk, the tests wait for it a quarter of their time.
The plugin does nothing if the environment has TMPDIR, or if there is too little memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import psutil
import pytest

_MEMORY: Final = Path("/dev/shm")
_LEAST_BYTES: Final = 6 << 30
"""The bytes that have to be free, in the folder and of all memory."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Use a new folder in memory for temporary files, and delete it after the run."""
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK):
        return
    if min(shutil.disk_usage(_MEMORY).free, psutil.virtual_memory().available) < _LEAST_BYTES:
        return
    cleanup = ExitStack()
    config.add_cleanup(cleanup.close)
    folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="t-", dir=_MEMORY, ignore_cleanup_errors=True))
    os.chmod(folder, 0o711)  # PostgreSQL, which refuses to run as root, has a folder in it
    os.environ["TMPDIR"] = folder  # also for the workers, and for the processes that tests start
    tempfile.tempdir = None  # the next call asks for the variable again
    if config.option.basetemp is None:
        config.option.basetemp = f"{folder}/t"  # with pytest's own name, paths are too long for sockets in them
