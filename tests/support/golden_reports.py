"""Compare reports of tests with the golden files in tests/golden/reports.

A report is a list of lines, such as the parts of an error: condition, message, hint, place and where. The reports of a
test are in the file of its module, under the name of the test, in order. `JETSQL_GOLDEN=write pytest
tests/PATH/test_NAME.py` writes them and compares nothing; review the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from jetsql.errors import ConditionError, JetSQLError
from jetsql.jobs.store.database import VERSION as STORE_VERSION
from jetsql.version import VERSION
from tests.support.paths import GOLDEN

E = TypeVar("E", bound=Exception)
FOLDER = GOLDEN / "reports"
# The folder of a run of pytest, or the one in memory.
_RUN = r"/[^\s:'\"]*/(?:pytest-of-[^/]*/pytest-\d+|shm/t-[^/]*/t)/(?:popen-gw\d+/)?"
_MASKS = (
    (re.compile(rf"{_RUN}[^/\s]*?\d+(?=[/.: ,'\"`]|$)"), "TMP"),
    (re.compile(r"\b[0-9a-f]{4}(?:-[0-9a-f]{4}){3}\b"), "ID"),
    (re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?"), "TIME"),
    (re.compile(r"(?<=127\.0\.0\.1:)[1-9]\d*"), "PORT"),
    (re.compile(r"\bbegun \d+\.\d s ago"), "begun S s ago"),
    (re.compile(r"(?<=failed; it is )[A-Z_]+(?=\.)"), "STATUS"),  # a run may have begun meanwhile
    (re.compile(r"\bprocess \d+"), "process PID"),
    (re.compile(r"(?<=process PID on )[\w.-]+"), "HOST"),
    (re.compile(r"(?<=\?schema=store_)\d+"), "N"),
    (re.compile(rf"(?<=JetSQL ){re.escape(VERSION)}\b"), "VERSION"),
    (re.compile(rf"(?<=this JetSQL reads version ){STORE_VERSION}\b"), "N"),
    (re.compile(rf"(?<=this JetSQL reads up to version ){STORE_VERSION}\b"), "N"),
    (re.compile(rf"(?<=migrates it to version ){STORE_VERSION}\b"), "N"),
    (re.compile(rf"(?<=has version ){STORE_VERSION + 1}\b"), "N+1"),
)


@dataclass
class _Current:
    """The current test, and the number of its reports so far."""

    test: str = ""
    count: int = 0


_current = _Current()


@contextmanager
def raises(kind: type[E], match: str | None = None) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error as `pytest.raises` does, and compare it with the next one in the golden file of this test."""
    with pytest.raises(kind, match=match) as caught:
        yield caught
    compare(report(caught.value))


def compare(found: list[str]) -> None:
    """Compare a report with the next one in the golden file of this test."""
    found = [_masked(line) for line in found]
    module, _, test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0].partition("::")
    if test != _current.test:
        _current.test, _current.count = test, 0
    number = _current.count
    _current.count += 1
    path = FOLDER / Path(module).relative_to("tests").with_suffix(".json")
    reports: dict[str, list[list[str]]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    same = _on_sqlite(test)
    if same != test and found in reports.get(same, [])[number : number + 1]:
        return
    if os.environ.get("JETSQL_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        reports[test] = [*reports.get(test, [])[:number], found]
        path.write_text(json.dumps(reports, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    else:
        expected = reports.get(test, [])
        assert number < len(expected), f"{path.name} has no report {number} of {test}"
        assert found == expected[number]


def _on_sqlite(test: str) -> str:
    """Return the same test on SQLite, whose reports a test on PostgreSQL has, unless it has its own."""
    return test.replace("[schema]", "").replace("[schema-", "[")


def report(error: Exception) -> list[str]:
    """Return the parts of an error as lines."""
    if not isinstance(error, JetSQLError):
        kind = next(kind for kind in type(error).__mro__ if not issubclass(kind, ConditionError))
        return [f"{kind.__name__}: {error}"]
    place = "" if error.place is None else f"{error.place.start}-{error.place.stop}"
    parts = {"": f"[{error.condition}] {error.message}", "hint": error.hint, "place": place, "where": error.where}
    return [f"{name}: {value}".removeprefix(": ") for name, value in parts.items() if value != ""]


def _masked(text: str) -> str:
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text
