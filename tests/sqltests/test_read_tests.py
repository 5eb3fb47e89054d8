"""The reading of test files, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.sqltests.read_tests import InvalidTestFile, find_test_files, read_test_file

TEST = "START TEST one;\nEXPECT NO ROWS AS FROM t;\n"


def write(folder: Path, text: str, **files: str) -> str:
    for name, content in files.items():
        (folder / f"{name}.sql").write_text(content, encoding="utf-8")
    path = folder / "a.test.sql"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_file_under_test_is_next_to_the_test_file(tmp_path: Path) -> None:
    file = read_test_file(write(tmp_path, TEST, a="CREATE TABLE t (id INT);"), {})
    assert [step.prepared.filled.text for step in file.setup] == ["CREATE TABLE t (id INT)"]
    assert [(test.name, test.line, len(test.steps)) for test in file.tests] == [("one", 1, 1)]


def test_statements_before_run_file_run_first_with_variables(tmp_path: Path) -> None:
    text = f"CREATE TABLE ${{name}} (id INT); RUN FILE 'b.sql', 'c.sql'; INSERT INTO t VALUES (1);\n{TEST}"
    file = read_test_file(write(tmp_path, text, b="SELECT 1;", c="SELECT 2;"), {"name": "t"})
    texts = [step.prepared.filled.text for step in file.setup]
    assert texts == ["CREATE TABLE t (id INT)", "SELECT 1", "SELECT 2", "INSERT INTO t VALUES (1)"]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "The file has no test."),
        ("START TEST one;\nINSERT INTO t VALUES (1);", "1:12", "The test one expects nothing."),
        (f"RUN FILE 'none.sql';\n{TEST}", "1:10", "Cannot read the file under test"),
        (f"RUN FILE 'a.sql';\n{TEST}{TEST}", "4:1", "The file has two tests named one."),
        (f"RUN FILE 'a.sql';\n{TEST}RUN FILE 'a.sql';", "4:1", "The files under test are the same for all tests"),
        (f"RUN JOBS;\nRUN FILE 'a.sql';\n{TEST}", "1:1", "The statement belongs to a test."),
        (f"RUN FILE 'b.sql';\n{TEST}", "1:1", "A file under test has no statements of tests."),
        (f"{TEST}EXPECT TABLE t VALUES (1);", "3:16", "Expected AS, '(' or '.', found 'VALUES'."),
        (f"{TEST}SELECT '${{x}}';", "3:9", "The variable x has no value."),
        (f"{TEST}SELECT 'x;", "3:8", "The string that begins here is not closed."),
    ],
)
def test_invalid_test_file_is_refused_at_its_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = write(tmp_path, text, a="SELECT 1;", b="RUN JOBS;")
    with pytest.raises(InvalidTestFile) as caught:
        read_test_file(path, {})
    [error] = caught.value.errors
    assert f"{error.script.line(error.offset)}:{error.script.column(error.offset)}" == place
    assert message in error.message


def test_a_missing_file_under_test_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidTestFile, match=r"a\.sql does not exist"):
        read_test_file(write(tmp_path, TEST), {})


def test_folders_are_searched_for_test_files(tmp_path: Path) -> None:
    path = write(tmp_path, TEST, a="SELECT 1;")
    assert list(find_test_files([str(tmp_path)])) == [path]
    assert list(find_test_files([str(tmp_path / "a.sql")])) == [str(tmp_path / "a.sql")]
