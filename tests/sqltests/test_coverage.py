"""The coverage of tests: places in files, and what no row has reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jetsql.language.statement import CreateJob
from jetsql.sqltests.coverage import read_coverage
from jetsql.sqltests.read_tests import read_test_file

QUERY = "SELECT CASE WHEN a > 1 THEN 'x' END FROM t WHERE a > 0"
JOB = f"CREATE VIEW v AS\n{QUERY};\nCREATE JOB j AS\nSINK INTO u {QUERY};\n"


def _site(text: str, words: str, kind: str, seen: str, branch: int = 0) -> dict[str, Any]:
    start = text.index(words)
    place = {"text": text, "start": start, "stop": start + len(words) - 1, "kind": kind, "branch": branch}
    return place | {"true": "t" in seen, "other": "o" in seen}


def test_gaps_are_at_their_places_in_views_and_jobs(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(JOB, encoding="utf-8")
    (tmp_path / "a.test.sql").write_text("START TEST one;\nEXPECT NO ROWS AS FROM u;", encoding="utf-8")
    file = read_test_file(str(tmp_path / "a.test.sql"), {})
    job = file.setup[1].statement
    assert isinstance(job, CreateJob)
    body = job.body.spark_text
    case = QUERY[7 : QUERY.index(" FROM")]
    found = [
        _site(QUERY, "a > 0", "filter", "t"),
        _site(QUERY, case, "case", "", branch=1),
        _site(body, "a > 0", "filter", "o"),
        _site(body, case, "case", "to", branch=1),
        _site("no statement", "no", "filter", ""),
    ]
    coverage = read_coverage(found, [file, file])
    assert coverage.summary == "coverage: 1 of 4 conditions, branches of CASE and joins"
    assert [site.describe(gap).removeprefix(f"{tmp_path}/") for site, gap in coverage.gaps] == [
        "a.sql:2:8: WHEN 1 of CASE WHEN a > 1 THEN 'x' END: no row took this branch",
        "a.sql:2:50: a > 0: no row was rejected",
        "a.sql:4:62: a > 0: no row passed",
    ]
