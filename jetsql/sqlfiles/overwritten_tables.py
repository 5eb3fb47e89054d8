"""Find what two files replace: a job or a table with a job of one name, and the rows of a table.

Each file is right by itself, and the last one that runs wins. Within one file, the order is the author's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jetsql.errors import Span
from jetsql.jobs.model.job import name_key
from jetsql.language import statement as st
from jetsql.language.statement_head import name_at, read_head
from jetsql.language.tokens import Token
from jetsql.sqlfiles.lint_problems import PREFIX, ProblemLevel
from jetsql.sqlfiles.lint_statement import CheckedStatement, Found
from jetsql.sqlfiles.read_bodies import NamedTable
from jetsql.sqlfiles.statement_names import is_same_name, job_targets, lower_parts

_HINT: Final = "Leave one of them out, or give them different names."


@dataclass(frozen=True)
class _Statement:
    """A statement that writes a table or creates a job."""

    file: str
    line: int
    name: tuple[str, ...]  # in lower case
    replaces: bool  # all that was there before


class OverwrittenTables:
    """The tables and jobs of the statements before."""

    def __init__(self) -> None:
        self._tables: list[_Statement] = []
        self._jobs: dict[str, _Statement] = {}

    def check(self, checked: CheckedStatement, found: list[Token], file: str, line: int) -> Iterator[Found]:
        """Take the next statement, and yield the warnings of what a statement of another file replaces as well.

        found: its tokens.
        """
        statement = checked.statement
        if isinstance(statement, (st.CreateJob, st.CreateStreamingTable)) and checked.job is not None:
            yield from self._check_job(checked.job, file, line)
            for target in job_targets(checked.job, checked.text):
                self._tables.append(_Statement(file, line, lower_parts(target.parts), False))
        replaced = overwritten_table(found) if statement is None else None
        if replaced is None:
            return
        table = _Statement(file, line, lower_parts(replaced.parts), True)
        other = next((each for each in self._tables if each.file != file and is_same_name(each.name, table.name)), None)
        if other is not None:
            name = ".".join(replaced.parts)
            place = f"{other.file}:{other.line}"
            message = f"The statement replaces the rows of {name}, and {place} writes the same table."
            hint = "Write to another table, or add rows with INSERT INTO."
            yield Found(ProblemLevel.WARNING, f"{PREFIX}TABLE_IN_USE", message, replaced.place, hint)
        self._tables.append(table)

    def _check_job(self, job: st.CreateJob, file: str, line: int) -> Iterator[Found]:
        key = name_key(job.name.text)
        before = self._jobs.setdefault(key, _Statement(file, line, (key,), job.or_replace))
        if before.file != file and job.or_replace:
            message = f"The job {job.name.text} is also created at {before.file}:{before.line}, and is replaced here."
            yield Found(ProblemLevel.WARNING, f"{PREFIX}JOB_ALREADY_EXISTS", message, job.name.place, _HINT)


def overwritten_table(found: list[Token]) -> NamedTable | None:
    """Return the table whose rows a statement of Spark replaces, or None. A part of a table can be replaced."""
    words = [token.word for token in found[:3]]
    head = read_head(found)
    if words[:2] == ["INSERT", "OVERWRITE"] and words[2:] not in (["DIRECTORY"], ["LOCAL"]):
        at = 3 if words[2:] == ["TABLE"] else 2
    elif head.kind == "TABLE" and (head.verb == "REPLACE" or (head.verb, head.replaces) == ("CREATE", "REPLACE")):
        at = head.name_at
    else:
        return None
    name = name_at(found, at)
    if name is None:
        return None
    parts, stop = name
    if stop < len(found) and found[stop].word == "PARTITION":
        return None
    return NamedTable(parts, Span(found[at].start, found[stop - 1].stop))
