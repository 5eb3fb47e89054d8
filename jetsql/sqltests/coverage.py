"""The coverage of tests: conditions, branches of CASE and joins of the jobs that no row has reached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jetsql.output.diagnostics import Script
from jetsql.sqltests.read_tests import FileStatement, SqlTestFile

_EXCERPT: Final = 60
_CLAUSE: Final = re.compile(r"\s*(SELECT|INSERT|FROM|WHERE|WITH|JOIN|ON|GROUP|HAVING)\b", re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Site:
    """A condition of a filter, a branch of CASE, or a join."""

    file: str
    line: int
    column: int
    kind: str
    """`filter`, `case` or `join`."""
    branch: int
    """The number of the branch of CASE; 0 for ELSE, and for other sites."""
    text: str
    """The words in the file."""

    def describe(self, gap: str) -> str:
        """Return a line about the site. gap: what no test has reached"""
        words = " ".join(self.text.split())
        shown = words if len(words) <= _EXCERPT else f"{words[: _EXCERPT - 3]}..."
        branch = "" if self.kind != "case" else f"WHEN {self.branch} of " if self.branch else "ELSE of "
        return f"{self.file}:{self.line}:{self.column}: {branch}{shown}: {gap}"


@dataclass(frozen=True)
class Coverage:
    """The coverage of a run."""

    sites: int
    """The number of sites."""
    gaps: tuple[tuple[Site, str], ...]
    """The sites that are not covered, and what is missing."""

    @property
    def summary(self) -> str:
        """Return the numbers."""
        return f"coverage: {self.sites - len(self.gaps)} of {self.sites} conditions, branches of CASE and joins"


def read_coverage(found: Iterable[Mapping[str, Any]], files: Sequence[SqlTestFile]) -> Coverage:
    """Return the coverage of the files under test. found: see `Coverage.sites` of the Java module

    What is at no place of a file, such as a condition that a rewrite of a query adds, does not count.
    """
    statements = [step for file in files for step in file.setup]
    reached: dict[Site, set[str]] = {}
    for each in found:
        site = _locate(each, statements)
        if site is not None:
            seen = reached.setdefault(site, set())
            seen.update(name for name in ("true", "other") if each[name])
    gaps = ((site, _gap(site, seen)) for site, seen in sorted(reached.items()))
    return Coverage(len(reached), tuple((site, gap) for site, gap in gaps if gap))


def _gap(site: Site, seen: set[str]) -> str:
    if site.kind == "filter":
        if seen == {"true"}:
            return "no row was rejected"
        return "" if "true" in seen else "no row passed" if seen else "no row came here"
    if site.kind == "join":
        return "" if seen else "no rows met"
    return "" if seen else "no row took this branch"


def _locate(found: Mapping[str, Any], statements: Sequence[FileStatement]) -> Site | None:
    """Return the place in a file of a place in the text that Spark has read: a statement, or the query of a view."""
    text, start, stop = found["text"], found["start"], found["stop"] + 1
    words = text[start:stop]
    if found["kind"] == "filter" and _CLAUSE.match(words):
        return None  # Spark has derived the condition from others
    for step in statements:
        written = step.prepared.text
        at = start if len(written) == len(text) else written.find(text.strip()) + start - _indent(text)
        if text.strip() not in written and len(written) != len(text):
            continue
        if written[at : at + len(words)] == words:
            script: Script = step.prepared.script
            offset = step.prepared.origin(at)
            return Site(script.name, script.line(offset), script.column(offset), found["kind"], found["branch"], words)
    return None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
