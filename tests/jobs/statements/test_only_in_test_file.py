"""The statements of test files, which an engine refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.statements import statement_table
from jetsql.language import parse
from tests.language.test_grammar_corpus import accepted
from tests.support.engines.in_memory_runtime import Session
from tests.support.engines.jobs_harness import run_manager

RULES = (
    *("run_file", "start_test", "run_jobs", "advance_clock"),
    *("expect_table", "expect_no_rows", "expect_job", "expect_error"),
)


@pytest.mark.parametrize("rule", RULES)
def test_an_engine_refuses_the_statements_of_test_files(tmp_path: Path, rule: str) -> None:
    with run_manager(tmp_path) as jobs:
        for text in accepted(rule):
            statement = parse(text)
            assert statement is not None
            with pytest.raises(StatementError, match="An engine does not run them") as caught:
                statement_table.execute(jobs.manager, statement, Session)
            assert caught.value.condition == "JETSQL.ONLY_IN_TEST_FILE"
