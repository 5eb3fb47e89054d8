"""Bring the job of a resource to what the resource declares.

The statement is compared and applied as `jetsql apply` does it, with the resource as the group of the job. So a job
belongs to one resource, and a job of another group, or of none, is left alone. A job that is not wanted to run is not
created: CREATE JOB would start it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from jetsql.job_resources.engine_statements import CommandFailed, EngineStatements, ResourceError
from jetsql.job_resources.job_statement import JobStatement, read_job_statement
from jetsql.job_resources.resource import CustomResource, ResourceKey
from jetsql.jobs.model.ids import canonical_id
from jetsql.jobs.model.job import CANCELLED, Job, Status, name_key
from jetsql.jobs.planning.update_verdict import is_same_text
from jetsql.jobs.statements.describe import create_text
from jetsql.language.tokens import quoted_name, written_name
from jetsql.output.diagnostics import Diagnostic
from jetsql.sqlfiles.apply.dependencies import order_declarations
from jetsql.sqlfiles.apply.engine_state import EngineSessions, ExistingJob, StatementFailed
from jetsql.sqlfiles.apply.make_plan import make_plan
from jetsql.sqlfiles.apply.plan_steps import ApplyPlan
from jetsql.sqlfiles.apply.run_plan import ApplyRun, run_plan
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel

_STATE_NOT_COMPATIBLE: Final = f"{PREFIX}STATE_NOT_COMPATIBLE"
_TRIED: Final = (f"{PREFIX}UPDATE_FAILED",)
"""The conditions of statements that have stopped the job, which then continued with its earlier statement."""
_TEXTS: Final = ("condition", "sqlstate", "message", "hint")
_SUSPENDED: Final = (Status.SUSPENDED, Status.SUSPENDED_EXPORTING_SNAPSHOT)
_EXISTS: Final = "JOB_ALREADY_EXISTS"
_CREATED_LATER: Final = "The job is created when spec.state is Running."
_CHANGED_LATER: Final = "The job is suspended. Its changed statement applies when spec.state is Running."

_DROPPED: Final = "The job was dropped by a statement. It is created again when spec changes."


@dataclass(frozen=True)
class Reconciliation:
    """The result of a reconciliation."""

    reason: str  # of the condition Ready
    message: str
    is_ready: bool = False
    is_stalled: bool = False  # only the user can change it
    error: ResourceError | None = None
    job: Job | None = None
    has_failed: bool = False  # it is tried again after a pause


class JobReconciler:
    """The reconciliation of the jobs of one namespace. Several workers can use it, each for another resource."""

    def __init__(
        self, statements: EngineStatements, find_rival: Callable[[CustomResource, str], ResourceKey | None]
    ) -> None:
        """Create it. find_rival: returns another resource that has declared a job with the same name before."""
        self._statements = statements
        self._find_rival = find_rival
        self._read: dict[ResourceKey, tuple[str, JobStatement]] = {}

    def reconcile(self, resource: CustomResource) -> Reconciliation:
        """Run the statements that the resource needs. Raises EngineError."""
        with self._statements.for_user():
            try:
                statement = self._statement(resource)
            except StatementFailed as failed:
                return self._failed(resource, "InvalidStatement", failed.diagnostic)
            try:
                return self._reconcile(resource, statement)
            except StatementFailed as failed:
                return self._failed(resource, "StatementFailed", failed.diagnostic)
            except CommandFailed as failed:
                return self._with_error(resource, "StatementFailed", failed.error)

    def drop(self, resource: CustomResource) -> Reconciliation | None:
        """Drop the job of a deleted resource; return None when it is dropped. Raises EngineError."""
        self._read.pop(resource.key, None)
        jobs = self._droppable(resource)
        snapshot = resource.spec.get("snapshotOnDelete")
        keeping = f" WITH SNAPSHOT {quoted_name(str(snapshot))}" if snapshot else ""
        for job in jobs:
            try:
                with self._statements.for_user():
                    self._statements.command(f"DROP JOB {quoted_name(job.name)}{keeping}")
            except CommandFailed as failed:
                return Reconciliation("DropFailed", failed.error.message, error=failed.error, job=job, has_failed=True)
            with self._statements.for_engine():
                after = self._statements.queries.view(job.id)
            if after is not None and after.job.is_live:
                return Reconciliation("Dropping", "The job is being dropped.", job=after.job, has_failed=True)
        return None

    def forget(self, key: ResourceKey) -> None:
        """Note that a resource does not exist any more."""
        self._read.pop(key, None)

    def _droppable(self, resource: CustomResource) -> Sequence[Job]:
        """Return the jobs to drop with a resource: those of the user, and that of its status, of an earlier user.

        Another user can give a job the group of the resource. It must not prevent the deletion.
        """
        with self._statements.for_user():
            own = self._own_jobs(resource)
        with self._statements.for_engine():
            declared = [job for job in self._jobs(group=resource.group) if job.id == resource.status.get("jobId")]
        return [*own, *(job for job in declared if job.id not in {each.id for each in own})]

    def _statement(self, resource: CustomResource) -> JobStatement:
        sql = str(resource.spec.get("sql", ""))
        known = self._read.get(resource.key)
        if known is not None and known[0] == sql:
            return known[1]
        statement = read_job_statement(sql, resource.group)
        self._read[resource.key] = sql, statement
        return statement

    def _reconcile(self, resource: CustomResource, statement: JobStatement) -> Reconciliation:
        name = statement.declaration.name
        jobs = self._jobs(name, resource.group)
        live = next((job for job in jobs if _is_named(job, name)), None)
        refused = self._conflict(resource, name, jobs)
        if refused is not None:
            return refused
        is_wanted = resource.spec.get("state") != "Suspended"
        if live is not None and not is_wanted and live.status not in _SUSPENDED:
            self._statements.command(f"SUSPEND JOB {quoted_name(name)}")
            live = self._live(name)
        ended = self._ended(resource) if live is None else None
        if ended is not None and not resource.has_new_spec and is_same_text(ended, statement.create):
            return _outcome(ended, is_wanted)
        if live is not None and is_same_text(live, statement.create):
            return self._resumed(resource, name, live) if is_wanted else _outcome(live, is_wanted)
        return self._applied(resource, statement, live, is_wanted)

    def _conflict(self, resource: CustomResource, name: str, jobs: Sequence[Job]) -> Reconciliation | None:
        """Return why the resource cannot have the job; None if it can.

        jobs: the live ones with this name, and of this resource.
        """
        for job in jobs:
            refused = self._conflict_with(resource, name, job)
            if refused is not None:
                return refused
        rival = self._find_rival(resource, name)
        if rival is not None:
            message = f"The resource {rival.name} declares a job {name} as well."
            return _of_another_group(message)
        return None

    def _conflict_with(self, resource: CustomResource, name: str, job: Job) -> Reconciliation | None:
        group, is_owned = _group(job), self._statements.queries.owns(job)
        if not _is_named(job, name):
            if not is_owned:  # another user has given it the group of the resource
                return None
            message = f"The job of this resource has the name {job.name}, which cannot change to {name}."
            hint = "Change the name back; or delete the resource, which drops the job, and create another one."
            return _refused("NameChanged", "NOT_SUPPORTED", message, hint)
        if group is not None and group != resource.group:
            return _of_another_group(f"The job {name} belongs to the group '{group}'.")
        if group is None:
            message = f"The engine has a job {name}, which no resource declares."
            hint = f"Use another name, or run DROP JOB {written_name(name)} first."
            return _refused("JobExists", _EXISTS, message, hint)
        if not is_owned:
            message = f"The engine has a job {name} of another user."
            hint = "Use another name; or give the job to the user of kubernetes_jobs_user with ALTER JOB ... OWNER TO."
            return _refused("JobExists", _EXISTS, message, hint)
        return None

    def _applied(
        self, resource: CustomResource, statement: JobStatement, live: Job | None, is_wanted: bool
    ) -> Reconciliation:
        """Create or replace the job. Of a job that is not wanted to run, only check the statement."""
        name = statement.declaration.name
        tried = _tried(resource)
        if tried is not None and is_wanted:
            return Reconciliation("StatementFailed", tried.message, is_stalled=True, error=tried, job=live)
        plan = self._plan(resource, statement, live)
        problem = _first_error(plan)
        restarts = resource.spec.get("onIncompatibleState") == "Restart"
        if restarts and problem is not None and problem.condition == _STATE_NOT_COMPATIBLE:
            if not is_wanted:
                return _suspended(live, _CHANGED_LATER)
            self._statements.command(f"DROP JOB {quoted_name(name)}")
            plan = self._plan(resource, statement, self._live(name))
            problem = _first_error(plan)
        if problem is not None:
            is_state = problem.condition == _STATE_NOT_COMPATIBLE
            reason = "StateNotCompatible" if is_state else "StatementFailed"
            return self._failed(resource, reason, problem.diagnostic(), live)
        if not is_wanted:
            return _suspended(live, _CREATED_LATER if live is None else _CHANGED_LATER)
        run = ApplyRun()
        sessions = EngineSessions(self._statements)
        run_plan(plan.to_do, sessions, lambda step: nullcontext(), lambda outcome: None, run)
        error = next((each.error for each in run.outcomes if each.error is not None), None)
        if error is not None:
            ended = None if error.condition in _TRIED or live is not None else self._newest_ended(resource)
            return self._failed(resource, "StatementFailed", error, ended)
        after = self._live(name)
        if after is not None:
            return _outcome(after, is_wanted)
        ended = self._ended(resource) or self._newest_ended(resource)
        if ended is None:
            return Reconciliation("Starting", "The job was created, and is not shown yet.", has_failed=True)
        return _outcome(ended, is_wanted)

    def _plan(self, resource: CustomResource, statement: JobStatement, live: Job | None) -> ApplyPlan:
        sessions = _JobSessions(self._statements, () if live is None else (live,))
        return make_plan(order_declarations([statement.declaration]), sessions, resource.group)

    def _resumed(self, resource: CustomResource, name: str, job: Job) -> Reconciliation:
        """Resume a job that was suspended, but not again and again one that the engine suspends after an error."""
        if job.status is Status.SUSPENDED and (job.cause is None or resource.has_new_spec):
            self._statements.command(f"RESUME JOB {quoted_name(name)}")
            job = self._live(name) or job
        return _outcome(job, is_wanted=True)

    def _live(self, name: str) -> Job | None:
        return next(iter(self._jobs(name)), None)

    def _own_jobs(self, resource: CustomResource) -> Sequence[Job]:
        return [job for job in self._jobs(group=resource.group) if self._statements.queries.owns(job)]

    def _jobs(self, name: str | None = None, group: str | None = None) -> Sequence[Job]:
        """Return the live jobs with a name, and those of a group. None for no such jobs."""
        key = None if name is None else name_key(name)

        def is_wanted(job: Job) -> bool:
            return name_key(job.name) == key or (group is not None and _group(job) == group)

        return [view.job for view in self._statements.queries.live(is_wanted)]

    def _ended(self, resource: CustomResource) -> Job | None:
        """Return the ended job that the status of a resource names."""
        job_id = resource.status.get("jobId")
        if not isinstance(job_id, str) or canonical_id(job_id) is None:
            return None
        job = self._statements.queries.stored(job_id)
        return job if job is not None and not job.is_live and _group(job) == resource.group else None

    def _newest_ended(self, resource: CustomResource) -> Job | None:
        ended = self._statements.queries.ended()
        return next(
            (job for job in ended if _group(job) == resource.group and self._statements.queries.owns(job)), None
        )

    def _failed(
        self, resource: CustomResource, reason: str, found: Diagnostic, job: Job | None = None
    ) -> Reconciliation:
        return self._with_error(resource, reason, self._statements.described(found), job)

    def _with_error(
        self, resource: CustomResource, reason: str, error: ResourceError, job: Job | None = None
    ) -> Reconciliation:
        if job is None:
            job = next(iter(self._own_jobs(resource)), None)
        return Reconciliation(reason, error.message, is_stalled=True, error=error, job=job, has_failed=True)


class _JobSessions(EngineSessions):
    """The sessions for the plan of one job, which is known already."""

    def __init__(self, statements: EngineStatements, jobs: tuple[Job, ...]) -> None:
        super().__init__(statements)
        self._jobs = jobs

    def jobs(self) -> list[ExistingJob]:
        """Return the jobs that have the name of the declared one."""
        return [
            ExistingJob(
                job.name,
                job.status.value,
                tuple(sink.table for sink in job.plan.analysis.sinks),
                "" if job.cause is None else job.cause.message,
                create_text(job),
                _group(job) or "",
            )
            for job in self._jobs
        ]


def _first_error(plan: ApplyPlan) -> LintProblem | None:
    """Return the first error, which is the verdict on the state only if there is no other one."""
    errors = [each for each in plan.problems if each.level is ProblemLevel.ERROR]
    return min(errors, key=lambda each: each.condition == _STATE_NOT_COMPATIBLE, default=None)


def _group(job: Job) -> str | None:
    return job.plan.options.apply_group


def _is_named(job: Job, name: str) -> bool:
    return name_key(job.name) == name_key(name)


def _tried(resource: CustomResource) -> ResourceError | None:
    """Return the error of a statement that is not tried again, because it would stop the job each time."""
    error = resource.status.get("error")
    if resource.has_new_spec or not isinstance(error, Mapping) or error.get("condition") not in _TRIED:
        return None
    condition, sqlstate, message, hint = (str(error.get(name) or "") for name in _TEXTS)
    return ResourceError(condition, sqlstate, message, hint, error.get("line"), error.get("column"))


def _of_another_group(message: str) -> Reconciliation:
    return _refused("JobOfAnotherGroup", "JOB_OF_ANOTHER_GROUP", message, "Use another name for the job.")


def _refused(reason: str, name: str, message: str, hint: str) -> Reconciliation:
    """Return the outcome without a statement. name: of the condition of the error."""
    error = ResourceError.of(name, message, hint)
    return Reconciliation(reason, message, is_stalled=True, error=error, has_failed=True)


def _suspended(job: Job | None, message: str) -> Reconciliation:
    return Reconciliation("Suspended", message, is_ready=True, job=job)


def _outcome(job: Job, is_wanted: bool) -> Reconciliation:
    """Return the outcome for a job with the statement of its resource."""
    error = None if job.cause is None else ResourceError.of_cause(job.cause)
    match job.status:
        case Status.RUNNING:
            return Reconciliation("Running", "The job is running.", is_ready=True, job=job, error=error)
        case Status.SUSPENDED | Status.SUSPENDED_EXPORTING_SNAPSHOT if not is_wanted:
            return Reconciliation("Suspended", "The job is suspended.", is_ready=True, job=job, error=error)
        case Status.SUSPENDED if job.cause is not None:
            message = f"The engine has suspended the job. {job.cause.message}"
            return Reconciliation("SuspendedByEngine", message, is_stalled=True, job=job, error=error)
        case Status.FAILED:
            message = _DROPPED
            if job.cause is not None and job.cause != CANCELLED:
                message = f"The job has failed. {job.cause.message}"
            else:
                error = ResourceError.of("JOB_NOT_FOUND", message)
            return Reconciliation("JobFailed", message, is_stalled=True, job=job, error=error)
        case Status.COMPLETED:
            return Reconciliation("Completed", "The job has read all its rows.", is_ready=True, job=job)
    cause = "" if job.cause is None else f" {job.cause.message}"
    return Reconciliation("Starting", f"The job is {job.status.value}.{cause}", job=job, error=error)
