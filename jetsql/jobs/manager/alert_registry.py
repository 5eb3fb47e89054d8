"""The alerts of an engine: evaluated with each event of a job, stored with it, and delivered by other threads.

A change of the state of an alert and its message are stored in the transaction of the event that causes them. So each
firing is in the store once, and a next engine continues from there. Only the writer's thread evaluates. Conditions that
become true without an event have a time when they can, and one timer waits for the earliest of these times.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Event, Lock
from typing import TYPE_CHECKING, Final

from jetsql.errors import EngineError
from jetsql.jobs.access.access_records import Right
from jetsql.jobs.access.access_state import AccessState, alert_object
from jetsql.jobs.access.connection_records import StoredConnections
from jetsql.jobs.alerts.alert_commands import AlertSettings
from jetsql.jobs.alerts.alert_conditions import Evaluation, JobFacts, condition_text, evaluate, is_idle, next_state
from jetsql.jobs.alerts.alert_records import (
    QUIET,
    AlertChange,
    AlertMessage,
    AlertRecord,
    AlertState,
    DeliveryState,
    MessageKind,
    StoredAlerts,
)
from jetsql.jobs.alerts.delivery import AlertDelivery
from jetsql.jobs.alerts.message_sender import MessageSender
from jetsql.jobs.alerts.receivers import Attempt
from jetsql.jobs.audit.audit_log import AuditLog
from jetsql.jobs.lifecycle.events import Event as JobEvent
from jetsql.jobs.lifecycle.runtime import BatchCommitted, RowsChecked, RunIdle
from jetsql.jobs.manager.job_registry import JobView
from jetsql.jobs.model.job import Job, name_key
from jetsql.jobs.model.redaction import redact_folders
from jetsql.jobs.store.job_lag import lag_of_batch
from jetsql.jobs.store.metrics import BatchMetrics, Metrics
from jetsql.language.objects.alert_statement import AlertTrigger

if TYPE_CHECKING:  # the store brings SQLAlchemy, which is slow to import
    from jetsql.jobs.store.job_store import Store

PENDING_MOST: Final = 1000
"""The limit of messages of an alert that wait for their receiver. Further ones are only in the history."""


@dataclass(frozen=True)
class AlertStep:
    """The effect of an event of a job on the alerts, to be stored with the event."""

    facts: JobFacts | None = None  # None if the event is not about a live job
    changes: tuple[AlertChange, ...] = ()


NO_ALERTS: Final = AlertStep()


class AlertRegistry:
    """The alerts of one store. Statements can use `all`, `firing`, `save` and `remove` on any thread."""

    def __init__(
        self,
        store: Store,
        settings: AlertSettings,
        clock: Callable[[], float],
        submit: Callable[[Callable[[], None]], Future[None]],
        call_at: Callable[[float, Callable[[], None]], None],
        live: Callable[[], Sequence[JobView]],
        metrics: Metrics,
        access: Callable[[], AccessState],
        connections: Callable[[], StoredConnections],
        audit: AuditLog,
        retry_seconds: float,
    ) -> None:
        """Create it without alerts.

        submit, call_at: run an operation on the writer's thread, see `SerialExecutor`. live: returns the live jobs.
        access, connections: return what exists now. retry_seconds: until an operation of the store is repeated
        """
        self._store, self.settings, self._clock = store, settings, clock
        self._submit, self._call_at, self._live = submit, call_at, live
        self._metrics, self._access = metrics, access
        self._retry_seconds = retry_seconds
        self._alerts: tuple[AlertRecord, ...] = ()
        self._states: dict[tuple[str, str], AlertState] = {}  # by the alert's id and the key of the job's name
        self._facts: dict[str, JobFacts] = {}  # by the job's id
        self._waiting: Counter[str] = Counter()  # the number of messages in delivery, by the alert's id
        self._not_stored: dict[str, AlertMessage] = {}  # with results of attempts that the store has refused, by id
        self._timer_at: float | None = None
        self._stopping = Event()
        self._is_evaluating = False
        self.changing = Lock()
        """Held by a statement from its checks to its change."""
        self._sender = MessageSender(settings, clock, access, connections, audit)
        self._delivery = AlertDelivery(self._send, self._note_attempt, clock)

    # --- on any thread -----------------------------------------------------------------------------------------------

    @property
    def all(self) -> tuple[AlertRecord, ...]:
        """Return the alerts, by name."""
        return self._alerts

    def get(self, key: str) -> AlertRecord | None:
        """Return the alert with the key of a name, or None."""
        return next((each for each in self._alerts if each.key == key), None)

    def states(self, alert: AlertRecord) -> Mapping[str, AlertState]:
        """Return the states of an alert, by the keys of the names of jobs."""
        return {job: state for (alert_id, job), state in list(self._states.items()) if alert_id == alert.id}

    def save(self, alert: AlertRecord, *, keeps_states: bool) -> None:
        """Store a new or changed alert, and evaluate it. keeps_states: see `Store.save_alert`"""
        self._submit(lambda: self._save(alert, keeps_states)).result()

    def remove(self, alert: AlertRecord) -> None:
        """Delete an alert."""
        self._submit(lambda: self._remove(alert)).result()

    def close(self) -> None:
        """Send no further message; the next engine sends those that are pending."""
        self._stopping.set()
        self._delivery.close()

    # --- on the writer's thread --------------------------------------------------------------------------------------

    def load(self, stored: StoredAlerts) -> None:
        """Take over the alerts of the store, before the jobs start."""
        self._alerts, self._states = stored.alerts, dict(stored.states)
        self._deliver(stored.pending)

    def start(self) -> None:
        """Evaluate all alerts, after the jobs were continued."""
        self._is_evaluating = True
        self._learn_jobs()
        self._evaluate_all()

    def stop(self) -> None:
        """Evaluate no alert any more, because the engine stops its jobs, which is no event of theirs."""
        self._is_evaluating = False

    def evaluate(self, before: Job, after: Job, event: JobEvent) -> AlertStep:
        """Return the effect of an event, to be stored with it. `commit` completes it."""
        if not self._is_evaluating or not (before.is_live or after.is_live):
            return NO_ALERTS
        facts = self._next_facts(before, after, event)
        return AlertStep(facts, tuple(self._changes(facts)))

    def commit(self, step: AlertStep) -> None:
        """Take over an effect that was stored, and deliver its messages."""
        if step.facts is None:
            return
        if step.facts.job.is_live:
            self._facts[step.facts.job.id] = step.facts
        else:
            self._facts.pop(step.facts.job.id, None)
        self._take(step.changes)

    def _take(self, changes: Iterable[AlertChange]) -> None:
        messages = []
        for change in changes:
            key = (change.alert.id, change.job)
            if change.state == QUIET:
                self._states.pop(key, None)
            else:
                self._states[key] = change.state
            if change.message is not None and change.message.delivery is DeliveryState.PENDING:
                messages.append(change.message)
        self._deliver(messages)

    def _deliver(self, messages: Sequence[AlertMessage]) -> None:
        self._waiting.update(message.alert_id for message in messages)
        self._delivery.add(messages)

    def _save(self, alert: AlertRecord, keeps_states: bool) -> None:
        self._store.save_alert(alert, keeps_states=keeps_states)
        others = (each for each in self._alerts if each.key != alert.key)
        self._alerts = tuple(sorted((*others, alert), key=lambda each: each.key))
        if not keeps_states:
            self._forget_states(alert)
        self._delivery.retry(alert.id)
        self._evaluate_all()

    def _remove(self, alert: AlertRecord) -> None:
        self._store.remove_alert(alert)
        self._alerts = tuple(each for each in self._alerts if each.key != alert.key)
        self._forget_states(alert)
        self._delivery.forget(alert.id)
        self._waiting.pop(alert.id, None)

    def _forget_states(self, alert: AlertRecord) -> None:
        for key in [key for key in self._states if key[0] == alert.id]:
            del self._states[key]

    # --- facts -------------------------------------------------------------------------------------------------------

    def _next_facts(self, before: Job, after: Job, event: JobEvent) -> JobFacts:
        """Return the facts about a job after an event."""
        now = self._clock()
        facts = self._facts.get(after.id)
        if facts is None:
            facts = self._first_facts(after, after.submission_time)
        if is_idle(before) and not is_idle(after):
            facts = replace(facts, active_since=now)
        facts = replace(facts, job=after)
        match event:
            case BatchCommitted():
                measure = event.metrics
                facts = replace(facts, committed=now)
                if measure is not None:
                    facts = _with_lag(facts, measure, now)
            case RunIdle():
                facts = replace(facts, lag_rows=0, lag_seconds=0.0, measured=now)
            case RowsChecked():
                facts = replace(facts, counts=event.counts)
        return facts

    def _first_facts(self, job: Job, active_since: float) -> JobFacts:
        """Return what is known about a job before its first event in this engine."""
        measure = self._metrics.latest(job.id)
        if measure is not None:
            return JobFacts(job, active_since, measure.committed)
        return JobFacts(job, active_since, None if job.batch is None else self._clock())  # its metrics are not kept

    def _learn_jobs(self) -> None:
        """Read what is known about the live jobs."""
        resumed = self._store.resumed_times()
        for job in (view.job for view in self._live()):
            self._facts[job.id] = self._first_facts(job, max(job.submission_time, resumed.get(job.id, 0.0)))

    # --- conditions --------------------------------------------------------------------------------------------------

    def _evaluate_all(self) -> None:
        """Evaluate all alerts for all live jobs, store what has changed, and set the timer."""
        if not self._is_evaluating or not self._alerts:
            return
        changes = [change for facts in self._facts.values() for change in self._changes(facts)]
        if not changes:
            return
        try:
            self._store.save_alert_changes(changes)
        except EngineError:  # the same changes follow from the next evaluation
            self._evaluate_at(self._clock() + self._retry_seconds)
        else:
            self._take(changes)

    def _changes(self, facts: JobFacts) -> Iterator[AlertChange]:
        """Yield the changes of alerts by the facts about a job."""
        now = self._clock()
        for alert in self._alerts:
            if alert.covers(facts.job.name) and (change := self._change(alert, facts, now)) is not None:
                yield change

    def _change(self, alert: AlertRecord, facts: JobFacts, now: float) -> AlertChange | None:
        finding = evaluate(alert.condition, facts, now)
        key = name_key(facts.job.name)
        state = self._states.get((alert.id, key), QUIET)
        is_met = state.firing if finding.is_met is None else finding.is_met
        following = next_state(state, is_met, alert.every, now)
        for due in (finding.due, following.due):
            if due is not None and due > now:
                self._evaluate_at(due)
        after = following.state
        if facts.job.status.is_final and not after.firing:
            after = QUIET  # names of jobs are not kept for ever
        if after == state:
            return None
        is_visible = self._owner_sees(alert, facts.job)
        if after.firing and not is_visible:
            return None
        message = None
        if following.message is not None and is_visible:
            message = self._message(alert, facts, finding, following.message, following.suppressed, now)
        return AlertChange(alert, key, after, message)

    def _owner_sees(self, alert: AlertRecord, job: Job) -> bool:
        """Return whether the owner of an alert may know about a job, and for an alert of all jobs, about all."""
        access = self._access()
        owner = access.owner_of(alert_object(alert.name))
        return access.is_admin(owner) if alert.job is None else access.sees_job(owner, job)

    def _message(
        self, alert: AlertRecord, facts: JobFacts, finding: Evaluation, kind: MessageKind, suppressed: int, now: float
    ) -> AlertMessage:
        job = facts.job
        text = finding.text if kind is MessageKind.FIRING else f"Job {job.name} has the status {job.shown_status}."
        if kind is MessageKind.FIRING and alert.condition.trigger is AlertTrigger.STATUS:
            text = " ".join((text, *self._error_of(alert, job)))
        message = AlertMessage(
            uuid.uuid4().hex,
            alert.id,
            alert.name,
            job.name,
            job.id,
            kind,
            now,
            job.shown_status,
            condition_text(alert.condition),
            text,
            suppressed,
        )
        if self._waiting[alert.id] < PENDING_MOST:
            return message
        error = f"It was not sent, because {PENDING_MOST} messages of the alert wait."
        return replace(message, delivery=DeliveryState.FAILED, error=error)

    def _error_of(self, alert: AlertRecord, job: Job) -> Iterator[str]:
        """Yield the last error of a job, as the owner of the alert may see it."""
        access = self._access()
        owner = access.owner_of(alert_object(alert.name))
        if job.cause is None:
            return
        if not access.allowed_on_job(owner, Right.OPERATE, job):
            yield f"The condition of its error is {job.cause.condition or 'unknown'}."
        else:
            yield job.cause.message if access.is_admin(owner) else redact_folders(job.cause.message)

    # --- the timer ---------------------------------------------------------------------------------------------------

    def _evaluate_at(self, due: float) -> None:
        """Evaluate all alerts at a time. A timer that is not needed any more evaluates them without an effect."""
        if self._timer_at is None or due < self._timer_at:
            self._timer_at = due
            self._call_at(due, lambda: self._on_timer(due))

    def _on_timer(self, due: float) -> None:
        if self._timer_at == due:
            self._timer_at = None
        self._evaluate_all()

    # --- delivery ----------------------------------------------------------------------------------------------------

    def _send(self, message: AlertMessage) -> Attempt:
        """Send a message. Raises StatementError JOB_IN_USE when another engine leads."""
        self._store.database.leadership.check(self._stopping)
        alert = next((each for each in self._alerts if each.id == message.alert_id), None)
        return self._sender.send(message, alert)

    def _note_attempt(self, message: AlertMessage) -> None:
        """Store the result of an attempt. The delivery's threads call it."""
        self._submit(lambda: self._store_attempt(message))

    def _store_attempt(self, message: AlertMessage) -> None:
        self._not_stored.pop(message.id, None)  # an earlier attempt must not overwrite this one
        try:
            self._store.save_alert_message(message)
        except EngineError:
            self._not_stored[message.id] = message
            self._call_at(self._clock() + self._retry_seconds, lambda: self._store_again(message))
            return
        if message.delivery is not DeliveryState.PENDING and message.alert_id in self._waiting:
            self._waiting[message.alert_id] -= 1

    def _store_again(self, message: AlertMessage) -> None:
        if self._not_stored.get(message.id) is message:
            self._store_attempt(message)


def _with_lag(facts: JobFacts, measure: BatchMetrics, now: float) -> JobFacts:
    lag = lag_of_batch(measure)
    rows, seconds = (None, None) if lag is None else (lag.rows, lag.seconds)
    return replace(facts, lag_rows=rows, lag_seconds=seconds, measured=now)
