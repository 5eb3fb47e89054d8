"""Ask a running engine about the jobs of files: EXPLAIN CREATE JOB analyses a job and creates nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from jetsql.errors import EngineError
from jetsql.language.statement_head import head_of
from jetsql.script import PreparedStatement, StatementEngine, diagnose
from jetsql.sqlfiles.lint_files import LintedStatement
from jetsql.sqlfiles.lint_problems import NO_TABLE, PREFIX, LintProblem, ProblemLevel

# Statements that change only the session: later ones may need them.
_SESSION_VERBS: Final = ("USE", "SET")


def lint_on_engine(statements: Sequence[LintedStatement], engine: StatementEngine) -> Iterator[LintProblem]:
    """Yield the problems that an engine finds in the jobs of the statements. Raises EngineError if it is lost."""
    for linted in statements:
        problem = _check(linted, engine)
        if problem is not None:
            yield problem


def _check(linted: LintedStatement, engine: StatementEngine) -> LintProblem | None:
    prepared, checked = linted.prepared, linted.checked
    if any(problem.level is ProblemLevel.ERROR for problem in checked.problems):
        return None
    if checked.job is not None:
        is_explain = head_of(checked.text).verb == "EXPLAIN"
        return _run(prepared if is_explain else replace(prepared, prefix="EXPLAIN "), engine)
    if checked.statement is None and head_of(checked.text).verb in _SESSION_VERBS:
        return _run(prepared, engine)
    return None


def _run(step: PreparedStatement, engine: StatementEngine) -> LintProblem | None:
    text = step.text
    try:
        for _row in engine.run(text).rows:
            pass
    except EngineError:
        raise
    except Exception as error:
        # Every other error is one of the statement, also Spark's own, which has no common class here.
        report = engine.error(error, text)
        found = diagnose(step, report)
        if found.condition == NO_TABLE:
            message = f"The engine did not check this job: {found.message}"
            condition = f"{PREFIX}STATEMENT_NOT_CHECKED"
            hint = "Run the statements that create its tables, and check it again."
            return LintProblem(step.script, found.offset, found.offset, ProblemLevel.NOTE, condition, message, hint)
        level = ProblemLevel.ERROR
        return LintProblem(step.script, found.offset, found.offset, level, found.condition, found.message, found.hint)
    return None
