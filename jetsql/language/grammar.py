"""Lark's LALR parser for `grammar/jetsql.lark`, with a lexer that uses the tokens of this package.

JetSQL reserves no word, so the lexer depends on the state of the parser: a word is a keyword only where the parser
accepts this keyword. Where the parser accepts a name as well (`DROP JOB IF EXISTS if`), the word is a name if the next
token can follow a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jetsql.language import tokens as lexis
from jetsql.language.tokens import Kind

if TYPE_CHECKING:  # Lark is slow to import, and a session without job statements does not need it
    from lark import Lark, Token

GRAMMAR_FILE: Final = "jetsql.lark"
BODY: Final = "BODY"
TABLE_CLAUSES: Final = "TABLE_CLAUSES"
# These terminals are Spark's SQL: they include the rest of the text.
TEST_QUERY: Final = "TEST_QUERY"
_TEST_RESTS: Final = (TEST_QUERY, "TEST_VALUE", "TEST_STATEMENT")
RESTS: Final = frozenset({BODY, TABLE_CLAUSES, *_TEST_RESTS})
END: Final = "$END"


class Slot(Enum):
    """A value that the user fills in, named as its terminal, with its description in messages."""

    NEW_JOB = "a name for the job"
    JOB_NAME = "a job's name"
    JOB_ID = "a job's id in quotes"
    NEW_SNAPSHOT = "a name for the snapshot"
    SNAPSHOT_NAME = "a snapshot's name"
    COMMENT_TEXT = "a text in quotes"
    OPTION_KEY = "an option's name in quotes"
    OPTION_VALUE = "the option's value in quotes"
    PATTERN_TEXT = "a pattern in quotes"
    WHOLE_NUMBER = "a whole number"
    TABLE_NAME = "a table's name"
    TABLE_CLAUSES = "AS SELECT"
    BODY = "INSERT INTO, INSERT OVERWRITE, SINK INTO, AUTO CDC INTO, CREATE TABLE or WITH"
    NEW_FUNCTION = "a name for the function"
    COLUMN_NAME = "a name"
    DATA_TYPE = "a data type"
    DEFAULT_VALUE = "an expression"
    HANDLER_NAME = "the name of a Python function or class in quotes"
    SOURCE = "Python source between $$ and $$"
    NEW_USER = "a name for the user"
    USER_NAME = "a user's name"
    NEW_ROLE = "a name for the role"
    ROLE_NAME = "a role's name"
    GRANTEE_NAME = "the name of a user or a role"
    LIMIT_NAME = "a limit's name"
    TOKEN_ID = "a token's id in quotes"
    CATALOG_NAME = "a catalog's name"
    OBJECT_NAME = "the name of a secret or a connection"
    LOCATION_URL = "a URL in quotes"
    NEW_SECRET = "a name for the secret"
    NEW_CONNECTION = "a name for the connection"
    VARIABLE_NAME = "the name of an environment variable in quotes"
    HOST_URL = "a URL of a host in quotes"
    NEW_ALERT = "a name for the alert"
    ALERT_NAME = "an alert's name"
    STATUS_NAME = "a status of a job"
    RULE_NAME = "a rule's name"
    CALL_URL = "a URL or 'secret:NAME' in quotes"
    COMMAND_NAME = "a command's name"
    FILE_NAME = "a file's name in quotes"
    NEW_TEST = "a name for the test"
    CONDITION_TEXT = "the condition of an error in quotes"
    NEW_EXPECTATION = "a name for the rule"
    CONDITION = "a condition"
    VIOLATIONS_TABLE = "a name for the table of the rows"
    START_VALUE = "a literal"
    TEST_QUERY = "SELECT, VALUES, TABLE or WITH"
    TEST_VALUE = "an expression of Spark"
    TEST_STATEMENT = "a statement"


SLOTS: Final = {slot.name: slot for slot in Slot}
MARKS: Final = {"SEMICOLON": ";", "LPAR": "(", "RPAR": ")", "COMMA": ",", "EQUAL": "=", "DOT": ".", "GREATER": ">"}
NAMES: Final = frozenset(
    {"NEW_JOB", "JOB_NAME", "NEW_SNAPSHOT", "SNAPSHOT_NAME", "TABLE_NAME", "NEW_FUNCTION", "COLUMN_NAME", "NEW_TEST"}
    | {"NEW_USER", "USER_NAME", "NEW_ROLE", "ROLE_NAME", "GRANTEE_NAME", "CATALOG_NAME", "OBJECT_NAME"}
    | {"NEW_SECRET", "NEW_CONNECTION", "LIMIT_NAME", "NEW_EXPECTATION", "VIOLATIONS_TABLE"}
    | {"NEW_ALERT", "ALERT_NAME", "STATUS_NAME", "RULE_NAME", "COMMAND_NAME"}
)
STRINGS: Final = frozenset(
    {"JOB_ID", "COMMENT_TEXT", "OPTION_KEY", "OPTION_VALUE", "PATTERN_TEXT", "HANDLER_NAME", "SOURCE"}
    | {"FILE_NAME", "CONDITION_TEXT", "TOKEN_ID", "LOCATION_URL", "VARIABLE_NAME", "HOST_URL", "CALL_URL"}
)
# Slots that can have several tokens, which become one token of the grammar.
# The words that end them, with their brackets. A type can have further words, such as DAY TO SECOND.
_RUNS: Final = {
    "DATA_TYPE": (frozenset("AS COMMENT DEFAULT DETERMINISTIC HANDLER LANGUAGE NOT PARAMETER".split()), "(<", ")>"),
    "DEFAULT_VALUE": (frozenset({"COMMENT"}), "([", ")]"),
    "CONDITION": (frozenset(), "([", ")]"),
    "START_VALUE": (frozenset(), "([", ")]"),
}
_MARK_TERMINALS: Final = {mark: terminal for terminal, mark in MARKS.items()} | {"==": "EQUAL"}
# The words that are never names where the grammar takes both: GRANT takes rights and roles, an alert a job and ALL.
_NEVER_NAMES: Final = {
    "ROLE_NAME": frozenset("ADMIN CREATE FUNCTION INSERT MODIFY MONITOR OPERATE SELECT USAGE".split()),
    "JOB_NAME": frozenset({"ALL"}),
}
# No terminal of the grammar has this name, so the parser reports an error at the token.
_STRAY: Final = "STRAY"


def grammar_text(file: str = GRAMMAR_FILE) -> str:
    """Return the text of a file of `grammar`: from the installed package, or from the folder of a checkout."""
    from importlib import resources  # slow to import, and used only once

    try:
        return resources.files("jetsql.grammar").joinpath(file).read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        folder = Path(__file__).resolve().parents[2] / "grammar"
        return (folder / file).read_text(encoding="utf-8")


@cache
def parser() -> Lark:
    """Return the parser. It is built at the first call, in about 30 ms."""
    from lark import Lark, Token
    from lark.lexer import Lexer

    class JobLexer(Lexer):
        """A lexer for Lark that returns the tokens of `jetsql.language.tokens`."""

        __future_interface__ = 2

        def __init__(self, conf: object) -> None:
            """Accept and ignore Lark's configuration of its own lexers."""

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
            text = lexer_state.text.text
            found = list(lexis.tokens(text))
            index = 0
            while index < len(found):
                terminal, token = _terminal(found, index, parser_state), found[index]
                index = _next_index(found, index, terminal)
                stop = len(text) if terminal in RESTS else found[index - 1].stop
                yield Token(terminal, text[token.start : stop], start_pos=token.start, end_pos=stop)

    return Lark(grammar_text(), parser="lalr", lexer=JobLexer, maybe_placeholders=False)


