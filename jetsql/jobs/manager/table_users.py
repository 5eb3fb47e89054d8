"""The tables that running jobs use, which must not be dropped or renamed.

As in PostgreSQL, where views depend on tables, the statement is refused: a job cannot use its state with a new table of
the same name. A suspended job does not count, because SUSPEND JOB is the way to change its tables on purpose. A table
that a stream is joined with does not count either: it may be dropped and created again under the job.

A refusal does not name a job on which the caller has no right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from jetsql.jobs.lifecycle.step_context import join_sentences
from jetsql.jobs.manager.job_registry import JobRegistry
from jetsql.jobs.model.job import Job, Status, name_key
from jetsql.jobs.model.table_names import SESSION_CATALOG, join_table
from jetsql.language.tokens import quoted_name
from jetsql.output.counts import counted

_NOT_RUNNING: Final = (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT)


def refuse_change(
    registry: JobRegistry,
    sees: Callable[[Job], bool],
    action: str,
    schema: Sequence[str],
    table: str | None,
    except_job: str = "",
) -> str:
    """Return why a table cannot be changed, with a hint; empty if no running job uses it.

    sees: whether the caller has a right on a job. action: the verb of the statement. schema: the parts of its name,
    from the catalogue on. table: None for all tables of the schema and of those in it. except_job: the id of a job that
    may use the table.
    """
    live = (view.job for view in registry.live())
    jobs = [job for job in live if job.status not in _NOT_RUNNING and job.id != except_job]
    uses = [(job, use) for job in sorted(jobs, key=lambda job: job.id) for use in _uses(job, schema, table)]
    if not uses:
        return ""
    shown = join_table(schema[1:] if schema[0].lower() == SESSION_CATALOG else schema)
    subject = f"{shown}.{join_table([table])}" if table is not None else f"the schema {shown}"
    seen = [(job, use) for job, use in uses if sees(job)]
    hidden = len({job.id for job, _ in uses if not sees(job)})
    users = [f"the job {job.name} {use}" for job, use in seen]
    users += [f"{counted(hidden, 'job')} of other users {'uses' if hidden == 1 else 'use'} it"] if hidden else []
    return f"Cannot {action} {subject}: {'; '.join(users)}. {_hint([job for job, _ in seen], hidden)}"


def _hint(seen: Sequence[Job], hidden: int) -> str:
    names = list(dict.fromkeys(quoted_name(job.name) for job in seen))
    drops, suspends = (" and ".join(f"{verb} JOB {name}" for name in names) for verb in ("DROP", "SUSPEND"))
    own = f"Run {drops} first, or {suspends} to keep the state." if names else ""
    return join_sentences(own, "Ask an admin about the jobs of other users." if hidden else "")


def _uses(job: Job, schema: Sequence[str], table: str | None) -> Iterator[str]:
    """Return what the job does with the table, or with each table of the schema, as phrases."""
    analysis = job.plan.analysis
    written = dict.fromkeys(sink.table for sink in analysis.sinks)
    yield from (f"writes {'it' if table is not None else name}" for name in written if _matches(name, schema, table))
    if job.plan.late_rows_table and _matches(job.plan.late_rows_table, schema, table):
        yield f"writes late rows to {'it' if table is not None else job.plan.late_rows_table}"
    if job.plan.refused_rows_table and _matches(job.plan.refused_rows_table, schema, table):
        yield f"writes refused rows to {'it' if table is not None else job.plan.refused_rows_table}"
    violations = dict.fromkeys(rule.table for rule in analysis.expectations if rule.table)
    for name in violations:
        if _matches(name, schema, table):
            yield f"writes rows that violate a rule to {'it' if table is not None else name}"
    read = dict.fromkeys((*(source.name for source in analysis.sources), *analysis.tables_read_once))
    yield from (f"reads {'it' if table is not None else name}" for name in read if _matches(name, schema, table))


def _matches(name: str, schema: Sequence[str], table: str | None) -> bool:
    """Return whether a qualified name is that of the table, or of a table in the schema."""
    if table is None:
        return name_key(name).startswith(f"{name_key(join_table(schema))}.")
    return name_key(name) == name_key(join_table([*schema, table]))
