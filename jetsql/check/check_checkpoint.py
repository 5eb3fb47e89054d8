"""Checks of a Spark checkpoint, of a job or in a snapshot.

Spark needs `offsets` (the offsets of each batch), `commits` (the committed batches), `sources` (the files that were
read) and `state`. Spark itself checks little of that: it continues without missing files, and rows are repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jetsql.check.findings import Finding, Severity
from jetsql.check.log_files import Log, json_lines, json_object, missing, read_log

_STATE_FILE: Final = re.compile(r"(?P<version>\d+)(_(?P<id>[^.]+))?\.(?P<kind>changelog|delta|zip|snapshot)")
_FULL: Final = ("zip", "snapshot")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint to check."""

    folder: Path
    owner: str  # its job or snapshot, such as `job orders`
    remedy: str  # the remedy when it is damaged, a sentence
    committed: int | None  # a batch that must be committed in it; None for none
    stateful: bool  # it must contain state

    def error(self, problem: str, where: Path) -> Finding:
        """Return the finding for a damaged checkpoint. problem: a phrase without a full stop."""
        message = f"The checkpoint of {self.owner} is damaged: {problem}."
        return Finding(Severity.ERROR, message, str(where), self.remedy)


def check_checkpoint(checkpoint: Checkpoint) -> Iterator[Finding]:
    """Return the problems of a checkpoint, and a note for an uncommitted batch."""
    if not checkpoint.folder.is_dir():
        message = f"The checkpoint of {checkpoint.owner} is missing, and with it the progress of its sources."
        yield Finding(Severity.ERROR, message, str(checkpoint.folder), checkpoint.remedy)
        return
    # `commits` is read first, so that a batch that is committed meanwhile is also in `offsets`.
    commits, offsets = (read_log(checkpoint.folder / name) for name in ("commits", "offsets"))
    if offsets.numbers or commits.numbers:
        yield from _unreadable(checkpoint, checkpoint.folder / "metadata", json_object)
    for log in (offsets, commits):
        yield from _log_findings(checkpoint, log)
    yield from _progress_findings(checkpoint, offsets, commits)
    if commits.newest is not None and commits.newest in offsets.numbers:
        yield from _source_findings(checkpoint, offsets.path(commits.newest))
        if checkpoint.stateful:
            yield from _state_findings(checkpoint, commits.path(commits.newest), commits.newest)


def newest_commit(folder: Path) -> int | None:
    """Return the newest committed batch of a checkpoint, or None."""
    return read_log(folder / "commits").newest


def _log_findings(checkpoint: Checkpoint, log: Log) -> Iterator[Finding]:
    for gap in log.gaps():
        are = "is" if len(gap) == 1 else "are"
        yield checkpoint.error(f"{log.folder.name}/{_range_text(gap)} {are} missing", log.path(gap.start))
    for number in sorted(log.numbers):
        yield from _unreadable(checkpoint, log.path(number), json_lines, can_vanish=True)


def _range_text(gap: range) -> str:
    return str(gap.start) if len(gap) == 1 else f"{gap.start} to {gap.stop - 1}"


def _unreadable(
    checkpoint: Checkpoint, path: Path, read: Callable[[Path], object], *, can_vanish: bool = False
) -> Iterator[Finding]:
    """Return a finding if a file is not readable. can_vanish: a running engine deletes such files when they are old."""
    name = path.relative_to(checkpoint.folder)
    try:
        read(path)
    except FileNotFoundError:
        if not can_vanish:
            yield checkpoint.error(f"{name} is missing", path)
    except OSError as error:
        yield checkpoint.error(f"{name} is not readable ({error.strerror})", path)
    except ValueError as error:
        yield checkpoint.error(f"{name} is not readable: {error}", path)


