"""The reader of the engine's log: messages, several files, and rotation while the log is read."""

import logging
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JAuthenticationError

from jetsql.embedded.process_log import logging_to
from jetsql.errors import EngineError
from jetsql.home.log_reader import LogReader, Record, log_files, records

T1, T2 = "2026-11-21T12:02:21.707", "2026-11-21T12:02:22.000"


def rotate(home: Path, write: str = "") -> None:
    """Rotate the log as log4j does, with at most three old files."""
    (home / "engine.log.3").unlink(missing_ok=True)
    for number in (2, 1):
        if (home / f"engine.log.{number}").exists():
            (home / f"engine.log.{number}").rename(home / f"engine.log.{number + 1}")
    (home / "engine.log").rename(home / "engine.log.1")
    (home / "engine.log").write_text(write)


def append(home: Path, text: str) -> None:
    with (home / "engine.log").open("a") as log:
        log.write(text)


def test_messages_have_their_lines_times_and_jobs() -> None:
    lines = [
        "WARNING: incubator",
        f"{T1} WARN Utils: your hostname",
        f"{T1} ERROR MicroBatchExecution [a job]: it broke",
        "java.lang.IllegalStateException: no",
        "\tat here",
        "",
        f"{T2} INFO jetsql.embedded.engine_process: stopped [x]: y",
    ]
    assert list(records(lines)) == [
        Record("WARNING: incubator"),
        Record(f"{T1} WARN Utils: your hostname", T1),
        Record(
            f"{T1} ERROR MicroBatchExecution [a job]: it broke\njava.lang.IllegalStateException: no\n\tat here\n",
            T1,
            "a job",
        ),
        Record(f"{T2} INFO jetsql.embedded.engine_process: stopped [x]: y", T2),
    ]
    assert list(records([])) == []


def test_files_come_oldest_first(tmp_path: Path) -> None:
    for name in ("engine.log", "engine.log.1", "engine.log.2", "engine.log.10", "engine.log.gz", "engine.lock"):
        (tmp_path / name).touch()
    names = [file.name for file in log_files(tmp_path)]
    assert names == ["engine.log.10", "engine.log.2", "engine.log.1", "engine.log"]


def test_a_log_is_read_while_it_grows(tmp_path: Path) -> None:
    reader = LogReader(tmp_path)
    assert list(reader.lines()) == []
    (tmp_path / "engine.log.1").write_text("1\n2\n")
    append(tmp_path, "3\nha")
    assert list(reader.lines()) == ["1", "2", "3"]
    append(tmp_path, "lf\n5\n")
    assert list(reader.lines()) == ["half", "5"]
    assert list(reader.lines()) == []
    reader.close()


def test_nothing_is_lost_or_read_twice_in_rotations(tmp_path: Path) -> None:
    append(tmp_path, "1\n")
    reader = LogReader(tmp_path)
    assert list(reader.lines()) == ["1"]
    append(tmp_path, "2\n3")
    rotate(tmp_path, "4\n")
    assert list(reader.lines()) == ["2", "3", "4"]
    rotate(tmp_path, "5\n")
    rotate(tmp_path, "6\n")
    assert list(reader.lines()) == ["5", "6"]
    for number in range(7, 12):
        rotate(tmp_path, f"{number}\n")
    assert list(reader.lines()) == ["8", "9", "10", "11"]  # what has gone is gone
    reader.close()


def test_a_log_that_was_emptied_is_read_from_its_beginning(tmp_path: Path) -> None:
    append(tmp_path, "1\n2\n")
    reader = LogReader(tmp_path)
    assert list(reader.lines()) == ["1", "2"]
    (tmp_path / "engine.log").write_text("3\n")
    assert list(reader.lines()) == ["3"]
    reader.close()


@pytest.fixture
def logger() -> logging.Logger:
    return logging.getLogger("jetsql.tests")


def test_the_service_logs_in_the_form_of_sparks_log(
    tmp_path: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's, which can't hand on what is no character
    with logging_to(tmp_path):
        logger.info("Job %s", "a")
        logger.warning("with a\nsecond line and \ud800")
        logging.getLogger("uvicorn").info("not of interest")
        logger.debug("nor this")
    logger.warning("not any more")
    first, second = records(text_of(tmp_path).splitlines())
    assert first.text.endswith(" INFO jetsql.tests: Job a") and first.time
    assert second.text.endswith(" WARN jetsql.tests: with a\nsecond line and \\ud800")
    assert stat.S_IMODE((tmp_path / "engine.log").stat().st_mode) == 0o600


def test_refused_connections_are_one_line_a_minute(tmp_path: Path, logger: logging.Logger) -> None:
    with logging_to(tmp_path):
        for _ in range(5):
            try:
                raise Py4JAuthenticationError("Client authentication failed.")
            except Py4JAuthenticationError:
                logger.exception("Could not authenticate connection.")
    [line] = text_of(tmp_path).splitlines()
    assert line.endswith("ERROR jetsql.tests: Connections to Py4J without its token were refused: 1")


def test_the_service_notices_that_the_log_was_rotated(tmp_path: Path, logger: logging.Logger) -> None:
    with logging_to(tmp_path):
        logger.info("before")
        rotate(tmp_path)
        logger.info("after")
        (tmp_path / "engine.log").unlink()
        logger.info("again")
    assert "before" in (tmp_path / "engine.log.1").read_text()
    assert "again" in text_of(tmp_path) and "before" not in text_of(tmp_path)


def test_unwritable_log_is_reported(tmp_path: Path) -> None:
    (tmp_path / "engine.log").mkdir()
    with pytest.raises(EngineError) as caught, logging_to(tmp_path):
        pass
    assert caught.value.condition == "JETSQL.HOME_NOT_USABLE"


def test_a_threads_error_is_logged(tmp_path: Path) -> None:
    import threading

    def fail(what: Callable[[], None] | None = None) -> None:
        raise ValueError("in a thread")

    with logging_to(tmp_path):
        thread = threading.Thread(target=fail, name="worker")
        thread.start()
        thread.join()
    assert "The thread worker ended with an error\nTraceback" in text_of(tmp_path)


def text_of(home: Path) -> str:
    return (home / "engine.log").read_text()
