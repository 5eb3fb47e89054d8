"""Compare declarations with an engine, and plan what to do. Nothing is changed.

Tables are compared by their parts (`compare_tables`), functions, alerts and rights by what the engine stores, and jobs
by the engine itself: EXPLAIN CREATE OR REPLACE JOB returns whether the statement changes anything, and whether the job
can keep its state. A statement that reads an object which the plan creates or replaces cannot be explained before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from jetsql.jobs.model.job import name_key
from jetsql.jobs.model.redaction import redact_urls
from jetsql.jobs.model.table_names import join_table, quoted_table, split_table
from jetsql.jobs.planning.single_read import read_single_read
from jetsql.jobs.planning.update_verdict import (
    EXISTING_TABLE,
    UpdateKind,
    UpdateVerdict,
    normalised_words,
    read_verdict,
)
from jetsql.language import parse
from jetsql.language import statement as st
from jetsql.language.statement_head import head_of
from jetsql.language.tokens import quoted_name
from jetsql.output.diagnostics import Diagnostic
from jetsql.script import PreparedStatement
from jetsql.sqlfiles.apply.compare_alerts import compare_alert, find_problems, find_undeclared
from jetsql.sqlfiles.apply.compare_tables import compare_table, compare_view
from jetsql.sqlfiles.apply.connection_rows import find_differences
from jetsql.sqlfiles.apply.declarations import Declaration, ObjectKind
from jetsql.sqlfiles.apply.dependencies import OrderedDeclarations, written_tables
from jetsql.sqlfiles.apply.engine_state import MISSING, NO_SCHEMA, EngineSessions, ExistingJob, StatementFailed
from jetsql.sqlfiles.apply.function_rows import differs_from, find_function
from jetsql.sqlfiles.apply.grant_rows import DeclaredRights, UndeclaredRight
from jetsql.sqlfiles.apply.plan_steps import ApplyPlan, PlanAction, PlanStep
from jetsql.sqlfiles.apply.statement_edits import creating, explaining, group_of, replacing
from jetsql.sqlfiles.apply.table_definitions import read_definition
from jetsql.sqlfiles.lint_files import is_ignored
from jetsql.sqlfiles.lint_problems import PREFIX, LintProblem, ProblemLevel
from jetsql.sqlfiles.statement_names import is_same_name, lower_parts

_TABLE_DIFFERS: Final = f"{PREFIX}TABLE_DIFFERS"
_OTHER_GROUP: Final = f"{PREFIX}JOB_OF_ANOTHER_GROUP"
_ALERT_OF_OTHER_GROUP: Final = f"{PREFIX}ALERT_OF_ANOTHER_GROUP"
_STATE_NOT_COMPATIBLE: Final = f"{PREFIX}STATE_NOT_COMPATIBLE"
_TABLE_IN_USE: Final = f"{PREFIX}TABLE_IN_USE"
_BATCH: Final = "Job:         batch"
_WOULD_DROP: Final = "no file declares it; --prune would drop it"
_LOST_STATE: Final = "its state is lost; its table is kept"


def make_plan(
    ordered: OrderedDeclarations, sessions: EngineSessions, group: str = "", prune: bool = False
) -> ApplyPlan:
    """Return the plan for declarations.

    group: of the folder's jobs and alerts; empty for none. prune: drop the jobs of the group that no file declares.
    Raises EngineError, and ReportedError if the engine refuses to list its jobs.
    """
    maker = _PlanMaker(ordered, sessions, group, prune)
    for declaration in ordered.items:
        maker.add(declaration)
    if group:
        maker.add_undeclared()
    maker.add_undeclared_rights()
    return maker.plan


def add_undeclared_alerts(
    plan: ApplyPlan, ordered: OrderedDeclarations, sessions: EngineSessions, group: str, prune: bool
) -> None:
    """Plan to drop the alerts of a group that no file declares, or note them. Only folders have alerts.

    Raises EngineError, and ReportedError if the engine refuses to list its alerts.
    """
    declared = {each.key[0] for each in ordered.items if each.kind is ObjectKind.ALERT}
    for name in find_undeclared(declared, sessions, group):
        if not prune:
            plan.steps.append(PlanStep(PlanAction.LEAVE, ObjectKind.ALERT, name, notes=(_WOULD_DROP,)))
            continue
        note, text = f"alert of the group '{group}' that no file declares", f"DROP ALERT {quoted_name(name)}"
        plan.steps.append(PlanStep(PlanAction.DROP, ObjectKind.ALERT, name, text=text, notes=(note,)))


class _PlanMaker:
    def __init__(self, ordered: OrderedDeclarations, sessions: EngineSessions, group: str, prune: bool) -> None:
        self.plan = ApplyPlan()
        self._ordered = ordered
        self._sessions = sessions
        self._group = group
        self._prunes = prune and group != ""
        self._jobs = sessions.jobs()
        self._steps: dict[int, PlanStep] = {}  # by the id of a declaration
        self._changed: set[int] = set()  # ids of declarations that readers see changed
        self._rights = DeclaredRights(sessions)

    def add(self, declaration: Declaration) -> None:
        """Plan what is done with a declared object."""
        try:
            step = self._step(declaration)
        except StatementFailed as failed:
            self.plan.problems.append(_problem_of(failed.diagnostic))
            return
        if step is None:
            return
        self.plan.steps.append(step)
        self._steps[id(declaration)] = step
        replaced = step.action is PlanAction.REPLACE and step.kind in (ObjectKind.VIEW, ObjectKind.FUNCTION)
        through_view = step.kind is ObjectKind.VIEW and bool(self._changed_needs(declaration))
        if step.action is PlanAction.CREATE or replaced or through_view:
            self._changed.add(id(declaration))

    def add_undeclared(self) -> None:
        """Plan to drop the jobs of the group that no file declares, or note them."""
        for job in reversed(self._jobs):
            if self._is_undeclared(job):
                self._insert(self._undeclared(job), job)

    def add_undeclared_rights(self) -> None:
        """Plan to revoke the rights that the folder's users and roles have, and that no file grants; or note them."""
        for step in self._steps.values():
            if step.kind in (ObjectKind.USER, ObjectKind.ROLE) and step.action is PlanAction.LEAVE:
                for right in self._rights.find_undeclared(step.name):
                    self.plan.steps.append(_undeclared_right(right, self._prunes))

    def _step(self, declaration: Declaration) -> PlanStep | None:
        if not self._is_ready(declaration):
            return self._unchecked(declaration)
        match declaration.kind:
            case ObjectKind.USER | ObjectKind.ROLE:
                return _create(declaration) if self._rights.is_missing(declaration) else _leave(declaration)
            case ObjectKind.LIMITS:
                return self._limits(declaration)
            case ObjectKind.GRANT:
                return self._grant(declaration)
            case ObjectKind.SECRET | ObjectKind.CONNECTION:
                return self._connection(declaration)
            case ObjectKind.ALERT:
                return self._alert(declaration)
            case ObjectKind.SCHEMA:
                return self._schema(declaration)
            case ObjectKind.FUNCTION:
                return self._function(declaration)
            case ObjectKind.TABLE:
                return self._table(declaration)
            case ObjectKind.VIEW:
                return self._view(declaration)
        return self._job(declaration)

    def _is_ready(self, declaration: Declaration) -> bool:
        """Return whether the session of a statement can be set up now. Raises StatementFailed if it never can."""
        try:
            self._sessions.session(declaration.context)
            return True
        except StatementFailed as failed:
            created = any(need.kind is ObjectKind.SCHEMA for need in self._changed_needs(declaration))
            if failed.diagnostic.condition == NO_SCHEMA and created:
                return False
            raise

    def _schema(self, declaration: Declaration) -> PlanStep:
        name = quoted_table(join_table(declaration.parts))
        if self._sessions.ask(declaration, f"DESCRIBE SCHEMA {name}") is None:
            return _create(declaration)
        return _leave(declaration)

    def _grant(self, declaration: Declaration) -> PlanStep | None:
        try:
            difference = self._rights.find_difference(declaration)
        except StatementFailed as failed:
            if failed.diagnostic.condition in MISSING and self._changed_needs(declaration):
                return self._unchecked(declaration)
            raise
        if difference is None:
            return _leave(declaration)
        if not difference.is_missing:
            return replace(_leave(declaration), notes=difference.notes)
        return _create(declaration)

    def _limits(self, declaration: Declaration) -> PlanStep | None:
        difference = self._rights.find_limits_difference(declaration)
        if difference is None:
            return self._unchecked(declaration)
        if not difference.is_missing:
            return replace(_leave(declaration), notes=difference.notes)
        action = PlanAction.REPLACE if difference.notes else PlanAction.CREATE
        return replace(_create(declaration), action=action, notes=difference.notes)

    def _connection(self, declaration: Declaration) -> PlanStep:
        differences = find_differences(declaration, self._sessions)
        if differences is None:
            return _create(declaration)
        if not differences:
            return _leave(declaration)
        return replace(_replace(declaration), notes=(f"it has {', '.join(differences)}",))

    def _alert(self, declaration: Declaration) -> PlanStep | None:
        compared = compare_alert(declaration, self._sessions, self._group)
        if not self._check_group(declaration, declaration.name, "" if compared is None else compared.group):
            return None
        if compared is not None and not compared.differences:
            return replace(_leave(declaration), notes=compared.notes)
        problems = list(find_problems(declaration, self._ordered, self._sessions, self._jobs))
        if problems:
            self.plan.problems += problems
            return None
        if compared is None:
            return _create(declaration, self._group)
        notes = (f"it has {', '.join(compared.differences)}", *compared.notes)
        step = _replace(declaration, self._group)
        return replace(step, before=compared.before, after=compared.after, notes=notes)

    def _function(self, declaration: Declaration) -> PlanStep:
        statement = declaration.checked.statement
        if isinstance(statement, st.CreateFunction):
            row = find_function(declaration, self._sessions)
            if row is None:
                return _create(declaration)
            differences = differs_from(statement, row)
            if not differences:
                return _leave(declaration)
            return replace(_replace(declaration), notes=(f"it has {', '.join(differences)}",))
        name = quoted_table(join_table(declaration.parts))
        if self._sessions.ask(declaration, f"DESCRIBE FUNCTION {name}") is None:
            return _create(declaration)
        return replace(_leave(declaration), notes=("its definition was not compared",))

    def _table(self, declaration: Declaration) -> PlanStep | None:
        text = self._sessions.created_text(declaration)
        if text is None:
            return self._check(_create(declaration))
        declared, existing = read_definition(declaration.text), read_definition(text)
        if declared is None:
            return replace(_leave(declaration), notes=("its definition was not compared",))
        if existing is None or _is_view(text):
            self._report_other_kind(declaration, text)
            return None
        compared = compare_table(declaration.qualified_name, declared, existing)
        for difference in compared.differences:
            place = None if difference.token is None else difference.token.place
            message = f"The table {declaration.name} differs: {difference.message}."
            self.plan.problems.append(declaration.problem(_TABLE_DIFFERS, message, difference.hint, place))
        return replace(_leave(declaration), notes=compared.notes)

    def _view(self, declaration: Declaration) -> PlanStep | None:
        text = self._sessions.created_text(declaration)
        if text is None:
            return self._check(_create(declaration))
        declared, existing = read_definition(declaration.text), read_definition(text)
        if not _is_view(text) or existing is None or declared is None:
            self._report_other_kind(declaration, text)
            return None
        differences = compare_view(declared, existing)
        if not differences:
            return _leave(declaration)
        step = replace(_replace(declaration), before=text, notes=(f"the file has {', '.join(differences)}",))
        return self._check(step)

    def _check(self, step: PlanStep) -> PlanStep:
        """Return a step for a table or view after Spark has checked its statement, or as unchecked."""
        assert step.declaration is not None and step.statement is not None
        if self._explain(step.declaration, replace(step.statement, prefix="EXPLAIN ")) is not None:
            return step
        return replace(step, is_checked=False, notes=(*step.notes, self._unchecked_note(step.declaration)))

    def _explain(self, declaration: Declaration, statement: PreparedStatement) -> str | None:
        """Return the plan of a statement; None if it needs what other steps create or change.

        Raises StatementFailed for an error of the statement, EngineError.
        """
        changed = self._changed_needs(declaration)
        if any(self._steps[id(need)].action is not PlanAction.CREATE for need in changed):
            return None  # the plan of the present view or function would be another one
        try:
            return self._sessions.explain(statement, declaration.context)
        except StatementFailed as failed:
            if changed and failed.diagnostic.condition in MISSING:
                return None
            if failed.diagnostic.condition == _TABLE_IN_USE and self._is_freed(declaration):
                return None
            raise

    def _report_other_kind(self, declaration: Declaration, text: str) -> None:
        kind = " ".join(text.split()[1:3]).lower() if read_definition(text) is None else "table"
        kind = "view" if _is_view(text) else kind
        message = f"{declaration.name} exists, and is a {kind} instead of a {declaration.kind.value}."
        hint = "Use another name, or drop the object that exists."
        self.plan.problems.append(declaration.problem(_TABLE_DIFFERS, message, hint))

    def _job(self, declaration: Declaration) -> PlanStep | None:
        live = self._live_job(declaration)
        if not self._check_group_of_job(declaration, live):
            return None
        plan = self._explain(declaration, explaining(declaration, self._group))
        if plan is None:
            return self._unchecked(declaration)
        verdict = read_verdict(plan)
        notes = _batch_notes(declaration, plan)
        if verdict is None and declaration.kind is not ObjectKind.JOB and EXISTING_TABLE in plan:
            ended = self._newest_job(declaration)
            before = "" if ended is None else ended.statement
            return replace(_replace(declaration, self._group), before=before, notes=("its rows are computed again",))
        if verdict is None:
            return replace(_create(declaration, self._group), notes=(*notes, *self._ended_notes(declaration)))
        if verdict.kind is UpdateKind.UNCHANGED:
            is_idle = live is not None and live.status != "RUNNING"
            notes = (_status_text("its status is", live),) if live is not None and is_idle else ()
            return replace(_leave(declaration), notes=notes)
        if verdict.kind is UpdateKind.REFUSED:
            self._report_refusal(declaration, verdict)
        step = _replace(declaration, self._group)
        before = "" if live is None else live.statement
        return replace(step, verdict=verdict.details, before=before, notes=_started_notes(live))

    def _live_job(self, declaration: Declaration) -> ExistingJob | None:
        return next((job for job in self._jobs if job.is_live and _is_job_of(job, declaration)), None)

    def _check_group_of_job(self, declaration: Declaration, live: ExistingJob | None) -> bool:
        name, group = (declaration.name, "") if live is None else (live.name, live.group)
        return self._check_group(declaration, name, group)

    def _check_group(self, declaration: Declaration, name: str, existing: str) -> bool:
        """Report a job or an alert that belongs to another group; return whether it does not.

        name, existing: of what exists, and its group; empty without one.
        """
        is_alert = declaration.kind is ObjectKind.ALERT
        word, condition = ("alert", _ALERT_OF_OTHER_GROUP) if is_alert else ("job", _OTHER_GROUP)
        option = group_of(declaration)
        if option is not None and self._group and option.value != self._group:
            message = f"The file puts the {word} {declaration.name} into the group '{option.value}'"
            hint = f"Remove the option, or use --group {option.value}."
            problem = declaration.problem(condition, f"{message}, not '{self._group}'.", hint, option.value_place)
            self.plan.problems.append(problem)
            return False
        if not existing or existing == (option.value if option is not None else self._group):
            return True
        message = f"The {word} {name} belongs to the group '{existing}' of `jetsql apply`."
        hint = f"Use --group {existing} if this is its folder; otherwise use another name for the {word}."
        self.plan.problems.append(declaration.problem(condition, message, hint))
        return False

    def _report_refusal(self, declaration: Declaration, verdict: UpdateVerdict) -> None:
        job = declaration.checked.job
        assert job is not None, "only a job has a verdict"
        if declaration.kind is ObjectKind.JOB:
            drop = f"run DROP JOB {quoted_name(job.name.text)}, delete the rows of its table"
        else:
            drop = f"run DROP {declaration.kind.value.upper()} {declaration.qualified_name}, which deletes its rows"
        message = f"The {declaration.kind.value} {declaration.name} cannot continue with this statement:"
        hint = f"Use another name; or {drop}, and apply again: the job then reads all rows again."
        problem = declaration.problem(_STATE_NOT_COMPATIBLE, f"{message} {verdict.details}.", hint, job.body.place)
        self.plan.problems.append(problem)

    def _ended_notes(self, declaration: Declaration) -> tuple[str, ...]:
        """Return that the job of this name has ended, if it has."""
        if declaration.kind is not ObjectKind.JOB:
            return ()
        ended = self._newest_job(declaration)
        return () if ended is None else (_status_text("the last job of this name is", ended),)

    def _newest_job(self, declaration: Declaration) -> ExistingJob | None:
        return next((job for job in self._jobs if _is_job_of(job, declaration)), None)

    def _has_completed(self, declaration: Declaration) -> bool:
        """Return whether the job has run this body to its end."""
        ended = self._newest_job(declaration) if declaration.kind is ObjectKind.JOB else None
        wanted = declaration.checked.job
        if ended is None or ended.status != "COMPLETED" or wanted is None:
            return False
        stored = parse(ended.statement)
        return isinstance(stored, st.CreateJob) and normalised_words(stored.body.text) == normalised_words(
            redact_urls(wanted.body.text)
        )

    def _changed_needs(self, declaration: Declaration) -> list[Declaration]:
        return [need for need in self._ordered.needed_by(declaration) if id(need) in self._changed]

    def _unchecked(self, declaration: Declaration) -> PlanStep | None:
        """Return the step for a statement that the engine cannot check before other steps."""
        live = self._live_job(declaration) if declaration.kind.has_job else None
        if not self._check_group_of_job(declaration, live):
            return None
        if live is None and self._has_completed(declaration):
            return replace(_leave(declaration), notes=("it has completed; a batch job does not run again",))
        step = _create(declaration, self._group)
        if live is not None:
            step = replace(_replace(declaration, self._group), before=live.statement)
        return replace(step, is_checked=False, notes=(self._unchecked_note(declaration), *_started_notes(live)))

    def _unchecked_note(self, declaration: Declaration) -> str:
        changed = self._changed_needs(declaration)
        if not changed:
            return "not checked: the plan drops a job that writes its table first"
        created = all(self._steps[id(need)].action is PlanAction.CREATE for need in changed)
        names = ", ".join(f"{need.kind.value} {need.name}" for need in changed)
        return f"not checked: the plan {'creates' if created else 'changes'} {names} first"

    def _is_declared(self, job: ExistingJob) -> bool:
        return any(self._live_job(each) is job for each in self._ordered.items if each.kind.has_job)

    def _is_undeclared(self, job: ExistingJob) -> bool:
        return job.is_live and job.group == self._group and not self._is_declared(job)

    def _is_freed(self, declaration: Declaration) -> bool:
        """Return whether the plan drops a job that writes a table of the declaration."""
        return self._prunes and any(self._is_undeclared(job) and _writes_same(job, declaration) for job in self._jobs)

    def _undeclared(self, job: ExistingJob) -> PlanStep:
        statement = parse(job.statement)
        if isinstance(statement, st.CreateStreamingTable):
            note = f"no file declares it; it has rows, so only DROP {statement.kind.value} drops it"
            return PlanStep(PlanAction.LEAVE, ObjectKind(statement.kind.value.lower()), job.name, notes=(note,))
        if not self._prunes:
            return PlanStep(PlanAction.LEAVE, ObjectKind.JOB, job.name, notes=(_WOULD_DROP,))
        text = f"DROP JOB {quoted_name(job.name)}"
        note = f"job of the group '{self._group}' that no file declares; {_LOST_STATE}"
        return PlanStep(PlanAction.DROP, ObjectKind.JOB, job.name, text=text, notes=(note,), before=job.statement)

    def _insert(self, step: PlanStep, job: ExistingJob) -> None:
        """Insert a step before the first one that writes the same table, otherwise at the end."""
        at = len(self.plan.steps)
        if step.action is PlanAction.DROP:
            at = next(
                (
                    index
                    for index, other in enumerate(self.plan.steps)
                    if other.declaration is not None
                    and other.changes_something
                    and _writes_same(job, other.declaration)
                ),
                at,
            )
        self.plan.steps.insert(at, step)


