"""Read the body of a job, refuse unsupported forms of INSERT, and make the text that Spark runs.

Only the verb, the table and the beginning of the query are read; Spark receives the rest unchanged. The text before the
body is replaced by blanks, so that the positions in Spark's errors are positions in the user's whole statement.

`change_clauses` reads the clauses of AUTO CDC, and `several_inserts` a body with several INSERTs.

SINK INTO is JetSQL's own; Spark receives INSERT INTO, which is two characters longer. INSERT is written into the blanks
before INTO, if necessary on the line before, so that everything from INTO on keeps its offset, line and column.
There is one exception: a WITH comes first and leaves no blanks (`)`, then SINK in the first column of the next line).
INSERT is then written directly after the parenthesis, and the text before the body loses as many blanks. The offsets
within the WITH decrease by up to six. Lines stay the same, and so do columns, except in the first line of the body if
no line before it has six characters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.language.body.change_clauses import CDC_EXAMPLE, ReadClauses, read_clauses
from jetsql.language.body.misplaced_clauses import refuse_misplaced_in_body
from jetsql.language.body.parameter_markers import find_markers
from jetsql.language.body.relation_clauses import refuse_wrong_target
from jetsql.language.statement import Body, Verb
from jetsql.language.statement_head import QUERY_WORDS
from jetsql.language.syntax_errors import add_semicolon, found_at, place_at, second_statement, unclosed
from jetsql.language.tokens import Kind, Token, blank, closing_parenthesis, scan, tokens, top_level, verb_after_with

_EXPECTED: Final = "A job's body is INSERT INTO, INSERT OVERWRITE or SINK INTO with a query, or AUTO CDC INTO"
_EXAMPLE: Final = "Write AS INSERT INTO table SELECT ..."
_SEVERAL_TABLES: Final = "Write FROM source INSERT INTO table SELECT ... INSERT INTO other SELECT ..."
_QUERY: Final = frozenset({*QUERY_WORDS, "MAP", "REDUCE"})
_CLAUSES: Final = frozenset({"PARTITION", "BY", "REPLACE"})
_LOCATION: Final = "Create a table with that LOCATION and write INSERT OVERWRITE table ..."
_REPLACE: Final = (
    "Use INSERT OVERWRITE, SINK INTO a table with 'key.columns', or INSERT INTO ... REPLACE WHERE condition in a batch"
    " job, for a table USING delta or iceberg."
)
_VERBS: Final = {verb.value: verb for verb in Verb}
_INSERT: Final = "INSERT"
_NO_TOKEN: Final = Token(Kind.SYMBOL, "", 0, 0)
_BREAK: Final = re.compile(r"[\r\n]")
# Spark's own pattern of a substitution, but without `$` inside, so that the search is linear.
_SUBSTITUTION: Final = re.compile(r"\$\{[^\s$][^\s}$]*\}")


def read_insert(text: str, start: int, found: Sequence[Token]) -> Body:
    """Return the INSERT that begins at the offset `start` of the statement `text`. found: its tokens.

    Raises StatementError UNSUPPORTED_BODY, PARAMETER_IN_BODY or PARSE_SYNTAX_ERROR with the span of the wrong token.
    """
    at = _verb_index(found)
    verb, table = read_verb(found, at)
    last = read_table(found, table)
    clauses = read_clauses(found, last + 1) if verb is Verb.AUTO_CDC else None
    refuse_wrong_target(found, last + 1)
    _refuse_variants(found, [index for index in top_level(found) if index > last], verb)
    refuse_misplaced_in_body(found)
    refuse_parameters(found)
    stop = found[-1].stop
    refuse_substitution(text, start, stop)
    return Body(
        verb=verb,
        text=text[start:stop],
        place=Span(start, stop),
        spark_text=_spark_text(text, start, found, at, verb, clauses),
        target=Span(found[table].start, found[last].stop),
        changes=None if clauses is None else clauses.changes,
    )


def statement_tokens(text: str, start: int) -> list[Token]:
    """Return the tokens of the body without the closing semicolons."""
    found: list[Token] = []
    closed = False
    for token in tokens(text, start):
        if token.kind is Kind.OPEN:
            raise unclosed(token)
        if token.text == ";":
            closed = True
        elif closed:
            raise second_statement(token)
        else:
            found.append(token)
    return found


def _verb_index(found: Sequence[Token]) -> int:
    """Return the index of the verb: of the first token, or of the first one after the WITH clause.

    Raises StatementError UNSUPPORTED_BODY when no verb follows the WITH clause.
    """
    at = verb_after_with(found) if found[0].word == "WITH" else 0
    if at is None:
        end = found[-1].stop
        raise unsupported_body(f"{_EXPECTED}; after this WITH there is none.", Span(end, end), _EXAMPLE)
    return at


def read_verb(found: Sequence[Token], at: int) -> tuple[Verb, int]:
    """Return the verb at the index `at`, and the index of the table's first token."""
    first = found[at].word
    if first == "AUTO" and _token(found, at + 1).word == "CDC":
        return Verb.AUTO_CDC, _read_auto_cdc(found, at)
    if first not in ("INSERT", "SINK"):
        raise _not_an_insert(found, at)
    verb = _VERBS.get(f"{first} {_token(found, at + 1).word}")
    if verb is None:
        wanted = "INTO" if first == "SINK" else "INTO or OVERWRITE"
        raise unsupported_body(f"Expected {wanted} after {first}, {found_at(found, at + 1)}.", place_at(found, at + 1))
    table = at + 2
    if _token(found, table).word == "TABLE" and _names_table(found, table + 1):
        table += 1
    return verb, table


