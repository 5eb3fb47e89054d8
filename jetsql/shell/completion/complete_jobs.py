"""What fits where JetSQL's grammar wants something of the user's: jobs that suit the verb, options, snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

from jetsql.jobs.model.job import Status
from jetsql.jobs.planning.options import OPTIONS, OptionSpec, folded, spec_of
from jetsql.language import Slot
from jetsql.language.tokens import Kind, Token, unquote
from jetsql.shell.completion.candidates import Offers, Sort
from jetsql.shell.completion.known_names import JobName, Names

_SUSPENDED: Final = frozenset({Status.SUSPENDED})
_GOING: Final = frozenset({Status.RUNNING, Status.STARTING, Status.NOT_RUNNING})
_LIVE: Final = frozenset(status for status in Status if not status.is_final)
_ALL: Final = frozenset(Status)
_STATUSES: Final = {
    "SUSPEND": _GOING,
    "RESUME": _SUSPENDED,
    "RESTART": _GOING,
    "ALTER": _LIVE,
    "DROP": _LIVE,
    "WAIT": _LIVE,
    "CREATE": _LIVE,  # CREATE SNAPSHOT ... FOR JOB
    "EXPLAIN": _LIVE,
}
_CONFS: Final = "spark."


def statuses_for(before: Sequence[Token]) -> frozenset[Status]:
    """The statuses of the jobs that a statement which begins so can be about."""
    return _STATUSES.get(before[0].word if before else "", _ALL)


def words_for(words: Iterable[str], before: Sequence[Token], names: Names) -> tuple[str, ...]:
    """The words of ALTER JOB that fit the job's status; all of any other statement."""
    words = tuple(words)
    if [token.word for token in before[:2]] != ["ALTER", "JOB"] or len(before) != 3:
        return words
    job = _job(before[2], names)
    if job is None:
        return words
    refused = {"OPTIONS"} if job.status is not Status.SUSPENDED else set()
    refused |= {word for word in ("SUSPEND", "RESUME", "RESTART") if job.status not in _STATUSES[word]}
    return tuple(word for word in words if word not in refused)


def _job(token: Token, names: Names) -> JobName | None:
    if token.kind is Kind.STRING:
        return next((job for job in names.jobs if job.id == unquote(token.text)), None)
    wanted = (unquote(token.text) if token.kind is Kind.QUOTED else token.text).casefold()
    return next((job for job in _by_name(names.jobs) if job.name.casefold() == wanted), None)


def _by_name(jobs: Iterable[JobName]) -> tuple[JobName, ...]:
    """The job that each name means: the live one, else the newest."""
    found: dict[str, JobName] = {}
    for job in jobs:
        key = job.name.casefold()
        if key not in found or (found[key].status.is_final and not job.status.is_final):
            found[key] = job
    return tuple(found.values())


def offer_slots(
    slots: Iterable[Slot], before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers
) -> None:
    """Candidates for what the grammar wants next."""
    for slot in slots:
        offer = _OFFERS.get(slot)
        if offer is not None:
            offer(before, behind, names, offers)


def _job_names(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    statuses = statuses_for(before)
    for job in _by_name(names.jobs):
        if job.status in statuses:
            offers.name(job.name, Sort.JOB, job.status.value)


def _job_ids(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    if offers.quote:
        for job in names.jobs:
            if job.status in statuses_for(before):
                offers.text(job.id, Sort.JOB, f"{job.name}, {job.status.value}")


def _replaced_jobs(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    if any(token.word == "REPLACE" for token in before):
        for job in _by_name(names.jobs):
            if job.status in _LIVE:
                offers.name(job.name, Sort.JOB, f"{job.status.value}; would be replaced")


def _snapshots(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    words = [token.word for token in before]
    if words[:2] == ["DROP", "JOB"]:
        return  # a new one
    for snapshot in names.snapshots:
        offers.name(snapshot.name, Sort.SNAPSHOT, f"of job {snapshot.job}")


def _replaced_snapshots(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    if any(token.word == "REPLACE" for token in before):
        _snapshots(before, behind, names, offers)


def _option_keys(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    given = {folded(unquote(token.text)) for token, sign in pairwise([*before, *behind]) if _is_key(token, sign)}
    changing = before[0].word == "ALTER"
    follows = "" if behind and behind[0].text in ("=", "==") else " = "
    for spec in OPTIONS:
        if folded(spec.name) not in given and (spec.changeable or not changing):
            offers.text(spec.name, Sort.OPTION, spec.explanation, follows)
    if offers.quote and offers.prefix.lower().startswith(_CONFS[:3]):
        for conf in names.confs:
            if conf.name.startswith(_CONFS) and folded(conf.name) not in given:
                offers.text(conf.name, Sort.CONF, conf.about, follows)


def _is_key(token: Token, sign: Token) -> bool:
    return token.kind is Kind.STRING and sign.text in ("=", "==")


def _option_values(before: Sequence[Token], behind: Sequence[Token], names: Names, offers: Offers) -> None:
    key = before[-2] if len(before) > 1 and before[-2].kind is Kind.STRING else None
    spec = spec_of(unquote(key.text)) if key else None
    if spec is None:
        return
    for value in spec.fixed:
        offers.text(value.word, Sort.VALUE, _with_default(value.explanation, value.word, spec))
    if spec.name == "initialSnapshotName":
        for snapshot in names.snapshots:
            offers.text(snapshot.name, Sort.SNAPSHOT, f"of job {snapshot.job}")


def _with_default(explanation: str, word: str, spec: OptionSpec) -> str:
    return f"{explanation} The default." if spec.default == word else explanation


_Offer = Callable[[Sequence[Token], Sequence[Token], Names, Offers], None]
_OFFERS: Final[dict[Slot, _Offer]] = {
    Slot.JOB_NAME: _job_names,
    Slot.JOB_ID: _job_ids,
    Slot.NEW_JOB: _replaced_jobs,
    Slot.SNAPSHOT_NAME: _snapshots,
    Slot.NEW_SNAPSHOT: _replaced_snapshots,
    Slot.OPTION_KEY: _option_keys,
    Slot.OPTION_VALUE: _option_values,
}
