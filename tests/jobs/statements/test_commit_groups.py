"""Jobs with the option `kafka.commit.group`: a group shows the offsets of one live job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jetsql.errors import StatementError
from jetsql.jobs.planning import commit_groups
from jetsql.jobs.statements.creation import create_checks
from tests.support.engines.in_memory_runtime import analysis, source
from tests.support.engines.jobs_harness import JobsHarness, run_manager
from tests.support.golden_reports import raises

BODY = "INSERT INTO out SELECT * FROM STREAM src"
OPTIONS = "OPTIONS ('kafka.commit.group' = 'shown')"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[JobsHarness]:
    with run_manager(tmp_path) as harness:
        harness.runtime.analysis = analysis(sources=(replace(source("src"), format="kafka", created=1),))
        yield harness


def check_refused(jobs: JobsHarness, text: str, at: str = "'shown'") -> None:
    """Check that a statement is refused. at: the text at the place of the error"""
    with raises(StatementError) as caught:
        jobs.sql(text)
    error = caught.value
    assert error.condition == "JETSQL.INVALID_OPTION_VALUE" and "shows the offsets of the job one" in error.message
    assert error.place is not None and text[error.place.start : error.place.stop] == at


def test_a_group_belongs_to_one_live_job(jobs: JobsHarness) -> None:
    jobs.sql(f"CREATE JOB one {OPTIONS} AS {BODY}")
    jobs.sql(f"CREATE JOB two OPTIONS ('kafka.commit.group' = 'other') AS {BODY}")
    jobs.sql("SUSPEND JOB one")  # its group has its offsets, and follows again after RESUME
    jobs.sql("SUSPEND JOB two")
    check_refused(jobs, f"CREATE JOB three {OPTIONS} AS {BODY}")
    check_refused(jobs, f"EXPLAIN CREATE JOB three {OPTIONS} AS {BODY}")
    check_refused(jobs, f"ALTER JOB two {OPTIONS}")
    check_refused(jobs, f"CREATE OR REPLACE JOB two {OPTIONS} AS {BODY}")
    jobs.sql(f"ALTER JOB one {OPTIONS} RESUME")
    jobs.sql(f"CREATE OR REPLACE JOB one {OPTIONS} AS {BODY} WHERE true")
    jobs.sql("DROP JOB one")
    jobs.sql(f"ALTER JOB two {OPTIONS}")


def test_options_name_the_group(jobs: JobsHarness) -> None:
    jobs.sql(f"CREATE JOB one {OPTIONS} AS {BODY}")
    assert "'kafka.commit.group' = 'shown'" in str(jobs.sql("SHOW CREATE JOB one").rows)
    line = "Group:       the consumer group shown shows the offsets of committed batches"
    assert line in str(jobs.sql(f"EXPLAIN CREATE OR REPLACE JOB one {OPTIONS} AS {BODY}").rows[0][0]).splitlines()


def test_group_is_checked_when_another_statement_was_faster(jobs: JobsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the statements find no conflict, as before the other job is there."""
    monkeypatch.setattr(create_checks, "check_group_unused", lambda plan, others, sees: None)
    jobs.sql(f"CREATE JOB one {OPTIONS} AS {BODY}")
    jobs.sql(f"CREATE JOB two AS {BODY}")
    check_refused(jobs, f"CREATE JOB three {OPTIONS} AS {BODY}", "three")
    check_refused(jobs, f"CREATE OR REPLACE JOB two {OPTIONS} AS {BODY}", "two")
    jobs.sql("SUSPEND JOB two")
    check_refused(jobs, f"ALTER JOB two {OPTIONS}", "two")


def test_completed_job_does_not_resume_with_the_group_of_another(jobs: JobsHarness) -> None:
    jobs.runtime.quiet = True
    options = OPTIONS.replace(")", ", 'trigger' = 'availableNow')")
    creating, job = jobs.begin(f"CREATE JOB ended {options} AS {BODY}")
    jobs.runtime.complete(job.id)
    creating.result(20)
    jobs.runtime.quiet = False
    jobs.sql(f"CREATE JOB one {OPTIONS} AS {BODY}")
    check_refused(jobs, "RESUME JOB ended", "ended")


def test_group_of_an_earlier_version_is_kept_for_it(jobs: JobsHarness) -> None:
    """Check the group to which an update returns when it fails."""
    jobs.sql(f"CREATE JOB one {OPTIONS} AS {BODY}")
    live = next(view.job for view in jobs.manager.registry.live())
    plain = replace(live.plan, options=replace(live.plan.options, commit_group=None))
    updated = replace(live, version=replace(live.version, plan=plain), rollback_version=live.version)
    with raises(StatementError, match="shows the offsets of a job of another user"):
        commit_groups.check_group_unused(live.plan, (updated,), lambda job: False)
    commit_groups.check_group_unused(live.plan, (replace(updated, rollback_version=None),), lambda job: False)