def _read_auto_cdc(found: Sequence[Token], at: int) -> int:
    """Return the index of the table after AUTO CDC INTO."""
    if at:
        hint = "Write AUTO CDC INTO table FROM (WITH ... SELECT ...) KEYS ..."
        raise unsupported_body("AUTO CDC has no WITH before it; its query is in parentheses.", found[at].place, hint)
    if _token(found, 2).word != "INTO":
        raise unsupported_body(f"Expected INTO after AUTO CDC, {found_at(found, 2)}.", place_at(found, 2), CDC_EXAMPLE)
    return 3


def _names_table(found: Sequence[Token], index: int) -> bool:
    """Return whether the word TABLE before `index` is the keyword; otherwise it is the name of the table."""
    token = _token(found, index)
    return token.kind is Kind.QUOTED or (bool(token.word) and token.word not in _QUERY | _CLAUSES)


def read_table(found: Sequence[Token], table: int) -> int:
    """Return the index of the last token of the table's name, which begins at `table`."""
    if _token(found, table).word in ("DIRECTORY", "LOCAL") and _writes_directory(found, table):
        raise unsupported_body("A job cannot write to a directory, only to a table.", found[table].place, _LOCATION)
    if _token(found, table).kind not in (Kind.WORD, Kind.QUOTED):
        raise unsupported_body(f"Expected a table, {found_at(found, table)}.", place_at(found, table))
    last = table
    if found[table].word == "IDENTIFIER" and _token(found, table + 1).text == "(":
        return closing_parenthesis(found, table + 1)
    while _token(found, last + 1).text == "." and last + 2 < len(found):
        last += 2
    return last


def _writes_directory(found: Sequence[Token], table: int) -> bool:
    following = _token(found, table + 1)
    if found[table].word == "LOCAL":
        return following.word == "DIRECTORY"
    return following.kind is Kind.STRING or following.word == "USING"


def _not_an_insert(found: Sequence[Token], at: int) -> StatementError:
    token, message, hint = found[at], f"{_EXPECTED}, {found_at(found, at)}.", _EXAMPLE
    if token.word == "FROM":
        message = "The body of a job with one table begins with INSERT; its FROM follows the SELECT."
        hint = "Write INSERT INTO table SELECT ... FROM source."
    elif token.word in ("BEGIN", "EXECUTE") and "STATEMENT" in (_token(found, at + 1).word, _token(found, at + 2).word):
        message, hint = "STATEMENT SET is not a statement of JetSQL.", _SEVERAL_TABLES
    elif token.word == "CREATE":
        hint = "Write CREATE TABLE table AS SELECT ... for a new table."
    elif token.word in ("OPTIONS", "COMMENT"):
        hint = f"{token.word} goes before AS."
    elif token.word in ("SELECT", "VALUES", "TABLE"):
        message = "A query alone is not a job: its rows need a table."
        hint = f"Write INSERT INTO table {token.word} ..."
    elif close := get_close_matches(token.word, ("INSERT", "SINK", "AUTO", "WITH")):
        return unsupported_body(message, token.place, f"Did you mean {close[0]}?", close[0])
    return unsupported_body(message, token.place, hint)


def _refuse_variants(found: Sequence[Token], rest: Sequence[int], verb: Verb) -> None:
    """Refuse INSERT ... REPLACE USING and a second INSERT. rest: the indexes of the tokens after the table."""
    query = next((at for at, index in enumerate(rest) if _begins_query(found, index)), len(rest))
    for index in rest[:query]:
        following = _token(found, index + 1).word
        if found[index].word != "REPLACE" or following not in ("WHERE", "USING", "ON"):
            continue
        if verb is not Verb.INSERT_INTO or following != "WHERE":
            message = f"{verb.value} ... REPLACE {following} is not supported in a job."
            raise unsupported_body(message, found[index].place, _REPLACE)
    refuse_second_insert(found, rest)


def refuse_second_job(found: Sequence[Token], inserts: Sequence[int]) -> None:
    """Refuse a second CREATE JOB: the semicolon before it is missing. inserts: the indexes of the further INSERTs."""
    for index in inserts:
        second = _create_job_before(found, index)
        if second is not None:
            raise _second_job(second)


