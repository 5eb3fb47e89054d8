"""The grammar of `grammar/jetsql.lark`, built once: Lark's LALR parser over our own tokens.

The lexer is contextual by hand, because no word may be reserved: it asks the parser's state what would be accepted and
calls a word a keyword only there. Where a name fits too (`DROP JOB IF EXISTS if`), it takes the word as a name exactly
if what follows could come behind a name.
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

if TYPE_CHECKING:  # importing it costs as much as everything else here; a session without job statements never pays
    from lark import Lark, Token

GRAMMAR_FILE: Final = "jetsql.lark"
BODY: Final = "BODY"
END: Final = "$END"


class Slot(Enum):
    """What a user fills in, named as its terminal; the value is what people call it."""

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
    BODY = "INSERT INTO, INSERT OVERWRITE, SINK INTO or WITH"


SLOTS: Final = {slot.name: slot for slot in Slot}
MARKS: Final = {"SEMICOLON": ";", "LPAR": "(", "RPAR": ")", "COMMA": ",", "EQUAL": "="}
NAMES: Final = frozenset({"NEW_JOB", "JOB_NAME", "NEW_SNAPSHOT", "SNAPSHOT_NAME"})
STRINGS: Final = frozenset({"JOB_ID", "COMMENT_TEXT", "OPTION_KEY", "OPTION_VALUE", "PATTERN_TEXT"})
_MARK_TERMINALS: Final = {mark: terminal for terminal, mark in MARKS.items()} | {"==": "EQUAL"}
# No terminal of the grammar has this name: the parser stops at such a token.
_STRAY: Final = "STRAY"


def grammar_text() -> str:
    """The grammar file's text, from an installed package or from the folder beside it in a checkout."""
    from importlib import resources  # dear to import, and wanted once

    try:
        return resources.files("jetsql.grammar").joinpath(GRAMMAR_FILE).read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        folder = Path(__file__).resolve().parents[2] / "grammar"
        return (folder / GRAMMAR_FILE).read_text(encoding="utf-8")


@cache
def parser() -> Lark:
    """Return the parser, built at the first use (some 30 ms)."""
    from lark import Lark, Token
    from lark.lexer import Lexer

    class JobLexer(Lexer):
        """Lark's interface to the tokens of this module."""

        __future_interface__ = 2

        def __init__(self, conf: object) -> None:
            """Lark's configuration of its own lexers: not needed."""

        def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Token]:
            text = lexer_state.text.text
            found = list(lexis.tokens(text))
            for index, token in enumerate(found):
                terminal = _terminal(found, index, parser_state)
                stop = len(text) if terminal == BODY else token.stop
                yield Token(terminal, text[token.start : stop], start_pos=token.start, end_pos=stop)
                if terminal == BODY:
                    return

    return Lark(grammar_text(), parser="lalr", lexer=JobLexer, maybe_placeholders=False)


def acceptable(state: Any) -> frozenset[str]:
    """Return the terminals that the parser truly takes next; its table alone lists some that a later step refuses."""
    from lark import Token, UnexpectedToken

    taken = set()
    for terminal in _accepted(state):
        if not terminal[0].isupper() and terminal != END:
            continue  # a rule, not a terminal
        trial = state.copy()
        try:
            trial.feed_token(Token(terminal, ""), is_end=terminal == END)
        except UnexpectedToken:
            continue
        taken.add(terminal)
    return frozenset(taken)


@dataclass(frozen=True)
class Ahead:
    """The terminals that can follow some tokens. body: the index of the token that begins a job's body, if one does."""

    terminals: frozenset[str] = frozenset()
    body: int | None = None


def ahead_of(found: Sequence[lexis.Token]) -> Ahead:
    """What can follow these tokens; no terminal when they are no beginning of a statement, or reach its body.

    A last word that is both a keyword and a name (`DROP JOB IF`) counts as both.
    """
    from lark import Token, UnexpectedToken

    state: Any = parser().parse_interactive().parser_state
    expected: frozenset[str] = frozenset()
    for index, token in enumerate(found):
        terminal = _terminal(found, index, state)
        if index == len(found) - 1 and terminal in NAMES and token.word in acceptable(state):
            trial = state.copy()
            trial.feed_token(Token(token.word, token.text))
            expected = acceptable(trial)
        try:
            state.feed_token(Token(terminal, token.text))
        except UnexpectedToken:
            return Ahead()
        if terminal == BODY:
            return Ahead(body=index)
    return Ahead(expected | acceptable(state))


def _terminal(found: Sequence[lexis.Token], index: int, state: Any) -> str:
    """Return the terminal that a token stands for in the parser's `state`."""
    token, accepted = found[index], _accepted(state)
    if BODY in accepted and token.text != ";":
        return BODY
    name = _one(NAMES & accepted, state)
    keyword = token.word in accepted and token.word not in SLOTS and token.word not in MARKS
    if keyword and name:
        following = found[index + 1] if index + 1 < len(found) else None
        return name if _fits(following, _after(state, name)) else token.word
    if keyword:
        return token.word
    if name and token.kind in (Kind.WORD, Kind.QUOTED):
        return name
    if token.kind is Kind.STRING:
        return _one(STRINGS & accepted, state) or _STRAY
    if token.kind is Kind.NUMBER and token.text.isdecimal() and "WHOLE_NUMBER" in accepted:
        return "WHOLE_NUMBER"
    return _MARK_TERMINALS.get(token.text, _STRAY) if token.kind is Kind.SYMBOL else _STRAY


def _one(terminals: frozenset[str], state: Any) -> str:
    """Return the one of these terminals that is truly acceptable, '' without any: tables of an LALR parser list too
    many."""
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
    """What the parser accepts behind a name, tried on a copy of its state."""
    from lark import Token

    trial = state.copy()
    trial.feed_token(Token(name, ""))
    return _accepted(trial)
