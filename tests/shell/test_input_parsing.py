"""The parsing of the shell's input."""

import pytest

from jetsql.shell.input.input_parsing import DotCommand, SqlInput, is_complete, parse_entries
from jetsql.shell.repl.keys import should_run


def parsed_texts(text: str) -> list[str]:
    return [
        f"{entry.word}|{entry.argument}" if isinstance(entry, DotCommand) else entry.fragment.text
        for entry in parse_entries(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("-- nothing\n;", []),
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        (".mode csv", [".mode|csv"]),
        ("  .mode   csv  ", [".mode|csv"]),
        (".quit", [".quit|"]),
        ("SELECT 1;\n.mode csv\nSELECT 2;\n.timing", ["SELECT 1", ".mode|csv", "SELECT 2", ".timing|"]),
        (".watch 2 SELECT ';';\nSELECT 1;", [".watch|2 SELECT ';';", "SELECT 1"]),
        (".read it's\nSELECT 1;", [".read|it's", "SELECT 1"]),
        (".watch SELECT a,\nb\nSELECT 1;", [".watch|SELECT a,\nb", "SELECT 1"]),
        (".watch 5 SHOW JOBS\nSELECT 1;", [".watch|5 SHOW JOBS", "SELECT 1"]),
        (".watch 2 SELECT (\n1);\n SELECT 1;", [".watch|2 SELECT (\n1);", "SELECT 1"]),
        (".format SELECT\n  a\n  FROM t\n\nSELECT 1;", [".format|SELECT\n  a\n  FROM t", "SELECT 1"]),
        (".format\n  SELECT '\n';", [".format|SELECT '\n';"]),
        (".help it's SELECT 1;\n.help it's", [".help|it's SELECT 1", ".help|it's"]),
        (".mode csv\n  SELECT 1;", [".mode|csv", "SELECT 1"]),
        ("SELECT '\n.mode csv';", ["SELECT '\n.mode csv'"]),
        ("SELECT\n.5;", ["SELECT\n.5"]),
        (r"\d orders", [r"\d|orders"]),
        ("?", [".help|"]),
        (".mode csv;", [".mode|csv"]),
        (".quit;", [".quit|"]),
        (".output a;", [".output|a;"]),
        ("help", [".help|"]),
        ("Help .mode;", [".help|.mode"]),
        ("exit;", [".exit|"]),
        ("quit", [".quit|"]),
        (" clear ;\n", [".clear|"]),
        ("CLEAR CACHE;", ["CLEAR CACHE"]),
        ("exit\n1;", ["exit\n1"]),
    ],
)
def test_a_text_holds_statements_and_commands(text: str, expected: list[str]) -> None:
    assert parsed_texts(text) == expected


def test_places_count_in_the_whole_text() -> None:
    _, second = parse_entries(".mode csv\n  SELECT 1;")
    assert isinstance(second, SqlInput)
    assert (second.fragment.start, second.fragment.line, second.fragment.column) == (12, 2, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; SELECT", False),
        ("SELECT ';", False),
        ("/* SELECT 1;", False),
        ("BEGIN SELECT 1;", False),
        ("BEGIN SELECT 1; END;", True),
        (".mode", True),
    ],
)
def test_text_without_missing_parts_is_complete(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("SELECT 1;|", True),
        ("SELECT 1;| \n ", True),
        ("SELECT |1;", False),
        ("SELECT 1|", False),
        (".mo|de csv", True),
        (".mode csv\nSELECT|", False),
        ("qu|it", True),
        (".watch SELECT a,|", False),
        (".watch SELECT (|", False),
        (".watch 2 SELECT '|", False),
        (".watch SELECT a,\nb|", True),
        (".watch SHOW JOBS|", True),
        ("|", True),
    ],
)
def test_enter_runs_complete_texts_and_breaks_lines_of_others(text: str, runs: bool) -> None:
    assert should_run(text.replace("|", ""), text.index("|")) is runs
