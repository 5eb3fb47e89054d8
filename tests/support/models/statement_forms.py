"""The statements of `test_statement_model` in parts, as the model takes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_FORMS: Final = {
    "create": r"CREATE JOB (?P<absent>IF NOT EXISTS )?(?P<job>\w+) "
    r"(?:OPTIONS \('initialSnapshotName'='(?P<of>\w+)'\) )?(?P<now>OPTIONS \('trigger'='availableNow'\) )?"
    r"AS (?P<text>.*)",
    "replace": r"CREATE OR REPLACE JOB (?P<job>\w+) (?P<now>OPTIONS \('trigger'='availableNow'\) )?AS (?P<text>.*)",
    "suspend": r"SUSPEND JOB (?P<job>\w+)",
    "resume": r"RESUME JOB (?P<job>\w+)",
    "restart": r"RESTART JOB (?P<job>\w+)",
    "alter": r"ALTER JOB (?P<job>\w+) OPTIONS \('restartAttempts'='(?P<attempts>\d)'\)(?P<resume> RESUME)?",
    "drop": r"DROP JOB (?P<absent>IF EXISTS )?(?P<job>\w+)(?: WITH SNAPSHOT (?P<snapshot>\w+))?",
    "snapshot": r"CREATE (?P<over>OR REPLACE )?SNAPSHOT (?P<snapshot>\w+) FOR JOB (?P<job>\w+)",
    "forget": r"DROP SNAPSHOT (?P<absent>IF EXISTS )?(?P<snapshot>\w+)",
    "jobs": r"SHOW JOBS",
    "snapshots": r"SHOW SNAPSHOTS",
    "describe": r"DESCRIBE JOB (?P<job>\w+)",
    "history": r"SHOW JOB HISTORY (?P<job>\w+)",
    "end of run": r"(?P<fault>RETRYABLE_ERROR|FATAL_ERROR|COMPLETE) (?P<job>\w+)",
}
_READING: Final = ("jobs", "snapshots", "describe", "history")


@dataclass(frozen=True)
class Form:
    """A statement in parts. `kind` is a key of _FORMS."""

    kind: str
    parts: Mapping[str, str | None]

    def __getitem__(self, part: str) -> str:
        return self.parts.get(part) or ""

    @property
    def body(self) -> str:
        return body_of(self["text"], ends=bool(self["now"]))

    @property
    def touches(self) -> frozenset[str]:
        """Return the jobs and snapshots that the statement may change."""
        if self.kind in _READING:
            return frozenset()
        names = {f"job {self['job']}", f"snapshot {self['snapshot']}", f"snapshot {self['of']}"}
        return frozenset(name for name in names if not name.endswith(" "))


def body_of(text: str, *, ends: bool) -> str:
    """Return the body of a job. ends: the job reads the existing rows and completes."""
    return f"once: {text}" if ends else text


def form_of(text: str) -> Form:
    for kind, pattern in _FORMS.items():
        found = re.fullmatch(pattern, text)
        if found:
            return Form(kind, found.groupdict())
    raise AssertionError(f"no form of {text}")
