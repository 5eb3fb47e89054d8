"""Find the damage in a Spark checkpoint that keeps a job from its next start, or would cost it rows.

Spark needs `offsets` (the offsets of each batch), `commits` (the committed batches), `sources` (the files that were
read) and `state`, and the engine the ids of Kafka's topics. Spark itself checks little of that: it treats an empty
folder as a new query, and its errors for truncated files seldom name them. So the engine reads here what a start reads
first, before each start; the rest when a run has failed over its checkpoint. `jetsql check` reads all of it.

A start reads few files: the newest planned batch, the one before it, and the newest committed batch. Older files are
leftovers until Spark deletes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from jetsql.jobs.checkpoint_files.log_entries import Log, json_lines, json_object, missing, read_log
from jetsql.jobs.checkpoint_files.state_damages import find_state_damages, state_ids
from jetsql.jobs.checkpoint_files.stored_files import StoredFiles
from jetsql.jobs.checkpoint_files.topic_ids import TOPICS_FILE, load_topic_ids
from jetsql.jobs.model.job import Job, Snapshot
from jetsql.jobs.model.job_options import Guarantee
from jetsql.jobs.planning.progress_tracking import can_have_offset_gaps, is_topic_to_topic

_WATERMARK = "EventTimeWatermark"  # Spark lists it among the operators with state, but it keeps none


@dataclass(frozen=True)
class Damage:
    """A damaged file or folder of a checkpoint."""

    path: str
    problem: str  # a phrase, the predicate to the path: `is missing`


@dataclass(frozen=True)
class ExpectedCheckpoint:
    """The contents that a checkpoint must have."""

    committed: int | None  # a batch that its job has committed; None for none
    has_commit: bool = False  # that batch is in the log of commits: the checkpoint is a copy of it
    has_gaps: bool = False  # the log has an entry for some of the batches only
    fills_gaps: bool = False  # the engine adds the entry before the newest one before it starts
    keeps_state: bool = False  # the query keeps state; used for a commit that does not name its state


def expected_of(job: Job) -> ExpectedCheckpoint:
    """Return what the checkpoint of a job must contain before its next run."""
    plan = job.plan
    return ExpectedCheckpoint(
        job.batch,
        has_gaps=can_have_offset_gaps(plan),
        fills_gaps=is_topic_to_topic(plan.analysis),
        keeps_state=_keeps_state(job),
    )


def expected_of_snapshot(snapshot: Snapshot) -> ExpectedCheckpoint:
    """Return what a snapshot must contain."""
    return ExpectedCheckpoint(snapshot.batch, has_commit=True, keeps_state=_keeps_state(snapshot))


def _keeps_state(owner: Job | Snapshot) -> bool:
    return any(operator.kind != _WATERMARK for operator in owner.plan.analysis.operators)


def continues_checkpoint(job: Job) -> bool:
    """Return whether the job's next run continues from its checkpoint. A version on trial may begin without one."""
    has_run = job.version.first_trigger_done and job.rollback_version is None
    return has_run and job.plan.analysis.streaming and job.plan.guarantee is not Guarantee.NONE


def find_damages(files: StoredFiles, folder: str, expected: ExpectedCheckpoint) -> Iterator[Damage]:
    """Return the damage in the files that are read first. folder: that of the checkpoint."""
    # `commits` is read first, so that a batch that is committed meanwhile is also in `offsets`.
    commits, offsets = (read_log(files, f"{folder}/{name}") for name in ("commits", "offsets"))
    names = files.list_names(folder)
    if not names:
        yield Damage(folder, "is empty or missing")
        return
    yield from _unreadable(f"{folder}/metadata", partial(_check_identity, files))
    yield from _progress_damages(offsets, commits, expected)
    for path, check in _first_entries(offsets, commits, expected):
        yield from _unreadable(path, partial(_check_entry, files, check))
    for log, reached in _source_logs(files, folder, offsets):
        yield from _source_gaps(log, reached)
    if TOPICS_FILE in names:
        yield from _unreadable(f"{folder}/{TOPICS_FILE}", partial(load_topic_ids, files))


def find_deep_damages(files: StoredFiles, folder: str, expected: ExpectedCheckpoint) -> Iterator[Damage]:
    """Return the damage in the files that Spark reads in the first batch: lists of files, and state."""
    commits, offsets = (read_log(files, f"{folder}/{name}") for name in ("commits", "offsets"))
    for log, reached in _source_logs(files, folder, offsets):
        for number in sorted(number for number in log.numbers if number >= _first_needed(log, reached)):
            yield from _unreadable(log.path(number), partial(json_lines, files))
    for path, problem in find_state_damages(files, folder, commits, expected.keeps_state):
        yield Damage(path, problem)


