"""`jetsql test` without Spark: what is chosen, exit codes, and the watch for changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import pytest
from click.testing import CliRunner

from jetsql.cli import cli
from jetsql.sqltests import sql_tests
from jetsql.sqltests.read_tests import SqlTestFile
from jetsql.sqltests.run_test import Result, Verdict

TEST = "START TEST {};\nEXPECT NO ROWS AS FROM t;\n"


class FakeSpark:
    """A Spark whose tests pass unless their name says otherwise."""

    runs: list[list[str]]
    changes: Iterator[None]

    def __init__(self, cores: int, covered: bool) -> None:
        assert cores > 0 and not covered

    def __enter__(self) -> FakeSpark:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return

    def coverage(self, files: Sequence[SqlTestFile]) -> None:
        return

    def run(self, files: Sequence[SqlTestFile], pattern: str) -> Iterator[Result]:
        tests = [test for file in files for test in file.choose(pattern)]
        FakeSpark.runs.append([test.name for test in tests])
        for test in tests:
            verdict = Verdict.FAILED if "fails" in test.name else Verdict.PASSED
            problem = files[0].setup[0].diagnostic("It failed.") if verdict is Verdict.FAILED else None
            yield Result(test, verdict, 0.1, problem)
        next(FakeSpark.changes, None)


@pytest.fixture(autouse=True)
def fake_spark(monkeypatch: pytest.MonkeyPatch) -> type[FakeSpark]:
    FakeSpark.runs, FakeSpark.changes = [], iter(())
    monkeypatch.setattr(sql_tests, "SparkOfTests", FakeSpark)
    monkeypatch.setattr(sql_tests, "_WATCH_SECONDS", 0.01)
    return FakeSpark


def write(folder: Path, *names: str) -> Path:
    (folder / "a.sql").write_text("CREATE TABLE t (id INT);", encoding="utf-8")
    (folder / "a.test.sql").write_text("".join(map(TEST.format, names)), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("names", "arguments", "code", "run"),
    [
        (("one", "two"), (), 0, ["one", "two"]),
        (("one", "it_fails"), (), 1, ["one", "it_fails"]),
        (("one", "it_fails"), ("-k", "ONE"), 0, ["one"]),
        (("one",), ("-k", "none"), 5, None),
        ((), (), 1, []),
    ],
)
def test_the_exit_code_says_whether_the_chosen_tests_passed(
    tmp_path: Path, names: tuple[str, ...], arguments: tuple[str, ...], code: int, run: list[str] | None
) -> None:
    result = CliRunner().invoke(cli, ["test", str(write(tmp_path, *names)), *arguments])
    assert result.exit_code == code, result.output
    assert FakeSpark.runs == ([] if run is None else [run])


def test_empty_folder_and_missing_path_have_exit_codes(tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["test", str(tmp_path)]).exit_code == 5
    assert CliRunner().invoke(cli, ["test", str(tmp_path / "none")]).exit_code == 2


def _change_files(folder: Path) -> Iterator[None]:
    """Change a file after each run, and interrupt the watch at the end."""
    (folder / "a.test.sql").write_text(TEST.format("changed"), encoding="utf-8")
    yield
    (folder / "a.sql").write_text("CREATE JOB;", encoding="utf-8")
    yield
    (folder / "a.sql").write_text("CREATE TABLE t (id BIGINT);", encoding="utf-8")
    yield
    (folder / "b.test.sql").write_text(f"RUN FILE 'a.sql';\n{TEST.format('new')}", encoding="utf-8")
    yield
    raise KeyboardInterrupt


def test_watch_runs_tests_after_each_change_until_ctrl_c(tmp_path: Path) -> None:
    FakeSpark.changes = _change_files(write(tmp_path, "one"))
    result = CliRunner().invoke(cli, ["test", "--watch", str(tmp_path)])
    assert FakeSpark.runs == [["one"], ["changed"], [], ["changed"], ["changed", "new"]]
    assert result.exit_code == 130, result.output