def acceptable(state: Any) -> frozenset[str]:
    """Return the terminals that the parser accepts next.

    Each terminal of the parse table is tried, because the table also lists terminals that a later reduction refuses.
    """
    from lark import Token, UnexpectedToken

    accepted = set()
    for terminal in _accepted(state):
        if not terminal[0].isupper() and terminal != END:
            continue  # a rule, not a terminal
        trial = state.copy()
        try:
            trial.feed_token(Token(terminal, ""), is_end=terminal == END)
        except UnexpectedToken:
            continue
        accepted.add(terminal)
    return frozenset(accepted)


@dataclass(frozen=True)
class Ahead:
    """The terminals that can follow a sequence of tokens."""

    terminals: frozenset[str] = frozenset()
    body: int | None = None  # the index of the first token of Spark's SQL (`RESTS`), or None without it


def ahead_of(found: Sequence[lexis.Token]) -> Ahead:
    """Return the terminals that can follow these tokens: none if they begin no statement or include a job's body.

    If the last word can be a keyword and a name (`DROP JOB IF`), the terminals after either are returned.
    """
    from lark import Token, UnexpectedToken

    state: Any = parser().parse_interactive().parser_state
    expected: frozenset[str] = frozenset()
    following = 0
    while following < len(found):
        index, token = following, found[following]
        terminal = _terminal(found, index, state)
        following = _next_index(found, index, terminal)
        if index == len(found) - 1 and terminal in NAMES and token.word in acceptable(state):
            trial = state.copy()
            trial.feed_token(Token(token.word, token.text))
            expected = acceptable(trial)
        try:
            state.feed_token(Token(terminal, token.text))
        except UnexpectedToken:
            return Ahead()
        if terminal in RESTS:
            return Ahead(body=index)
    return Ahead(expected | acceptable(state))


