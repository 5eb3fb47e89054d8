"""The controller of the resources: it watches them, and runs the statements that they need.

Two workers take resources from a queue, each resource at one worker at a time. A watch for each kind puts changed
resources into it, and a comparison of the jobs in memory those whose job has changed. While the API server is out of
reach, jobs continue; when it answers again, the watch resumes where it was, or lists all resources again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Final

from jetsql.errors import EngineError
from jetsql.job_resources.api_server import ApiFailure, ApiServer
from jetsql.job_resources.engine_statements import EngineStatements, JobEngine
from jetsql.job_resources.reconcile_job import JobReconciler, Reconciliation
from jetsql.job_resources.reconcile_snapshot import SnapshotReconciler
from jetsql.job_resources.resource import FINALIZER, CustomResource, ResourceKey, ResourceKind, resource_of_group
from jetsql.job_resources.resource_status import MEASURES, changed_fields, job_status
from jetsql.job_resources.work_queue import WorkQueue
from jetsql.jobs.model.job import Job, Status, name_key

_LOG: Final = logging.getLogger(__name__)
_WORKERS: Final = 2
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_COMPARE_SECONDS: Final = 1.0
_STATUS_SECONDS: Final = 2.0
"""The shortest time between two changes of a status."""
_MEASURE_SECONDS: Final = 30.0
"""The shortest time between two changes of a status in which only the measures differ."""
_STOP_SECONDS: Final = 10.0
_STATUS: Final = "status"
_UNKNOWN: Final = object()
_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "Install the definitions of the resources: kubectl apply -f deploy/chart/crds.",
    HTTPStatus.FORBIDDEN: "Allow the service account of the pod to get, list, watch and patch jetsqljobs,"
    " jetsqlsnapshots and their status in the namespace.",
}


class ResourceController:
    """The controller of the resources of one namespace."""

    def __init__(self, engine: JobEngine, user: str, api: ApiServer) -> None:
        """Create it; `start` starts it. user: with whose rights the statements run."""
        self._engine = engine
        self._api = api
        self._statements = EngineStatements(engine, user)
        self._jobs = JobReconciler(self._statements, self._find_rival)
        self._snapshots = SnapshotReconciler(self._statements)
        self._queue = WorkQueue()
        self._resources: dict[ResourceKey, CustomResource] = {}
        self._declared: dict[str, ResourceKey] = {}  # the resource that was first to declare a job, by its name
        self._written: dict[ResourceKey, float] = {}  # when the status was written last, by the monotonic clock
        self._shown: dict[ResourceKey, object] = {}  # the live jobs of resources, as their status shows them
        self._noticed: dict[ResourceKey, object] = {}  # the same, as the comparison has found them last
        self._lock = Lock()
        self._ended = Event()
        self._threads: list[Thread] = []

    def start(self) -> None:
        """Begin to watch."""
        tasks: dict[str, Callable[[], None]] = {
            f"watch-{kind.value}": partial(self._watch, kind) for kind in ResourceKind
        }
        tasks |= {f"resources-{number}": self._work for number in range(_WORKERS)}
        tasks |= {"resource-jobs": self._compare_jobs}
        for name, task in tasks.items():
            thread = Thread(target=task, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)
        _LOG.info("Resources of the namespace %s declare jobs", self._api.namespace)

    def stop(self) -> None:
        """End the work. A statement that runs is cancelled; what it has begun continues."""
        self._ended.set()
        self._queue.close()
        self._statements.cancel()
        self._api.end_watches()
        until = monotonic() + _STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))
        self._api.close()

    # --- the watches -------------------------------------------------------------------------------------------------

    def _watch(self, kind: ResourceKind) -> None:
        version: str | None = None
        pause = _FIRST_PAUSE
        is_out = False
        while not self._ended.is_set():
            try:
                if version is None:
                    version = self._list(kind)
                begun, events = monotonic(), self._api.watch(kind, version)
                if is_out:
                    _LOG.info("The resources %s are watched again", kind.value)
                is_out, pause = False, _FIRST_PAUSE
                for event in events:
                    version = event.resource.version
                    self._take(event.type, event.resource)
                if monotonic() - begun > _FIRST_PAUSE:
                    continue  # the server ends each watch after some minutes
            except ApiFailure as error:
                if error.status == HTTPStatus.GONE:
                    version = None
                else:
                    is_out = self._note_outage(kind, error, _HINTS.get(error.status, ""), is_out)
            except (OSError, ValueError, KeyError) as error:
                is_out = self._note_outage(kind, error, "", is_out)
            self._ended.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _note_outage(self, kind: ResourceKind, error: Exception, hint: str, is_out: bool) -> bool:
        if not is_out and not self._ended.is_set():
            _LOG.warning("The resources %s cannot be watched, trying again: %s. %s", kind.value, error, hint)
        return True

    def _list(self, kind: ResourceKind) -> str:
        found = self._api.list(kind)
        keys = {resource.key for resource in found.items}
        with self._lock:
            gone = [key for key in self._resources if key.kind is kind and key not in keys]
        for key in gone:
            self._remove(key)
        for resource in found.items:
            self._take("MODIFIED", resource)
        return found.version

    def _take(self, event: str, resource: CustomResource) -> None:
        if event == "BOOKMARK":
            return
        if event == "DELETED":
            self._remove(resource.key)
            return
        with self._lock:
            before = self._resources.get(resource.key)
            if before is not None and resource.is_older_than(before):
                return
            self._resources[resource.key] = resource
        if before is None or not resource.has_same_declaration(before):
            self._queue.forget_failures(resource.key)
            self._queue.add(resource.key)

    def _remove(self, key: ResourceKey) -> None:
        with self._lock:
            self._resources.pop(key, None)
            self._written.pop(key, None)
            self._shown.pop(key, None)
            self._noticed.pop(key, None)
            self._declared = {name: owner for name, owner in self._declared.items() if owner != key}
        self._jobs.forget(key)
        self._queue.forget_failures(key)

    def _find_rival(self, resource: CustomResource, name: str) -> ResourceKey | None:
        with self._lock:
            mine = [each for each, owner in self._declared.items() if owner == resource.key and each != name_key(name)]
            for each in mine:
                del self._declared[each]
            owner = self._declared.setdefault(name_key(name), resource.key)
        return None if owner == resource.key else owner

    # --- the jobs ----------------------------------------------------------------------------------------------------

    def _compare_jobs(self) -> None:
        """Let the workers take the resources whose jobs have changed."""
        while not self._ended.wait(_COMPARE_SECONDS):
            jobs = self._live_jobs()
            now = monotonic()
            with self._lock:
                known = [key for key in self._shown if key in self._resources]
                due = [key for key in jobs if now - self._written.get(key, now) >= _MEASURE_SECONDS]
            for key in known:
                # A job that is never shown, because its user does not see it, must not cause work each time.
                if jobs.get(key) not in (self._shown.get(key), self._noticed.get(key, _UNKNOWN)):
                    self._queue.add(key)
                self._noticed[key] = jobs.get(key)
            for key in due:
                self._queue.add(key)

    def _live_jobs(self) -> dict[ResourceKey, object]:
        namespace = self._api.namespace
        found: dict[ResourceKey, object] = {}
        with self._statements.for_engine():
            for view in self._engine.queries.live():
                name = resource_of_group(view.job.plan.options.apply_group, namespace)
                if name is not None:
                    found[ResourceKey(ResourceKind.JOB, namespace, name)] = _facts(view.job)
        return found

    # --- the workers -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while (key := self._queue.take()) is not None:
            try:
                self._reconcile(key)
            except ApiFailure as error:
                if error.status not in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
                    _LOG.warning("The resource %s cannot be changed: %s", key, error)
                self._queue.retry(key)
            except (OSError, EngineError) as error:
                _LOG.info("The resource %s is tried again: %s", key, error)
                self._queue.retry(key)
            except Exception:  # a bug in the work on one resource must not end that on the others
                _LOG.exception("The work on the resource %s has failed", key)
                self._queue.retry(key)
            finally:
                self._queue.done(key)

    def _reconcile(self, key: ResourceKey) -> None:
        with self._lock:
            resource = self._resources.get(key)
        if resource is None:
            return
        if not self._engine.leads:  # another engine may lead, or this one leads again soon
            self._queue.add(key, _LONGEST_PAUSE)
            return
        if resource.is_deleted:
            self._finish(resource)
            return
        if FINALIZER not in resource.finalizers:
            resource = self._change_finalizers(resource, (*resource.finalizers, FINALIZER))
        if key.kind is ResourceKind.JOB:
            outcome = self._jobs.reconcile(resource)
            status = self._job_status(resource, outcome)
        else:
            outcome, status = self._snapshots.reconcile(resource)
        self._note(resource, outcome, status)

    def _finish(self, resource: CustomResource) -> None:
        """Drop what a deleted resource has declared, then let Kubernetes remove the resource."""
        if FINALIZER not in resource.finalizers:
            return
        is_job = resource.kind is ResourceKind.JOB
        outcome = self._jobs.drop(resource) if is_job else self._snapshots.drop(resource)
        if outcome is None:
            self._change_finalizers(resource, tuple(each for each in resource.finalizers if each != FINALIZER))
            return
        status = self._job_status(resource, outcome) if is_job else self._snapshots.status_of(resource, outcome)
        self._note(resource, outcome, status)

    def _change_finalizers(self, resource: CustomResource, finalizers: tuple[str, ...]) -> CustomResource:
        """Set the finalizers, unless another client has changed the resource meanwhile."""
        metadata = {"finalizers": list(finalizers), "resourceVersion": resource.version}
        return self._keep(self._api.patch(resource, {"metadata": metadata}))

    def _job_status(self, resource: CustomResource, outcome: Reconciliation) -> dict[str, Any]:
        rate = latest = None
        if outcome.job is not None and outcome.job.status is Status.RUNNING:
            with self._statements.for_user():
                view = self._engine.queries.view(outcome.job.id)
                latest = self._engine.queries.latest_batch(outcome.job.id)
            rate = None if view is None else view.stats.rows_per_second
        return job_status(resource, outcome, rate, latest)

    def _note(self, resource: CustomResource, outcome: Reconciliation, status: Mapping[str, Any]) -> None:
        """Write the status if it has changed and enough time has passed, and try again what has failed."""
        if resource.kind is ResourceKind.JOB:
            job = outcome.job
            self._shown[resource.key] = _facts(job) if job is not None and job.is_live else None
        changed = changed_fields(resource.status, status)
        now = monotonic()
        since = now - self._written.get(resource.key, float("-inf"))
        pause = (_MEASURE_SECONDS if changed <= set(MEASURES) else _STATUS_SECONDS) - since
        if changed and pause > 0 and not resource.has_new_spec:
            self._queue.add(resource.key, pause)
        elif changed:
            # The next leader may have written it, and a leader that was paused must not change it back.
            version = {"resourceVersion": resource.version}
            self._keep(self._api.patch(resource, {_STATUS: dict(status), "metadata": version}, _STATUS))
            self._written[resource.key] = now
        if outcome.has_failed:
            self._queue.retry(resource.key)
        else:
            self._queue.forget_failures(resource.key)

    def _keep(self, resource: CustomResource) -> CustomResource:
        """Keep a resource as a change has returned it, unless it was removed meanwhile."""
        with self._lock:
            known = self._resources.get(resource.key)
            if known is not None and not resource.is_older_than(known):
                self._resources[resource.key] = resource
        return resource


def _facts(job: Job) -> object:
    """Return what the status of a resource depends on, except for the measures."""
    return (job.id, job.status, job.cause, job.version.statement)