def _progress_findings(checkpoint: Checkpoint, offsets: Log, commits: Log) -> Iterator[Finding]:
    planned, committed, known = offsets.newest, commits.newest, checkpoint.committed
    if known is not None and (committed is None or committed < known):
        newest = "it contains no committed batch" if committed is None else f"its newest one is batch {committed}"
        yield checkpoint.error(f"the job has committed batch {known}, but {newest}", commits.folder)
    if committed is not None and (planned is None or planned < committed):
        problem = f"batch {committed} is committed, but offsets/{committed} is missing"
        yield checkpoint.error(problem, offsets.path(committed))
    if planned is not None and planned > (-1 if committed is None else committed) + 1:
        missing = commits.path(planned - 1)
        yield checkpoint.error(f"batch {planned} is planned, but commits/{planned - 1} is missing", missing)
    elif planned is not None and planned != committed:
        message = f"Batch {planned} of {checkpoint.owner} is planned but not committed; the next start repeats it."
        yield Finding(Severity.NOTE, message, str(offsets.path(planned)))


def _source_findings(checkpoint: Checkpoint, newest: Path) -> Iterator[Finding]:
    """Check the lists of files that file sources have read; each source offset has a file."""
    try:
        _, *sources = json_lines(newest)
    except (ValueError, OSError):
        return  # already reported
    for number, offset in enumerate(sources):
        reached = offset.get("logOffset") if isinstance(offset, dict) else None
        if isinstance(reached, int):
            yield from _read_list_findings(checkpoint, read_log(checkpoint.folder / "sources" / str(number)), reached)


def _read_list_findings(checkpoint: Checkpoint, log: Log, reached: int) -> Iterator[Finding]:
    compacted = max((number for number in log.compacted if number <= reached), default=0)
    for gap in missing(log.numbers, compacted, reached):
        name = log.folder.relative_to(checkpoint.folder)
        problem = f"{name}/{_range_text(gap)} with the list of files that were read is missing"
        yield checkpoint.error(problem, log.path(gap.start))
    for number in sorted(number for number in log.numbers if compacted <= number <= reached):
        yield from _unreadable(checkpoint, log.path(number), json_lines, can_vanish=True)


def _state_findings(checkpoint: Checkpoint, commit: Path, batch: int) -> Iterator[Finding]:
    """Check the state of a batch: its version is the batch number plus one, in files that the commit names."""
    state = checkpoint.folder / "state"
    try:
        facts = json_lines(commit)[0]
    except (ValueError, OSError):
        return  # already reported
    stores = sorted({path.parent for path in state.glob("*/*/**/*") if _state_file(path)})
    if not stores:
        yield checkpoint.error("its state is missing", state)
    try:
        named = dict(_named_ids(facts))
    except (TypeError, AttributeError, ValueError):
        yield checkpoint.error(f"the state references in commits/{batch} are not readable", commit)
        return
    for store in stores:
        partition = Path(*store.relative_to(state).parts[:2])
        if not named or partition in named:  # Spark keeps the folders of partitions that the job had before
            yield from _store_findings(checkpoint, store, batch + 1)
    for partition, ids in named.items():
        folder = state / partition
        present = {match["id"] for match in map(_state_file, folder.glob("**/*")) if match}
        if not present.issuperset(ids):
            yield checkpoint.error(f"{folder.relative_to(checkpoint.folder)} lacks files of batch {batch}", folder)


def _named_ids(commit: object) -> Iterator[tuple[Path, set[str]]]:
    """Return the ids of the state files that a commit names, by operator and partition.

    Raises TypeError, AttributeError for a malformed commit.
    """
    named = commit.get("stateUniqueIds") if isinstance(commit, dict) else None
    for operator, partitions in sorted((named or {}).items()):
        for number, ids in enumerate(partitions):
            yield Path(operator, str(number)), set(ids)


def _state_file(path: Path) -> re.Match[str] | None:
    return _STATE_FILE.fullmatch(path.name)


def _store_findings(checkpoint: Checkpoint, store: Path, version: int) -> Iterator[Finding]:
    """Check that a state store has its last full version and every change since."""
    files = [(path, match) for path in store.iterdir() if (match := _state_file(path))]
    full = {int(match["version"]) for _, match in files if match["kind"] in _FULL}
    begin = max((number for number in full if number <= version), default=0)
    for gap in missing((int(match["version"]) for _, match in files), begin + 1, version):
        yield checkpoint.error(f"{store.relative_to(checkpoint.folder)} lacks version {_range_text(gap)}", store)
    for path, match in files:
        if begin <= int(match["version"]) <= version and path.stat().st_size == 0:
            yield checkpoint.error(f"{path.relative_to(checkpoint.folder)} is empty", path)
