"""One checkpoint of Spark's, of a job or in a snapshot: whether the next start finds in it what it needs.

What Spark needs is in `offsets` (what each batch reads), `commits` (which batches are done), `sources` (which files
were read) and `state`. It checks little of that itself: it goes on where files are missing, and rows come twice.
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
_WHOLE: Final = ("zip", "snapshot")


@dataclass(frozen=True)
class Checkpoint:
    """What is to be checked. owner: whose it is ("job orders"). remedy: what to do when it is damaged. committed: a
    batch that must be in it, None for none. stateful: it must hold state.
    """

    folder: Path
    owner: str
    remedy: str
    committed: int | None
    stateful: bool

    def error(self, what: str, where: Path) -> Finding:
        return Finding(Severity.ERROR, f"The checkpoint of {self.owner} is damaged: {what}.", str(where), self.remedy)


def check_checkpoint(checkpoint: Checkpoint) -> Iterator[Finding]:
    """What is wrong with it; a note when a batch is under way in it."""
    if not checkpoint.folder.is_dir():
        what = f"The checkpoint of {checkpoint.owner} is gone, and with it how far it has read."
        yield Finding(Severity.ERROR, what, str(checkpoint.folder), checkpoint.remedy)
        return
    # In this order a batch that is committed meanwhile is in both.
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
    """Return the newest batch that Spark knows to be done."""
    return read_log(folder / "commits").newest


def _log_findings(checkpoint: Checkpoint, log: Log) -> Iterator[Finding]:
    for gap in log.gaps():
        are = "is" if len(gap) == 1 else "are"
        yield checkpoint.error(f"{log.folder.name}/{_words(gap)} {are} missing", log.path(gap.start))
    for number in sorted(log.numbers):
        yield from _unreadable(checkpoint, log.path(number), json_lines, can_vanish=True)


def _words(gap: range) -> str:
    return str(gap.start) if len(gap) == 1 else f"{gap.start} to {gap.stop - 1}"


def _unreadable(
    checkpoint: Checkpoint, path: Path, read: Callable[[Path], object], *, can_vanish: bool = False
) -> Iterator[Finding]:
    """may_go: a running engine deletes such files when they have become old."""
    name = path.relative_to(checkpoint.folder)
    try:
        read(path)
    except FileNotFoundError:
        if not can_vanish:
            yield checkpoint.error(f"{name} is missing", path)
    except OSError as error:
        yield checkpoint.error(f"{name} can't be read ({error.strerror})", path)
    except ValueError as error:
        yield checkpoint.error(f"{name} can't be read: {error}", path)


def _progress_findings(checkpoint: Checkpoint, offsets: Log, commits: Log) -> Iterator[Finding]:
    planned, done, known = offsets.newest, commits.newest, checkpoint.committed
    if known is not None and (done is None or done < known):
        reached = "no batch is" if done is None else f"batch {done} is the last that is"
        yield checkpoint.error(f"batch {known} was committed, but {reached} in it", commits.folder)
    if done is not None and (planned is None or planned < done):
        yield checkpoint.error(f"batch {done} is committed, but offsets/{done} is missing", offsets.path(done))
    if planned is not None and planned > (-1 if done is None else done) + 1:
        missing = commits.path(planned - 1)
        yield checkpoint.error(f"batch {planned} is planned, but commits/{planned - 1} is missing", missing)
    elif planned is not None and planned != done:
        what = f"Batch {planned} of {checkpoint.owner} is planned and not committed; it is repeated at the next start."
        yield Finding(Severity.NOTE, what, str(offsets.path(planned)))


def _source_findings(checkpoint: Checkpoint, newest: Path) -> Iterator[Finding]:
    """Sources of files keep a list of what they have read, one file for each of their own offsets."""
    try:
        _, *sources = json_lines(newest)
    except (ValueError, OSError):
        return  # that it can't be read has been said
    for number, offset in enumerate(sources):
        reached = offset.get("logOffset") if isinstance(offset, dict) else None
        if isinstance(reached, int):
            yield from _read_list_findings(checkpoint, read_log(checkpoint.folder / "sources" / str(number)), reached)


def _read_list_findings(checkpoint: Checkpoint, log: Log, reached: int) -> Iterator[Finding]:
    whole = max((number for number in log.compacted if number <= reached), default=0)
    for gap in missing(log.numbers, whole, reached):
        name = log.folder.relative_to(checkpoint.folder)
        what = f"{name} lacks {_words(gap)}, which tells what files were read"
        yield checkpoint.error(what, log.path(gap.start))
    for number in sorted(number for number in log.numbers if whole <= number <= reached):
        yield from _unreadable(checkpoint, log.path(number), json_lines, can_vanish=True)


def _state_findings(checkpoint: Checkpoint, commit: Path, batch: int) -> Iterator[Finding]:
    """A batch leaves the state in the version after its own number, in files that the commit names."""
    state = checkpoint.folder / "state"
    try:
        facts = json_lines(commit)[0]
    except (ValueError, OSError):
        return  # that it can't be read has been said
    stores = sorted({path.parent for path in state.glob("*/*/**/*") if _state_file(path)})
    if not stores:
        yield checkpoint.error("its state is missing", state)
    for store in stores:
        yield from _store_findings(checkpoint, store, batch + 1)
    try:
        lost = list(_incomplete_folders(state, facts))
    except (TypeError, AttributeError, ValueError):
        yield checkpoint.error(f"commits/{batch} names its state in a way that can't be read", commit)
        return
    for folder in lost:
        name = folder.relative_to(checkpoint.folder)
        yield checkpoint.error(f"{name} lacks what batch {batch} left there", folder)


def _incomplete_folders(state: Path, commit: object) -> Iterator[Path]:
    """Return the folders without a file that the commit names. Raises TypeError, AttributeError for what is no
    commit."""
    named = commit.get("stateUniqueIds") if isinstance(commit, dict) else None
    for operator, partitions in sorted((named or {}).items()):
        for number, ids in enumerate(partitions):
            folder = state / operator / str(number)
            found = {match["id"] for match in map(_state_file, folder.glob("**/*")) if match}
            if not found.issuperset(ids):
                yield folder


def _state_file(path: Path) -> re.Match[str] | None:
    return _STATE_FILE.fullmatch(path.name)


def _store_findings(checkpoint: Checkpoint, store: Path, version: int) -> Iterator[Finding]:
    """A state is its last whole version and every change since."""
    files = [(path, match) for path in store.iterdir() if (match := _state_file(path))]
    whole = {int(match["version"]) for _, match in files if match["kind"] in _WHOLE}
    begin = max((number for number in whole if number <= version), default=0)
    for gap in missing((int(match["version"]) for _, match in files), begin + 1, version):
        yield checkpoint.error(f"{store.relative_to(checkpoint.folder)} lacks version {_words(gap)}", store)
    for path, match in files:
        if begin <= int(match["version"]) <= version and path.stat().st_size == 0:
            yield checkpoint.error(f"{path.relative_to(checkpoint.folder)} is empty", path)
