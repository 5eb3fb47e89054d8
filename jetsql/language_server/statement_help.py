"""The help of JetSQL's statements: a sentence and the syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jetsql.errors import StatementError
from jetsql.language import parse
from jetsql.language.statement_syntax import statement_title, syntax_text
from jetsql.language.tokens import Token

SENTENCES: Final = {
    "create_job": "Starts a job. The job runs until you suspend or drop it.",
    "suspend_job": "Stops a job and keeps its state.",
    "resume_job": "Starts a suspended job where it stopped.",
    "restart_job": "Stops a job between two batches and starts it again, for example to use executors that have"
    " joined.",
    "alter_job_options": "Changes options of a suspended job. With `RESUME` it also starts the job.",
    "drop_job": "Ends a job and deletes its state. `WITH SNAPSHOT` keeps a copy of the state.",
    "wait_for_job": "Waits until the job has reached a goal.",
    "create_snapshot": "Keeps a copy of a job's state under a name: its position in the sources, and the results of"
    " its aggregates so far.",
    "drop_snapshot": "Deletes a snapshot.",
    "show_snapshots": "Lists the snapshots, newest first.",
    "show_jobs": "Lists the jobs that have not ended, newest first. `ALL` adds those that have ended.",
    "show_members": "Lists Spark's executors, which run the tasks of the jobs, also those that are gone: their cores,"
    " when they joined and left, and why.",
    "show_engines": "Lists the engines of the store: the leader, which runs the jobs, and the standbys, which wait.",
    "describe_job": "Returns a row for each fact about a job: status, sources, sink, delivery and its reason, trigger,"
    " options, last error.",
    "show_create_job": "Returns the statement that creates the job again, with `***` instead of secrets.",
    "show_job_history": "Lists the events of a job, with time and cause.",
    "explain_create_job": "Returns the plan of a job, and creates nothing: sources, sink, delivery, trigger, output"
    " mode, state, and Spark's plan.",
    "create_function": "Creates a function in Python. Every session and every job can call it, in all clients, until"
    " `DROP FUNCTION`.",
    "create_streaming_table": "Creates a table with the columns of the query, and a job that fills it.",
    "drop_streaming_table": "Drops the job, then the table.",
    "refresh_streaming_table": "Runs the job of a materialized view without `STREAM` again, and replaces its rows.",
    "alter_streaming_table": "Suspends, resumes or restarts the job, or changes its options, as `ALTER JOB` does.",
    "show_streaming_tables": "Lists streaming tables or materialized views with their jobs.",
    "show_create_streaming_table": "Returns the statement that creates table and job, with the current options of the"
    " job.",
    "explain_create_streaming_table": "Returns what the statement would create, as `EXPLAIN CREATE JOB` does.",
    "run_file": "Names the files under test, whose statements each test of the file runs first.",
    "start_test": "Begins a test. It ends before the next one.",
    "run_jobs": "Ends a step: each job processes the rows that were inserted since the last step as one batch.",
    "advance_clock": "Sets the clock of the test, or moves it forward.",
    "expect_table": "Ends the step, and expects these rows in a table, in any order.",
    "expect_no_rows": "Ends the step, and expects that a query returns no rows.",
    "expect_job": "Ends the step, and expects the watermark of a job, or the number of its late rows.",
    "expect_error": "Expects that a statement is refused, or that a job fails.",
}
"""The sentences with which the reference describes the statements, by their rules in the grammar."""

_SAME: Final = {"MATERIALIZED": "STREAMING", "VIEW": "TABLE", "VIEWS": "TABLES", "DESC": "DESCRIBE"}
# The words that a statement begins with, where they are not those of its title.
_LEADS: Final = {"alter_job_options": ("ALTER", "JOB")}
_LEAD_WORDS: Final = 8


def statement_rule(text: str, found: Sequence[Token]) -> str | None:
    """Return the rule of a statement of JetSQL, which may be incomplete or wrong; None for another statement."""
    try:
        statement = parse(text)
    except StatementError:
        statement = None
    if statement is not None:
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(statement).__name__).lower()
    words = [_SAME.get(token.word, token.word) for token in found[:_LEAD_WORDS]]
    matching = [(len(lead), rule) for rule in SENTENCES if _begins_with(words, lead := _lead(rule))]
    return max(matching)[1] if matching else None


def statement_help(rule: str, documentation: str) -> str:
    """Return the help of a statement, in Markdown. documentation: the URL of its site, or empty."""
    title = statement_title(rule)
    link = f"{documentation}/reference/statements/#{title.lower().replace(' ', '-')}" if documentation else ""
    parts = [f"**{title}**", SENTENCES[rule], f"```text\n{syntax_text(rule)}\n```"]
    return "\n\n".join([*parts, f"[Reference]({link})"] if link else parts)


def _lead(rule: str) -> tuple[str, ...]:
    return _LEADS.get(rule, tuple(statement_title(rule).split()))


def _begins_with(words: Sequence[str], lead: Sequence[str]) -> bool:
    """Return whether a statement has these words in this order, and begins with the first of them."""
    if not words or words[0] != lead[0]:
        return False
    rest = iter(words)
    return all(word in rest for word in lead)