def find_leftover_damages(files: StoredFiles, folder: str, expected: ExpectedCheckpoint) -> Iterator[Damage]:
    """Return the damage in the logs of batches that no start needs any more."""
    commits, offsets = (read_log(files, f"{folder}/{name}") for name in ("commits", "offsets"))
    needed = {path for path, _ in _first_entries(offsets, commits, expected)}
    for log in (offsets, commits):
        for gap in [] if expected.has_gaps else log.gaps():
            last = gap[-1] - (log.path(gap[-1]) in needed)  # the entry before the newest one
            if last >= gap.start:
                yield Damage(log.path(gap.start), "is missing" if last == gap.start else _and_the_next(log, last))
        for number in sorted(log.numbers):
            if log.path(number) not in needed:
                yield from _unreadable(log.path(number), partial(json_lines, files), can_vanish=True)


def _and_the_next(log: Log, last: int) -> str:
    return f"and the next are missing, up to {log.folder.rpartition('/')[2]}/{last}"


def _check_identity(files: StoredFiles, path: str) -> None:
    """Raise ValueError for a file without the id of the query."""
    given = json_object(files, path).get("id")
    try:
        UUID(str(given))
    except ValueError:
        raise ValueError("its id is not a UUID") from None


def _progress_damages(offsets: Log, commits: Log, expected: ExpectedCheckpoint) -> Iterator[Damage]:
    planned = -1 if offsets.newest is None else offsets.newest
    committed = -1 if commits.newest is None else commits.newest
    known = -1 if expected.committed is None else expected.committed
    if planned < committed:
        yield Damage(offsets.path(committed), f"is missing, and batch {committed} is committed")
    elif expected.has_gaps:
        return
    elif planned < known:
        yield Damage(offsets.path(known), f"is missing, and the job has committed batch {known}")
    elif planned > committed + 1:
        yield Damage(commits.path(planned - 1), f"is missing, and batch {planned} is planned")
    if expected.has_commit and committed < known:
        yield Damage(commits.path(known), "is missing")


_EntryCheck = Callable[[list[object]], object]


def _check_entry(files: StoredFiles, check: _EntryCheck, path: str) -> None:
    check(json_lines(files, path))


def _first_entries(offsets: Log, commits: Log, expected: ExpectedCheckpoint) -> Iterator[tuple[str, _EntryCheck]]:
    """Return the entries that a start reads, each with the check of its lines."""
    planned = offsets.newest
    if planned is not None:
        older = [number for number in offsets.numbers if number < planned]
        if expected.fills_gaps and older:
            yield offsets.path(max(older)), _check_offsets
        elif planned > 0 and not expected.fills_gaps:
            yield offsets.path(planned - 1), _check_offsets
        yield offsets.path(planned), _check_offsets
    if commits.newest is not None:
        yield commits.path(commits.newest), _check_commit


def _check_offsets(lines: list[object]) -> None:
    """Raise ValueError for an entry that Spark cannot read: a line of facts, and one for each source."""
    facts, *sources = lines
    if not sources:
        raise ValueError("it lacks the offsets of the sources")
    confs = facts.get("conf", {}) if isinstance(facts, dict) else None
    if not isinstance(facts, dict) or not isinstance(confs, dict):
        raise ValueError("its second line is not a JSON object with settings")
    if not all(isinstance(facts.get(name, 0), int) for name in ("batchWatermarkMs", "batchTimestampMs")):
        raise ValueError("its times are not numbers")


def _check_commit(lines: list[object]) -> None:
    """Raise ValueError for an entry that Spark cannot read: a line of facts."""
    [facts, *_] = lines
    if not isinstance(facts, dict):
        raise ValueError("its second line is not a JSON object")
    if not isinstance(facts.get("nextBatchWatermarkMs", 0), int):
        raise ValueError("its watermark is not a number")
    state_ids(facts)


def _source_logs(files: StoredFiles, folder: str, offsets: Log) -> Iterator[tuple[Log, int]]:
    """Return the log of each file source, and the newest entry that an offset names."""
    if offsets.newest is None:
        return
    try:
        _, *sources = json_lines(files, offsets.path(offsets.newest))
    except (ValueError, FileNotFoundError):
        return  # reported as damage of this entry
    for number, offset in enumerate(sources):
        reached = offset.get("logOffset") if isinstance(offset, dict) else None
        if isinstance(reached, int):
            yield read_log(files, f"{folder}/sources/{number}"), reached


def _first_needed(log: Log, reached: int) -> int:
    """Return the first number of a source's log that Spark reads: the newest file that includes the earlier ones."""
    return max((number for number in log.compacted if number <= max(reached, log.newest or 0)), default=0)


def _source_gaps(log: Log, reached: int) -> Iterator[Damage]:
    for gap in missing(log.numbers, _first_needed(log, reached), reached):
        yield Damage(log.path(gap.start), f"with the list of files that were read is missing{_up_to(gap)}")


def _up_to(gap: range) -> str:
    return "" if len(gap) == 1 else f", and so are the lists up to {gap[-1]}"


def _unreadable(path: str, read: Callable[[str], object], can_vanish: bool = False) -> Iterator[Damage]:
    """Return the damage if a file is not readable.

    can_vanish: a running engine deletes such files when they are old.
    """
    try:
        read(path)
    except FileNotFoundError:
        if not can_vanish:
            yield Damage(path, "is missing")
    except ValueError as error:
        yield Damage(path, f"is not readable: {error}")
