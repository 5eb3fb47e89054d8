"""The text of an error in dbt's output. It needs no dbt."""

import pytest

from jetsql.client.dbapi.exceptions import to_dbapi_error
from jetsql.dbt_adapter.error_text import describe_error
from jetsql.errors import ErrorReport

MODEL = "create table t\nas\nSELECT id, amont\nFROM orders"
COMMENT = '/* {"app": "dbt"} */\n'


def text(statement: str, line: int | None, column: int | None, hint: str = "Did you mean amount?") -> str:
    report = ErrorReport("UNRESOLVED_COLUMN", "42703", "There is no column amont.", hint, line, column)
    return describe_error(to_dbapi_error(report), statement)


def test_lines_are_those_of_the_file_that_dbt_writes() -> None:
    expected = (
        "[UNRESOLVED_COLUMN] There is no column amont.\n"
        "    3 | SELECT id, amont\n"
        "      |            ^\n"
        "Did you mean amount?"
    )
    assert text(MODEL, 3, 12) == expected
    assert text(COMMENT + MODEL, 4, 12) == expected


def test_an_error_in_the_comment_of_dbt_keeps_its_place() -> None:
    assert "    1 | /* {" in text(COMMENT + MODEL, 1, 4)


@pytest.mark.parametrize(("line", "column"), [(None, None), (9, 1), (0, 1)])
def test_an_error_without_a_place(line: int | None, column: int | None) -> None:
    assert text(MODEL, line, column) == "[UNRESOLVED_COLUMN] There is no column amont.\nDid you mean amount?"
    assert text(MODEL, line, column, hint="") == "[UNRESOLVED_COLUMN] There is no column amont."


def test_column_after_the_end_of_its_line_is_clipped() -> None:
    assert text("SELECT a\nFROM t", 1, 99).splitlines()[1:3] == ["    1 | SELECT a", "      |         ^"]
