"""Complete the names and values in JetSQL statements: jobs that fit the verb, options, snapshots, alerts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

from jetsql.completion.candidates import CandidateCollector, CandidateKind
from jetsql.completion.known_names import JobName, Names
from jetsql.jobs.model.job import Status
from jetsql.jobs.model.job_settings import LIMIT_NAMES
from jetsql.jobs.planning.options import OPTIONS, OptionSpec, folded, spec_of
from jetsql.language import Slot
from jetsql.language.objects.alert_statement import ALERT_OPTIONS, FORMAT
from jetsql.language.tokens import Kind, Token, unquote

_SUSPENDED: Final = frozenset({Status.SUSPENDED})
_ACTIVE: Final = frozenset({Status.RUNNING, Status.STARTING, Status.NOT_RUNNING})
_LIVE: Final = frozenset(status for status in Status if not status.is_final)
_ALL: Final = frozenset(Status)
_STATUSES: Final = {
    "SUSPEND": _ACTIVE,
    "RESUME": _SUSPENDED,
    "RESTART": _ACTIVE,
    "ALTER": _LIVE,
    "DROP": _LIVE,
    "WAIT": _LIVE,
    "CREATE": _LIVE,  # CREATE SNAPSHOT ... FOR JOB
    "EXPLAIN": _LIVE,
}
CONNECTION_OPTIONS: Final = {
    "JDBC": ("url", "user", "password", "driver"),
    "KAFKA": (
        *("kafka.bootstrap.servers", "kafka.security.protocol"),
        *("kafka.sasl.mechanism", "kafka.sasl.jaas.config"),
    ),
    "REGISTRY": ("url", "basic.auth.user.info", "bearer.auth.token"),
}
"""The usual options of connections, by the words after TYPE."""
_CONF_PREFIX: Final = "spark."
_IN_A_FILE: Final = "in a file"


def statuses_for(before: Sequence[Token]) -> frozenset[Status]:
    """Return the statuses of jobs to which a statement with this beginning applies."""
    if _is_of_alert(before):
        return _ALL  # an alert is about all jobs with a name, also about ended ones
    return _STATUSES.get(before[0].word if before else "", _ALL)


def applicable_keywords(words: Iterable[str], before: Sequence[Token], names: Names) -> tuple[str, ...]:
    """Return the keywords of ALTER JOB that fit the job's status; all keywords for other statements."""
    words = tuple(words)
    if [token.word for token in before[:2]] != ["ALTER", "JOB"] or len(before) != 3:
        return words
    job = _find_job(before[2], names)
    if job is None or job.status is None:
        return words
    refused = {"OPTIONS"} if job.status is not Status.SUSPENDED else set()
    refused |= {word for word in ("SUSPEND", "RESUME", "RESTART") if job.status not in _STATUSES[word]}
    return tuple(word for word in words if word not in refused)


def _find_job(token: Token, names: Names) -> JobName | None:
    if token.kind is Kind.STRING:
        return next((job for job in names.jobs if job.id == unquote(token.text)), None)
    name = (unquote(token.text) if token.kind is Kind.QUOTED else token.text).casefold()
    return next((job for job in _jobs_by_name(names.jobs) if job.name.casefold() == name), None)


def _jobs_by_name(jobs: Iterable[JobName]) -> tuple[JobName, ...]:
    """Return the job that each name refers to: the live one, otherwise the newest."""
    result: dict[str, JobName] = {}
    for job in jobs:
        key = job.name.casefold()
        if key not in result or (job.is_live and not result[key].is_live):
            result[key] = job
    return tuple(result.values())


