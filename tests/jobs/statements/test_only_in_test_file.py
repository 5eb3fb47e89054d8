"""The statements of test files, which an engine refuses."""

from __future__ import annotations

from typing import cast

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.manager.job_manager import Manager
from jetsql.jobs.statements import statement_table
from jetsql.language import parse
from tests.language.test_grammar_corpus import accepted

RULES = (
    *("run_file", "start_test", "run_jobs", "advance_clock"),
    *("expect_table", "expect_no_rows", "expect_job", "expect_error"),
)


@pytest.mark.parametrize("rule", RULES)
def test_an_engine_refuses_the_statements_of_test_files(rule: str) -> None:
    for text in accepted(rule):
        statement = parse(text)
        assert statement is not None
        with pytest.raises(StatementError, match="An engine does not run them") as caught:
            statement_table.execute(cast(Manager, None), statement, lambda: None)
        assert caught.value.condition == "JETSQL.ONLY_IN_TEST_FILE"
