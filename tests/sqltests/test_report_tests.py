"""The reports of tests: text, JUnit's XML, annotations of GitHub and JSON."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.sqltests.compare_rows import compare_rows
from jetsql.sqltests.coverage import Coverage, Site
from jetsql.sqltests.read_tests import SqlTest
from jetsql.sqltests.report_tests import ReportFormat, coverage_lines, problem_lines, report_results, summary
from jetsql.sqltests.run_test import Result, Verdict

SCRIPT = Script("a,b.test.sql", "START TEST one;\nEXPECT TABLE t AS VALUES (1);\n")
INVALID = [Diagnostic(Script("c.test.sql", "x"), 0, "JETSQL.INVALID_TEST", "The file has no test.", "Write one.")]


def _test(name: str) -> SqlTest:
    return SqlTest(name, "", SCRIPT.name, 1, ())


FAILED = Result(
    _test("one"),
    Verdict.FAILED,
    1.5,
    Diagnostic(SCRIPT, 29, "", "t has other rows\0: 1 missing."),
    compare_rows(("id",), [], [["\x01%"]]),
)
ERROR = Diagnostic(SCRIPT, 16, "DIVIDE_BY_ZERO", "Division by zero.")
RESULTS = [
    FAILED,
    Result(_test("two"), Verdict.PASSED, 0.5),
    *(Result(_test(f"e{n}"), Verdict.ERROR, 1, ERROR) for n in (1, 2)),
]


def test_junit_report_has_a_case_for_each_test() -> None:
    [text] = report_results(RESULTS, INVALID, ReportFormat.JUNIT)
    suite = ElementTree.fromstring(text.encode())
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "5",
        "failures": "1",
        "errors": "3",
    }
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["one", "two", "e1", "e2", "file"]
    assert cases["one"].get("classname") == SCRIPT.name and cases["one"].get("time") == "1.500"
    failure = cases["one"].find("failure")
    assert failure is not None and failure.text is not None
    assert (
        failure.get("message") == "t has other rows\N{REPLACEMENT CHARACTER}: 1 missing."
        and "missing | \\x01%" in failure.text
    )
    assert [child.tag for child in cases["e1"]] == ["error"] and list(cases["two"]) == []


def test_annotations_have_the_place_and_the_difference() -> None:
    first, second, *others = report_results(RESULTS, INVALID, ReportFormat.GITHUB)
    place = "file=c.test.sql,line=1,col=1,title=JETSQL.INVALID_TEST"
    assert first == f"::error {place}::The file has no test. Write one."
    assert second.startswith("::error file=a%2Cb.test.sql,line=2,col=14,title=test::t has other rows\0: 1 missing.%0A")
    assert "missing | \\x01%25" in second and "\n" not in second
    assert len(others) == 2


def test_json_has_all_results() -> None:
    [text] = report_results(RESULTS, INVALID, ReportFormat.JSON)
    report = json.loads(text)
    assert [test["verdict"] for test in report["tests"]] == ["failed", "passed", "error", "error"]
    assert report["tests"][0]["difference"]["missing"] == [["\x01%"]]
    assert report["tests"][0]["problem"]["line"] == 2 and report["invalid"][0]["file"] == "c.test.sql"


def test_conditions_without_rows_are_warnings_at_their_place() -> None:
    gap = (Site("a.sql", 2, 8, "case", 0, "CASE WHEN a THEN 1\nELSE 2 END"), "no row took this branch")
    coverage = Coverage(3, (gap,))
    described = "a.sql:2:8: ELSE of CASE WHEN a THEN 1 ELSE 2 END: no row took this branch"
    assert list(coverage_lines(coverage))[1:] == [described, "coverage: 2 of 3 conditions, branches of CASE and joins"]
    [warning] = report_results([], [], ReportFormat.GITHUB, coverage)
    assert warning == f"::warning file=a.sql,line=2,col=8,title=coverage::{described}"
    [text] = report_results([], [], ReportFormat.JSON, coverage)
    assert json.loads(text)["coverage"]["gaps"][0]["gap"] == "no row took this branch"


def test_an_error_of_several_tests_is_shown_once() -> None:
    lines = list(problem_lines(RESULTS))
    assert [line for line in lines if line.startswith(("FAILED", "ERROR"))] == [
        "FAILED a,b.test.sql::one",
        "ERROR a,b.test.sql::e1",
        "ERROR a,b.test.sql::e2",
    ]
    assert sum("Division by zero." in line for line in lines) == 1


def test_the_summary_counts_the_verdicts() -> None:
    assert summary(RESULTS, INVALID, 3) == "1 passed, 1 failed, 2 error, 1 invalid in 3.0 s"
