"""Python's logging of an engine process: to the file of Spark's log, in the same format.

Records that are passed to log4j through Py4J would be lost before Spark has started and after it has ended, when they
are most important. So they are written to the file directly, with a handler that detects when log4j rotates it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Final

from jetsql.engine.jvm.callbacks import RefusedConnections
from jetsql.home.home_lock import not_usable
from jetsql.home.log_reader import LOG
from jetsql.home.private_files import private_opener

_LOG: Final = logging.getLogger(__name__)
_LEVELS: Final = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class _File(WatchedFileHandler):
    """A handler that creates the file readable for its owner only, also after a rotation."""

    def _open(self) -> TextIOWrapper:
        file = open(self.baseFilename, "a", encoding="utf-8", errors="backslashreplace", opener=private_opener)
        assert isinstance(file, TextIOWrapper)
        return file


class _Log4jFormatter(logging.Formatter):
    """The format of log4j2.properties: 2026-11-21T12:02:21.707 WARN jetsql.jobs.manager.job_manager: message"""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03d"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(level)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        record.level = _LEVELS.get(record.levelname, record.levelname)
        return super().format(record)


@contextmanager
def logging_to(home: Path) -> Iterator[None]:
    """Log to the home's log file inside the context. Raises EngineError HOME_NOT_USABLE."""
    try:
        handler = _File(str(home / LOG))
    except OSError as error:
        raise not_usable(home, error) from error
    handler.setFormatter(_Log4jFormatter())
    handler.addFilter(RefusedConnections())
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("jetsql").setLevel(logging.INFO)
    before, threading.excepthook = threading.excepthook, _log_thread_error
    try:
        yield
    finally:
        threading.excepthook = before
        root.removeHandler(handler)
        handler.close()


def _log_thread_error(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread is not None else "?"
    error = arguments.exc_value or arguments.exc_type()
    _LOG.error("The thread %s ended with an error", name, exc_info=error)