def refuse_second_insert(found: Sequence[Token], rest: Sequence[int]) -> None:
    """Refuse an INSERT or SINK INTO at one of the indexes `rest`."""
    refuse_second_job(found, [index for index in rest if is_insert(found, index)])
    for index in rest:
        if is_insert(found, index):
            raise _several(found[index])


def _begins_query(found: Sequence[Token], index: int) -> bool:
    options = (
        found[index].word == "WITH" and _token(found, index + 1).text == "("
    )  # INSERT INTO t WITH ('key' = 'value')
    return found[index].word in _QUERY and not options


def is_insert(found: Sequence[Token], index: int) -> bool:
    """Return whether an INSERT or SINK INTO begins at the index."""
    return found[index].word in ("INSERT", "SINK") and _token(found, index + 1).word in ("INTO", "OVERWRITE")


def _create_job_before(found: Sequence[Token], insert: int) -> Token | None:
    """Return the CREATE of a second CREATE JOB that the INSERT belongs to, or None."""
    created = (
        index
        for index in range(insert - 1, 0, -1)
        if found[index].word == "CREATE"
        and "JOB" in (_token(found, index + 1).word, _token(found, index + 3).word)
        and found[insert - 1].word == "AS"
    )
    return next((found[index] for index in created), None)


def _second_job(create: Token) -> StatementError:
    message = "This CREATE JOB is inside the body of another one."
    return unsupported_body(message, create.place, add_semicolon(create))


def _several(second: Token) -> StatementError:
    message = "This is a second INSERT; a job with several tables begins with FROM."
    return unsupported_body(message, second.place, f"{_SEVERAL_TABLES} For two jobs, end each with a semicolon.")


def refuse_parameters(found: Sequence[Token]) -> None:
    """Refuse `:name` and `?` without values: the values are unknown when the job restarts."""
    for marker in find_markers(found):
        raise _parameter("A parameter marker", marker.place)


def refuse_substitution(text: str, start: int, stop: int) -> None:
    """Refuse Spark's `${name}`, also in strings: Spark would substitute the value of the session that runs the job."""
    if _SUBSTITUTION.search(text, start, stop) is None:
        return
    comments = (token for token in scan(text, start) if token.kind is Kind.COMMENT)
    comment = next(comments, None)
    for found in _SUBSTITUTION.finditer(text, start, stop):
        while comment is not None and comment.stop <= found.start():
            comment = next(comments, None)
        if comment is None or found.start() < comment.start:
            raise _parameter("A substitution", Span(*found.span()))


def _spark_text(text: str, start: int, found: Sequence[Token], at: int, verb: Verb, clauses: ReadClauses | None) -> str:
    stop = found[-1].stop
    if clauses is not None:
        into = found[at + 2].start
        source = text[into : clauses.source_stop] + blank(text[clauses.source_stop : stop])
        return f"{_insert_before(text, found, at, into)}{source} SELECT *"
    if verb is Verb.SINK_INTO:
        into = found[at + 1].start
        return _insert_before(text, found, at, into) + text[into:stop]
    return blank(text[:start]) + text[start:stop]


def _insert_before(text: str, found: Sequence[Token], at: int, into: int) -> str:
    """Return the text before INTO, with INSERT in place of the verb at the index `at`. into: the offset of INTO."""
    # Without a WITH, everything before INTO is blank, and the word INSERT fits anywhere in it.
    room_from = found[at - 1].stop if at else 0
    head = blank(text[: found[0].start]) + text[found[0].start : room_from] if at else ""
    room = blank(text[room_from:into])
    for offset in range(len(room) - len(_INSERT) - 1, -1, -1):
        if _BREAK.search(room, offset, offset + len(_INSERT)) is None:
            return head + room[:offset] + _INSERT + room[offset + len(_INSERT) :]
    line_end = _BREAK.search(room)
    fitted = _INSERT + (room[line_end.start() :] if line_end else " ")
    return _shortened(head, len(fitted) - len(room)) + fitted


def _shortened(head: str, count: int) -> str:
    """Return `head` without `count` consecutive blanks; the blanked word CREATE alone has enough of them."""
    blanks = re.search(f"[^\\r\\n]{{{count}}}", head)
    at = blanks.start() if blanks else 0
    return head[:at] + head[at + count :]


def unsupported_body(message: str, place: Span, hint: str = _EXAMPLE, correction: str = "") -> StatementError:
    """Return the error of a body that no job can run."""
    return StatementError("UNSUPPORTED_BODY", message, place=place, hint=hint, correction=correction)


def _parameter(kind: str, place: Span) -> StatementError:
    return StatementError(
        "PARAMETER_IN_BODY",
        f"{kind} cannot be used in a job: its value would be unknown when the job restarts.",
        place=place,
        hint="Write the value itself.",
    )


def _token(found: Sequence[Token], index: int) -> Token:
    """Return the token at the index, or a token without text after the last one."""
    return found[index] if index < len(found) else _NO_TOKEN
