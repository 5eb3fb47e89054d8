"""Refuse clauses at a wrong place in a query or in a body, and ksqlDB's clause EMIT.

Only clauses that Spark never accepts are refused, so a user's own function or table can have any of these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jetsql.errors import StatementError
from jetsql.language.body.relation_clauses import BEFORE_NAMES, refuse_wrong_relations
from jetsql.language.objects.start_mode import RESUMING, StartPosition
from jetsql.language.tokens import Kind, Token, top_level

_EMITTED: Final = (["CHANGES"], ["FINAL"], ["ON", "WINDOW", "CLOSE"], ["WITHOUT", "DELAY"])


def refuse_misplaced_in_body(found: Sequence[Token]) -> None:
    """Refuse ksqlDB's clause EMIT, and clauses at a wrong place. found: the tokens of a body, without comments.

    Raises StatementError UNSUPPORTED_QUERY or PARSE_SYNTAX_ERROR with the place of the clause.
    """
    _refuse_late_options(found)
    refuse_misplaced_clauses(found)


def refuse_misplaced_clauses(found: Sequence[Token]) -> None:
    """Refuse EMIT, and clauses of a relation in a wrong order, in a query. found: its tokens, without comments.

    Spark never accepts these, and names a word after them. Raises as `refuse_misplaced_in_body`.
    """
    refuse_wrong_relations(found)
    for index in range(1, len(found)):
        clause = _emit_clause(found, index)
        if clause:
            verb = "SINK INTO for each change of a result" if clause == "EMIT CHANGES" else "INSERT INTO for final rows"
            hint = f"Leave out {clause}. In a job, write {verb}."
            message = f"{clause} is not a clause of Spark."
            raise StatementError("UNSUPPORTED_QUERY", message, place=found[index].place, hint=hint)


def _emit_clause(found: Sequence[Token], index: int) -> str:
    """Return the clause EMIT of other systems that begins at the index, at the end of a query; '' for a name."""
    before = found[index - 1]
    if found[index].word != "EMIT" or (before.text if before.kind is Kind.SYMBOL else before.word) in BEFORE_NAMES:
        return ""
    for words in _EMITTED:
        end = index + 1 + len(words)
        at_end = end >= len(found) or found[end].text in (")", ";") or found[end].word == "LIMIT"
        if at_end and [token.word for token in found[index + 1 : end]] == words:
            return " ".join(["EMIT", *words])
    return ""


def _refuse_late_options(found: Sequence[Token]) -> None:
    """Refuse OPTIONS, COMMENT and START_MODE after AS, except in the clauses of a new table.

    A list of columns has no string in it, and neither has an alias.
    """
    in_insert = False
    for index in top_level(found):
        word = found[index].word
        in_insert = in_insert or word in ("SELECT", "VALUES", "FROM", "INTO", "OVERWRITE")
        is_of_job = word == "OPTIONS" and index > 0 and found[index - 1].word == "JOB"
        if word == "START_MODE" and _names_position(found, index + 1):
            raise StatementError(
                "PARSE_SYNTAX_ERROR",
                "START_MODE is at the wrong place.",
                place=found[index].place,
                hint="Write it before AS, and for a streaming table directly after its name and JOB OPTIONS (...).",
            )
        if not (in_insert or is_of_job):
            continue
        if word == "COMMENT" and _is_string(found, index + 1):
            message, hint = "The comment is at the wrong place.", "Write COMMENT 'text' before AS."
            raise StatementError("PARSE_SYNTAX_ERROR", message, place=found[index].place, hint=hint)
        if word != "OPTIONS" or not _is_string(found, index + 2):
            continue
        where = "JOB OPTIONS (...) right after the name of the table" if is_of_job else "OPTIONS (...) before AS"
        raise StatementError(
            "PARSE_SYNTAX_ERROR",
            "The options of the job are at the wrong place.",
            place=found[index - is_of_job].place,
            hint=f"Write {where}. Those of a table are WITH ('key' = 'value') after its name.",
        )


def _names_position(found: Sequence[Token], index: int) -> bool:
    """Return whether tokens are the value of START_MODE."""
    values = [token.word.removeprefix(RESUMING) for token in found[index : index + 2]]
    return len(values) == 2 and found[index].text == "=" and values[1] in {position.value for position in StartPosition}


def _is_string(found: Sequence[Token], index: int) -> bool:
    return index < len(found) and found[index].kind is Kind.STRING