def add_slots(
    slots: Iterable[Slot], before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    """Add the candidates for the slots that the grammar allows next."""
    for slot in slots:
        add = _SLOT_ACTIONS.get(slot)
        if add is not None:
            add(before, after, names, collector)


def _add_job_names(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    statuses = statuses_for(before)
    for job in _jobs_by_name(names.jobs):
        if job.fits(statuses):
            collector.add_name(job.name, CandidateKind.JOB, job.status.value if job.status else _IN_A_FILE)


def _add_job_ids(before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector) -> None:
    if collector.quote:
        for job in names.jobs:
            if job.status is not None and job.status in statuses_for(before):
                collector.add_string(job.id, CandidateKind.JOB, f"{job.name}, {job.status.value}")


def _add_replaced_jobs(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    if any(token.word == "REPLACE" for token in before):
        for job in _jobs_by_name(names.jobs):
            if job.fits(_LIVE):
                state = job.status.value if job.status else _IN_A_FILE
                collector.add_name(job.name, CandidateKind.JOB, f"{state}; would be replaced")


def _add_snapshots(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    words = [token.word for token in before]
    if words[:2] == ["DROP", "JOB"]:
        return  # DROP JOB names a new snapshot
    for snapshot in names.snapshots:
        collector.add_name(snapshot.name, CandidateKind.SNAPSHOT, f"of job {snapshot.job}" if snapshot.job else "")


def _add_alerts(before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector) -> None:
    for alert in names.alerts:
        collector.add_name(alert.name, CandidateKind.ALERT, alert.description)


def _add_replaced_alerts(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    if any(token.word == "REPLACE" for token in before):
        _add_alerts(before, after, names, collector)


def _add_limits(before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector) -> None:
    written = {token.text.lower() for token in before}
    for name, explanation in LIMIT_NAMES.items():
        if name not in written:
            collector.add_name(name, CandidateKind.OPTION, explanation)


def _add_statuses(before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector) -> None:
    for status in Status:
        collector.add_name(status.value, CandidateKind.VALUE, "")


def _add_replaced_snapshots(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    if any(token.word == "REPLACE" for token in before):
        _add_snapshots(before, after, names, collector)


def _add_option_keys(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    existing = {folded(unquote(token.text)) for token, sign in pairwise([*before, *after]) if _is_key(token, sign)}
    changing = before[0].word == "ALTER"
    suffix = "" if after and after[0].text in ("=", "==") else " = "
    if _is_of_alert(before):
        for name, explanation in ALERT_OPTIONS.items():
            if folded(name) not in existing:
                collector.add_string(name, CandidateKind.OPTION, explanation, suffix)
        return
    if _is_of_connection(before):
        types = {token.word for token in before} & CONNECTION_OPTIONS.keys()
        for name in dict.fromkeys(
            name for kind in sorted(types or CONNECTION_OPTIONS) for name in CONNECTION_OPTIONS[kind]
        ):
            if folded(name) not in existing:
                collector.add_string(name, CandidateKind.OPTION, "", suffix)
        return
    for spec in OPTIONS:
        if folded(spec.name) not in existing and (spec.changeable or not changing):
            collector.add_string(spec.name, CandidateKind.OPTION, spec.explanation, suffix)
    if collector.quote and collector.prefix.lower().startswith(_CONF_PREFIX[:3]):
        for conf in names.confs:
            if conf.name.startswith(_CONF_PREFIX) and folded(conf.name) not in existing:
                collector.add_string(conf.name, CandidateKind.CONF, conf.description, suffix)


def _is_of_connection(before: Sequence[Token]) -> bool:
    """Return whether options are those of a connection, and not those of a job."""
    return any(token.word == "CONNECTION" for token in before[:4])


def _is_of_alert(before: Sequence[Token]) -> bool:
    return any(token.word == "ALERT" for token in before[:4])


def _is_key(token: Token, sign: Token) -> bool:
    return token.kind is Kind.STRING and sign.text in ("=", "==")


def _add_option_values(
    before: Sequence[Token], after: Sequence[Token], names: Names, collector: CandidateCollector
) -> None:
    key = before[-2] if len(before) > 1 and before[-2].kind is Kind.STRING else None
    if _is_of_alert(before):
        for word in ("webhook", "slack") if key and unquote(key.text).lower() == FORMAT else ():
            collector.add_string(word, CandidateKind.VALUE, "")
        return
    spec = spec_of(unquote(key.text)) if key else None
    if spec is None or _is_of_connection(before):
        return
    for value in spec.fixed:
        collector.add_string(value.word, CandidateKind.VALUE, _with_default(value.explanation, value.word, spec))
    if spec.name == "initialSnapshotName":
        for snapshot in names.snapshots:
            collector.add_string(snapshot.name, CandidateKind.SNAPSHOT, f"of job {snapshot.job}")


def _with_default(explanation: str, word: str, spec: OptionSpec) -> str:
    return f"{explanation} The default." if spec.default == word else explanation


_SlotAction = Callable[[Sequence[Token], Sequence[Token], Names, CandidateCollector], None]
_SLOT_ACTIONS: Final[dict[Slot, _SlotAction]] = {
    Slot.JOB_NAME: _add_job_names,
    Slot.JOB_ID: _add_job_ids,
    Slot.NEW_JOB: _add_replaced_jobs,
    Slot.SNAPSHOT_NAME: _add_snapshots,
    Slot.NEW_SNAPSHOT: _add_replaced_snapshots,
    Slot.ALERT_NAME: _add_alerts,
    Slot.NEW_ALERT: _add_replaced_alerts,
    Slot.OPTION_KEY: _add_option_keys,
    Slot.OPTION_VALUE: _add_option_values,
    Slot.LIMIT_NAME: _add_limits,
    Slot.STATUS_NAME: _add_statuses,
}
