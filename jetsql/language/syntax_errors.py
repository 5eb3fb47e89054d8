"""Describe syntax errors: the position, the expected words, and a hint at the word that was probably meant.

The expected words come from the state of the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from jetsql.errors import Span, StatementError
from jetsql.language.grammar import BODY, END, MARKS, NAMES, SLOTS, acceptable
from jetsql.language.statement_owner import STATEMENT_VERBS, SYNONYMS
from jetsql.language.statement_syntax import rules_of_verb, statement_rule, syntax_text
from jetsql.language.tokens import Kind, Token, quoted_name, tokens, unquote

if TYPE_CHECKING:
    from lark import UnexpectedToken

# These end a run of tokens without spaces, which is probably a name that needs quotes.
_SEPARATORS: Final = frozenset(";(),=")
_SHOWN: Final = 40
_SHOWN_RULES: Final = 4
_QUOTED_WORD: Final = re.compile(r"`\w+`")
# Words that also begin a clause. They begin a statement only at the beginning of a line.
_CLAUSES: Final = frozenset("ADD COMMENT FROM LIST LOCK MAP REDUCE REPLACE SET START TABLE USE VALUES WITH".split())
_SHOW_HINT: Final = "SHOW JOBS lists the jobs, DESCRIBE JOB shows one."
# Clauses that other systems have for functions in Python, and for tables with a job.
_CREATE_HINTS: Final = {
    "TEMPORARY": "JetSQL stores a function in Python with its schema. Leave out TEMPORARY.",
    "ENVIRONMENT": "A function can import the packages in the engine's Python environment. Install them there.",
    "STREAMING": "Write CREATE OR REFRESH STREAMING TABLE.",
    "MATERIALIZED": "Write CREATE OR REFRESH MATERIALIZED VIEW.",
}

_WRONG_WORDS: Final = (
    ("OPTIONS", {"WITH", "SET", "PROPERTIES", "TBLPROPERTIES", "RESET"}, "Write OPTIONS ('option' = 'value')."),
    ("JOB", {"SET", "RESET"}, "Write JOB OPTIONS ('option' = 'value')."),
    ("AS", {"OPTIONS"}, "Write one OPTIONS with all options, separated by commas."),
    (
        "OPTIONS",
        {"RENAME"},
        "A job keeps its name. CREATE JOB new OPTIONS ('initialSnapshotName' = 's') keeps its state.",
    ),
    ("TEST", {"JOB"}, "Write RESUME JOB name."),
    ("UNTIL", {"IDLE", "COMPLETED", "BATCH"}, "Write UNTIL before the goal."),
    ("SECONDS", {"MINUTE", "MINUTES", "HOUR", "HOURS"}, "Write the timeout in seconds."),
    ("LIKE", {"ALL"}, "Write SHOW ALL JOBS."),
)
"""Hints for a word where another terminal is expected: the terminal, the words, the hint."""


def syntax_error(text: str, error: UnexpectedToken) -> StatementError:
    """Return the error of a statement that the parser refuses at the token of `error`."""
    found = list(tokens(text))
    expected = acceptable(error.state)
    # Lark gives the end of a text the position of its last token.
    at_end = error.token.type == END
    at = len(found) if at_end else next(i for i, token in enumerate(found) if token.start == error.token.start_pos)
    if at_end or (found[at].text == ";" and "SEMICOLON" not in expected):
        last = found[at - 1].stop
        end_hint = _SHOW_HINT if expected == {"HISTORY"} else _taken_as_name(error, expected) or _syntax(found)
        return _unexpected(expected, "found the end of the statement", Span(last, last), end_hint)
    token = found[at]
    if token.kind is Kind.OPEN:
        return unclosed(token)
    if found[at - 1].text == ";" and at:
        return second_statement(token)
    named = _misnamed(found, at, error, expected)
    if named is not None:
        return named
    if END in expected and begins_statement(text, found, at):
        return _unexpected(expected, f"found {shown(token.text)}", token.place, add_semicolon(token))
    hint = _CREATE_HINTS.get(token.word) if expected & {"FUNCTION", "HANDLER"} else _misplaced(found, at, expected)
    if not hint and (meant := _meant(token, expected)):
        return _unexpected(expected, f"found {shown(token.text)}", token.place, f"Did you mean {meant}?", meant)
    hint = hint or _quote_it(found, at, expected) or _taken_as_name(error, expected)
    if not hint:
        hint = _SHOW_HINT if expected == {"HISTORY"} else _syntax(found)
    return _unexpected(expected, f"found {shown(token.text)}", token.place, hint)


def _misplaced(found: Sequence[Token], at: int, expected: frozenset[str]) -> str:
    """Return the hint for a clause at the wrong place, or of another statement or system; '' for another error."""
    word, following = found[at].word, found[at + 1].word if at + 1 < len(found) else ""
    verbs = [token.word for token in found[:3]]
    if word == "COMMENT" and expected in ({"AS"}, {"AS", "START_MODE"}):
        return "COMMENT comes before OPTIONS."
    if word in ("COMMENT", "OPTIONS") and expected <= {"AS", "LPAR"}:
        return f"{word} comes before START_MODE."
    if (word, following) == ("JOB", "OPTIONS") and "OPTIONS" in expected:
        return "Write OPTIONS: JOB OPTIONS is for streaming tables and materialized views."
    if word == "OPTIONS" and "JOB" in expected:
        return "Write JOB OPTIONS ('option' = 'value')."
    if word == "IF" and following in ("EXISTS", "NOT"):
        return f"IF {'NOT EXISTS' if following == 'NOT' else following} comes before the name."
    if word in ("INSERT", "SINK", "AUTO") and "AS" in expected and found[at - 1].word != "AS":
        return "AS is missing before the body."
    if word == "REPLACE" and found[at - 1].word == "OR":
        return "Write CREATE OR REPLACE."
    if word == "UNTIL" and "JOB" not in expected and "FOR" not in expected:
        return "UNTIL comes before TIMEOUT."
    if word == "WHERE" and verbs[0] == "SHOW" and "JOBS" in verbs:
        return "Write SELECT * FROM jetsql.jobs WHERE ..."
    if following == "HISTORY" and "HISTORY" in expected:
        return "HISTORY comes before the name."
    if word == "SAVEPOINT" or (verbs[:2] == ["STOP", "JOB"] and "SAVEPOINT" in (token.word for token in found)):
        return "Write DROP JOB name WITH SNAPSHOT snapshot, or SUSPEND JOB name."
    hints = (hint for terminal, words, hint in _WRONG_WORDS if terminal in expected and word in words)
    return next(hints, "")


def _syntax(found: Sequence[Token]) -> str:
    """Return the hint with the syntax of the statement; '' if its words do not say which it is."""
    words = [token.word for token in found]
    rules = [rule] if (rule := statement_rule(words)) else rules_of_verb(words[0])
    return f"The syntax is {' or '.join(map(syntax_text, rules))}." if len(rules) <= _SHOWN_RULES else ""


def missing_semicolon_hint(text: str, offset: int, is_complete: Callable[[str], bool]) -> str:
    """Return the hint at a semicolon that is missing between two statements; empty if none is missing.

    A parser without it reads on, and reports the first word of the second statement, or the word after it: `SELECT 1
    SHOW` names a column.

    offset: where the parser failed. is_complete: returns whether a text is a whole statement.
    """
    found = list(tokens(text))
    at = next((index for index, token in enumerate(found) if token.start == offset), None)
    if at is None:
        return ""
    begins = (index for index in (at, at - 1) if begins_statement(text, found, index))
    token = next((found[index] for index in begins if is_complete(text[: found[index].start])), None)
    return "" if token is None else add_semicolon(token)


def begins_statement(text: str, found: Sequence[Token], index: int) -> bool:
    """Return whether the token can begin another statement. found: the tokens of the text."""
    if index < 1 or found[index].word not in STATEMENT_VERBS:
        return False
    return found[index].word not in _CLAUSES or "\n" in text[found[index - 1].stop : found[index].start]


def add_semicolon(token: Token) -> str:
    """Return the hint for a token that begins another statement."""
    return f"A semicolon is missing before {token.word}, which begins another statement."


def unclosed(token: Token) -> StatementError:
    """Return the error of a quote or comment without end, with the span of its opening."""
    construct = "string"
    if token.text.startswith("/*"):
        construct, sign = "comment", "*/"
    elif token.text.startswith("`"):
        construct, sign = "name", "`"
    elif token.text.startswith("$"):
        sign = token.text[: token.text.index("$", 1) + 1]
    else:
        sign = token.text[1] if token.text[0] in "rR" else token.text[0]
    place = Span(token.start, token.start + 1)
    message = f"The {construct} that begins here is not closed."
    return StatementError("PARSE_SYNTAX_ERROR", message, place=place, hint=f"Close it with {sign}")


def second_statement(token: Token) -> StatementError:
    """Return the error of a text that continues after the semicolon. token: the first one after it."""
    return StatementError(
        "PARSE_SYNTAX_ERROR",
        f"Expected the end of the text after the semicolon, found {shown(token.text)}.",
        place=token.place,
        hint="Run one statement at a time, or the whole text as a script.",
    )


def listed(terminals: Iterable[str]) -> str:
    """Return the terminals as a phrase for a message: keywords first, then descriptions of values, then signs."""
    names = set(terminals)
    keywords = sorted(name for name in names if name not in SLOTS and name not in MARKS and name != END)
    slots = [
        slot.value for name, slot in SLOTS.items() if name in names and not (name == "JOB_ID" and "JOB_NAME" in names)
    ]
    marks = [f"'{mark}'" for name, mark in MARKS.items() if name in names and name != "SEMICOLON"]
    end = ["the end of the statement"] if END in names else []
    phrases = keywords + slots + marks + end
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def shown(text: str) -> str:
    """Return the text of a token for a message: in quotes, and shortened to 40 characters."""
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[:_SHOWN]}...'"


def found_at(found: Sequence[Token], index: int) -> str:
    """Return the phrase that names the token at an index in a message, also after the last one."""
    return f"found {shown(found[index].text)}" if index < len(found) else "found the end of the statement"


def place_at(found: Sequence[Token], index: int) -> Span:
    """Return the span of the token at an index; after the last one, an empty span at the end."""
    return found[index].place if index < len(found) else Span(found[-1].stop, found[-1].stop)


def _unexpected(expected: frozenset[str], found: str, place: Span, hint: str, correction: str = "") -> StatementError:
    if BODY in expected:
        return StatementError(
            "UNSUPPORTED_BODY",
            f"A job needs a body after AS, {found}.",
            place=place,
            hint="Write AS INSERT INTO table SELECT ...",
        )
    message = f"Expected {listed(expected)}, {found}."
    return StatementError("PARSE_SYNTAX_ERROR", message, place=place, hint=hint, correction=correction)


def _meant(token: Token, expected: frozenset[str]) -> str:
    """Return the keywords that were probably meant, or ''."""
    keywords = [name for name in expected if name not in SLOTS and name not in MARKS and name != END]
    synonym = SYNONYMS.get(token.word, "")
    if synonym.split(" ")[0] in keywords:
        return synonym
    close = get_close_matches(token.word, sorted(keywords))
    return close[0] if close else ""


def _quote_it(found: Sequence[Token], at: int, expected: frozenset[str]) -> str:
    """Return the hint to quote a bare word where a string literal is expected: an option, a pattern or a comment."""
    wants_text = expected & {"OPTION_KEY", "OPTION_VALUE", "PATTERN_TEXT", "COMMENT_TEXT"}
    if not wants_text or found[at].text in _SEPARATORS:
        return ""
    if found[at].text in ("?", ":"):
        return "Clients such as the DB-API send the values of parameters. In scripts, write '${name}' for a variable."
    written = "".join(token.text for token in _run(found, at))
    return f"Write it in quotes: '{written}'." if "'" not in written else ""


def _taken_as_name(error: UnexpectedToken, expected: frozenset[str]) -> str:
    """Return the hint at a missing name: the parser then takes the keyword after it as the name."""
    last = _last_name(error)
    if last and last.upper() in expected:
        return f"{last} was taken as the name. Is the name before it missing?"
    return ""


def _last_name(error: UnexpectedToken) -> str:
    """Return the name that the parser read last, as written, or '' if it read something other than a name last."""
    from lark import Token as LarkToken
    from lark import Tree

    stack = error.state.value_stack
    last: Any = stack[-1] if stack else None
    while isinstance(last, Tree) and last.children:
        last = last.children[-1]
    return str(last) if isinstance(last, LarkToken) and last.type in NAMES else ""


def _misnamed(
    found: Sequence[Token], at: int, error: UnexpectedToken, expected: frozenset[str]
) -> StatementError | None:
    """Return the error of a name that is not a single word (`my-job`, `a.b`, `2024`) or is a string, otherwise None."""
    token = found[at]
    glued = at > 0 and found[at - 1].stop == token.start and bool(_last_name(error))
    wanted = bool(expected & NAMES) and token.kind is not Kind.OPEN
    if token.text in _SEPARATORS or not (glued or wanted):
        return None
    run = _run(found, at - 1 if glued else at)
    place = Span(run[0].start, run[-1].stop)
    written = "".join(part.text for part in run)
    is_dotted = len(run) > 2 and all(part.text == "." for part in run[1::2])
    string = next((part for part in run if part.kind is Kind.STRING), None)
    if string is not None and (is_dotted or not glued):
        message = f"A name is written without quotes or in back quotes, found {shown(string.text)}."
        return _invalid_name(message, string.place, unquote(string.text))
    if is_dotted:
        message = f"Jobs and snapshots belong to no schema, so their names have one part; found {shown(written)}."
        # The job of a streaming table is named as its table, with the schema.
        parts = (part.text.strip("`") if _QUOTED_WORD.fullmatch(part.text) else part.text for part in run[::2])
        return _invalid_name(message, place, ".".join(parts))
    return _invalid_name(f"{shown(written)} is not a single word.", place, written)


def _invalid_name(message: str, place: Span, name: str) -> StatementError:
    quoted = quoted_name(name)
    return StatementError("INVALID_NAME", message, place=place, hint=f"Write {quoted}.", correction=quoted)


def _run(found: Sequence[Token], at: int) -> list[Token]:
    """Return the tokens from the index `at` on that follow each other without spaces."""
    run = [found[at]]
    for token in found[at + 1 :]:
        if token.start != run[-1].stop or token.text in _SEPARATORS:
            break
        run.append(token)
    return run