def _terminal(found: Sequence[lexis.Token], index: int, state: Any) -> str:
    """Return the terminal of the token at `index` in this state of the parser."""
    token, accepted = found[index], _accepted(state)
    if BODY in accepted and token.text != ";":
        return BODY
    rest = next((each for each in _TEST_RESTS if each in accepted), "")
    if rest and token.text != ";":
        return rest
    if not _continues_table(found, index) and TABLE_CLAUSES in accepted and TABLE_CLAUSES in acceptable(state):
        return TABLE_CLAUSES
    name = _acceptable_one(NAMES & accepted, state)
    keyword = token.word in accepted and token.word not in SLOTS and token.word not in MARKS
    if keyword and token.word in _NEVER_NAMES.get(name, ()):
        return token.word
    if keyword and name:
        following = found[index + 1] if index + 1 < len(found) else None
        return name if _fits(following, _after(state, name)) else token.word
    if keyword:
        return token.word
    if name and token.kind in (Kind.WORD, Kind.QUOTED):
        return name
    run = next((run for run in _RUNS if run in accepted), "")
    if run and _begins_run(run, token):
        return run
    if token.kind is Kind.STRING:
        return _acceptable_one(STRINGS & accepted, state) or _STRAY
    if token.kind is Kind.NUMBER and token.text.isdecimal() and "WHOLE_NUMBER" in accepted:
        return "WHOLE_NUMBER"
    return _MARK_TERMINALS.get(token.text, _STRAY)


def _continues_table(found: Sequence[lexis.Token], index: int) -> bool:
    """Return whether the token after a table's name belongs to it or to a clause of JetSQL, or ends the statement."""
    following = found[index + 1].word if index + 1 < len(found) else "OPTIONS"
    return (
        found[index].text in (".", ";")
        or (found[index].word == "JOB" and following == "OPTIONS")
        or (found[index].text == "(" and following == "CONSTRAINT")
        or (
            found[index].text == "("
            and index > 1
            and found[index - 1].word.endswith("FROM_NOW")
            and found[index - 2].text == "="
        )
        or (found[index].word == "START_MODE" and (index + 1 == len(found) or found[index + 1].text in ("=", "==")))
    )


def _begins_run(terminal: str, token: lexis.Token) -> bool:
    if terminal == "DATA_TYPE":
        return token.kind in (Kind.WORD, Kind.QUOTED)
    return token.text not in (",", ")", ";") and token.kind is not Kind.OPEN


def _next_index(found: Sequence[lexis.Token], index: int, terminal: str) -> int:
    """Return the index after the tokens of a terminal that begins at `index`."""
    if terminal in RESTS:
        return len(found)
    if terminal == "NEW_FUNCTION":
        return _after_qualified_name(found, index)
    return _after_run(found, index, terminal) if terminal in _RUNS else index + 1


def _after_qualified_name(found: Sequence[lexis.Token], index: int) -> int:
    while index + 2 < len(found) and found[index + 1].text == "." and found[index + 2].kind in (Kind.WORD, Kind.QUOTED):
        index += 2
    return index + 1


def _after_run(found: Sequence[lexis.Token], index: int, terminal: str) -> int:
    """Return the index of the first token outside of brackets that cannot belong to the type or expression."""
    ends, opening, closing = _RUNS[terminal]
    depth = 0
    for at in range(index, len(found)):
        token = found[at]
        outside = token.text in (",", ")", ";") or (at > index and token.word in ends)
        if token.kind is Kind.OPEN or (depth <= 0 and outside):
            return at
        if token.kind is Kind.SYMBOL:
            depth += (token.text in opening) - (token.text in closing)
    return len(found)


def _acceptable_one(terminals: frozenset[str], state: Any) -> str:
    """Return the terminal among these that the parser accepts, or '' if it accepts none."""
    if len(terminals) > 1:
        terminals &= acceptable(state)
    return min(terminals, default="")


def _fits(token: lexis.Token | None, accepted: frozenset[str]) -> bool:
    if token is None:
        return END in accepted
    return token.word in accepted or _MARK_TERMINALS.get(token.text) in accepted


def _accepted(state: Any) -> frozenset[str]:
    return frozenset(state.parse_conf.parse_table.states[state.position])


def _after(state: Any, name: str) -> frozenset[str]:
    """Return the terminals in the parse table after a name."""
    from lark import Token

    trial = state.copy()
    trial.feed_token(Token(name, ""))
    return _accepted(trial)