def _batch_notes(declaration: Declaration, plan: str) -> tuple[str, ...]:
    """Return that a job runs once, with a warning if its query may lack STREAM."""
    if not plan.startswith(_BATCH):
        return ()
    single_read = read_single_read(plan)
    if single_read is None or is_ignored(declaration.linted.fragment.text):
        return ("a batch job: it runs once",)
    return (f"warning: the job reads {single_read.tables} once and then ends; {single_read.remedy}",)


def _writes_same(job: ExistingJob, declaration: Declaration) -> bool:
    """Return whether a job writes a table of a declaration."""
    sinks = [lower_parts(split_table(sink)) for sink in job.sinks]
    return any(is_same_name(sink, key) for key in written_tables(declaration) for sink in sinks)


def _create(declaration: Declaration, group: str = "") -> PlanStep:
    statement = creating(declaration, group)
    return PlanStep(PlanAction.CREATE, declaration.kind, declaration.name, declaration, statement)


def _replace(declaration: Declaration, group: str = "") -> PlanStep:
    statement = replacing(declaration, group)
    return PlanStep(PlanAction.REPLACE, declaration.kind, declaration.name, declaration, statement)


def _undeclared_right(right: UndeclaredRight, prunes: bool) -> PlanStep:
    if not prunes:
        note = "no file grants it; --prune would revoke it"
        return PlanStep(PlanAction.LEAVE, ObjectKind.GRANT, right.name, notes=(note,))
    return PlanStep(PlanAction.DROP, ObjectKind.GRANT, right.name, text=right.revoking, notes=("no file grants it",))


def _leave(declaration: Declaration) -> PlanStep:
    return PlanStep(PlanAction.LEAVE, declaration.kind, declaration.name, declaration)


def _is_job_of(job: ExistingJob, declaration: Declaration) -> bool:
    if declaration.kind is ObjectKind.JOB:
        return name_key(job.name) == declaration.key[0]
    return is_same_name(lower_parts(split_table(job.name)), declaration.key)


def _is_view(text: str) -> bool:
    head = head_of(text)
    return head.kind == "VIEW" and not head.has_job


def _status_text(before: str, job: ExistingJob) -> str:
    return f"{before} {job.status}{f': {job.last_error}' if job.last_error else ''}"


def _started_notes(live: ExistingJob | None) -> tuple[str, ...]:
    if live is None or not live.status.startswith("SUSPENDED"):
        return ()
    return ("the job is suspended, and the replacement starts it",)


def _problem_of(error: Diagnostic) -> LintProblem:
    level = ProblemLevel.ERROR
    return LintProblem(error.script, error.offset, error.offset, level, error.condition, error.message, error.hint)
