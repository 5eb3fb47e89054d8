"""Decide from the first few tokens whether a statement is JetSQL's. Spark receives every other statement unchanged.

A misspelled statement (`SUSPEND JOBS x`, `RESUM JOB x`) is JetSQL's, so that its error names the expected words. A
statement that Spark itself accepts is never JetSQL's: a table called `job` can be described, dropped and queried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from typing import Final

from jetsql.language.statement_head import CONTROL_VERBS, TABLES_WITH_JOB, after_explain, name_at, read_head
from jetsql.language.tokens import Token, verb_after_with

# The number of tokens that decide: ALTER TABLE catalog.schema.table OWNER. A longer name needs more.
_LEAD_TOKENS: Final = 8

_VERBS: Final = ("CREATE", "ALTER", "DROP", *CONTROL_VERBS, "SHOW", "DESCRIBE", "DESC", "EXPLAIN")
_SINK: Final = "SINK"
# The verbs of test files. START TEST has a verb of Spark.
_TEST_VERBS: Final = ("RUN", "ADVANCE", "EXPECT")
# The objects of JetSQL's statements with Spark's verbs.
_OBJECTS: Final = ("JOB", "SNAPSHOT")
_SHOWN: Final = (*_OBJECTS, "MEMBER", "ENGINE")
# Users and rights: the verbs, and the objects of CREATE, ALTER and DROP, and of SHOW. SHOW USER FUNCTIONS is Spark's.
_RIGHTS_VERBS: Final = ("GRANT", "REVOKE", "REASSIGN")
_ACCOUNTS: Final = ("USER", "ROLE", "TOKEN")
# A misspelled CONNECTION can be FUNCTION, and ALERT is similar to ALTER, so these are read only as they are.
_EXACT_OBJECTS: Final = ("SECRET", "SECRETS", "CONNECTION", "CONNECTIONS", "ALERT", "ALERTS")
_SHOWN_ACCOUNTS: Final = ("USERS", "ROLES", "TOKENS", "GRANTS", "SECRETS", "CONNECTIONS", "ALERTS")
# The first words of Spark's own statements: they are never read as misspelled verbs of JetSQL (RESET job, TABLE job).
_SPARK_VERBS: Final = frozenset(
    "ADD ANALYZE BEGIN CACHE CALL CLEAR CLOSE COMMENT COMMIT DECLARE DELETE DFS EXECUTE EXPORT FETCH FROM GRANT IMPORT"
    " INSERT LIST LOAD LOCK MAP MERGE MSCK OPEN REDUCE REFRESH REPAIR REPLACE RESET REVOKE ROLLBACK SELECT SET START"
    " TABLE TRUNCATE UNCACHE UNLOCK UPDATE USE VALUES WITH".split()
)
STATEMENT_VERBS: Final = frozenset(_VERBS) | _SPARK_VERBS | frozenset(_TEST_VERBS)
"""The first words of statements, JetSQL's and Spark's."""

# Verbs of other systems, for hints. Spark has no statements with these verbs and JetSQL's objects.
SYNONYMS: Final = {
    "PAUSE": "SUSPEND",
    "STOP": "SUSPEND",
    "START": "RESUME",
    "UNPAUSE": "RESUME",
    "CONTINUE": "RESUME",
    "CANCEL": "DROP",
    "KILL": "DROP",
    "DELETE": "DROP",
    "REMOVE": "DROP",
    "REPLACE": "CREATE OR REPLACE",
    "SUBMIT": "CREATE",
    "AWAIT": "WAIT",
}

# A comment ends at its first */ unless a nested one begins before that.
_COMMENT: Final = r"(?>/\*(?!\+).*?(?:\*/|/\*))"
_GAP: Final = rf"(?:\s|--[^\r\n]*+(?:(?<=\\)\n[^\r\n]*+)*+|{_COMMENT}(?<=\*/))*+"
_JETSQL_WORD: Final = rf"(?:(?:{_SINK}|(?:{'|'.join(_SHOWN)})S?|{'|'.join(TABLES_WITH_JOB)})\b|{_COMMENT}(?<=/\*))"
_BLOCK: Final = rf"(?:(?:\w++|`[^`]*+`){_GAP}:{_GAP})?BEGIN\b"
_EXPLAIN: Final = rf"EXPLAIN\b{_GAP}(?:(?!WITH\b)\w++{_GAP})?"
_SINK_AFTER_WITH: Final = rf"(?:{_EXPLAIN})?WITH\b.*?\b{_SINK}\b"
_LONE_CDC: Final = rf"(?:{_EXPLAIN})?AUTO\b{_GAP}CDC\b"
_OF_TEST: Final = rf"(?:{'|'.join(_TEST_VERBS)})\b|START\b{_GAP}TEST\b"
_OF_RIGHTS: Final = (
    rf"(?:{'|'.join(_RIGHTS_VERBS)})\b|(?:CREATE|ALTER|DROP|DESC|DESCRIBE)\b{_GAP}(?:OR\b{_GAP}REPLACE\b{_GAP})?"
    rf"(?:(?:{'|'.join(_ACCOUNTS)})S?|{'|'.join(_EXACT_OBJECTS)})\b"
    rf"|SHOW\b{_GAP}(?:{'|'.join(_SHOWN_ACCOUNTS)}|CREATE\b{_GAP}ALERTS?)\b|ALTER\b{_GAP}(?:TABLE|VIEW)\b.*?\bOWNER\b"
)
_LEAD: Final = rf"(?:{_BLOCK}.*?|(?:(?:\w++|\W){_GAP}){{0,{_LEAD_TOKENS - 1}}}?){_JETSQL_WORD}"
_REPLACE: Final = rf"(?:OR\b{_GAP}REPLACE\b{_GAP})?(?:TEMP(?:ORARY)?\b{_GAP})?"
_PYTHON_FUNCTION: Final = rf"CREATE\b{_GAP}{_REPLACE}FUNCTION\b.*?(?:\bLANGUAGE\b|\$)"
STATEMENT_FILTER: Final = (
    rf"(?is){_GAP}(?:{_LEAD}|{_SINK_AFTER_WITH}|{_LONE_CDC}|{_PYTHON_FUNCTION}|{_OF_RIGHTS}|{_OF_TEST})"
)
"""A regular expression of Java that matches at the beginning of every statement of JetSQL.

It saves Spark's own statements the call from Java to Python. It matches if a word of JetSQL is among the first
tokens or anywhere in a block, if SINK is anywhere after WITH, if AUTO CDC, a verb of test files or one of rights comes
first, if LANGUAGE or `$` is anywhere after CREATE FUNCTION, or if a nested comment comes first. A statement whose only
word of JetSQL is misspelled does not match: it is parsed here after Spark has refused it.
"""
# Java's atomic groups need a stack for long texts, and Python 3.11.2 goes wrong after possessive repetitions that fail.
_GAP_OF_PYTHON: Final = rf"(?>(?:\s|--[^\r\n]*(?:(?<=\\)\n[^\r\n]*)*|{_COMMENT}(?<=\*/))*)"
_FILTER_OF_PYTHON: Final = re.compile(STATEMENT_FILTER.replace(_GAP, _GAP_OF_PYTHON))


def can_be_jetsql(text: str) -> bool:
    """Return whether a text can be a statement of JetSQL, as STATEMENT_FILTER decides in Java."""
    return _FILTER_OF_PYTHON.match(text) is not None


def lead_of(found: Iterable[Token]) -> list[Token]:
    """Return the first tokens of a statement: those that decide whose it is.

    found: the tokens of the statement without comments. An iterator is read no further than this.
    """
    rest = iter(found)
    lead = list(islice(rest, _LEAD_TOKENS))
    if _has_altered_table(lead):
        # The parts of the name have even indices, and the dots odd ones.
        while len(lead) % 2 or lead[-1].text == ".":
            token = next(rest, None)
            if token is None:
                break
            lead.append(token)
    return lead


def is_jetsql(lead: Sequence[Token]) -> bool:
    """Return whether a statement is JetSQL's. lead: its first tokens, from `lead_of`"""
    if not lead:
        return False
    verb, second = lead[0].word, _word(lead, 1)
    if verb in CONTROL_VERBS or verb in _TEST_VERBS or (verb == "START" and second == "TEST"):
        return True
    if verb in _RIGHTS_VERBS or _is_table_with_job(lead, verb, second) or _changes_owner(lead):
        return True
    if verb in ("CREATE", "ALTER", "DROP"):
        object_at = 3 if verb == "CREATE" and second == "OR" and _word(lead, 2) == "REPLACE" else 1
        kind = _word(lead, object_at)
        return kind in _EXACT_OBJECTS or _is_similar(kind, *_OBJECTS, *_ACCOUNTS)
    if verb == "SHOW":
        return _is_jetsql_show(lead, second)
    if verb in ("DESCRIBE", "DESC"):
        return second in ("JOB", "CONNECTION") and not _describes_table(lead[2:])
    if verb == "EXPLAIN":
        return is_jetsql(after_explain(lead))
    if verb == _SINK:
        return second == "INTO"
    is_object = second in ("JOB", "JOBS", "SNAPSHOT", "SNAPSHOTS")
    return is_object and (verb in SYNONYMS or _is_misspelled_verb(verb)) and len(lead) > 2


def _is_table_with_job(lead: Sequence[Token], verb: str, second: str) -> bool:
    """Return whether a statement names a streaming table or a materialized view, also of a misspelled object."""
    at = 1
    if verb == "CREATE" and second == "OR":
        at = 3
    elif verb == "SHOW" and second == "CREATE":
        at = 2
    elif verb not in ("CREATE", "DROP", "ALTER", "REFRESH", "SHOW"):
        return False
    wanted = TABLES_WITH_JOB.get(_word(lead, at))
    return wanted is not None and _is_similar(_word(lead, at + 1), wanted)


def _has_altered_table(lead: Sequence[Token]) -> bool:
    return _word(lead, 0) == "ALTER" and _word(lead, 1) in ("TABLE", "VIEW")


def _changes_owner(lead: Sequence[Token]) -> bool:
    """Return whether a statement is ALTER TABLE or ALTER VIEW with OWNER after the name."""
    if not _has_altered_table(lead):
        return False
    name = name_at(lead, 2)
    return name is not None and _word(lead, name[1]) == "OWNER"


def begins_with_clause(lead: Sequence[Token]) -> bool:
    """Return whether a statement begins with a WITH clause, also after EXPLAIN: `lone_verb` needs all its tokens."""
    return _word(after_explain(lead), 0) == "WITH"


def lone_verb(found: Sequence[Token]) -> Token | None:
    """Return the first word of SINK INTO or AUTO CDC, if it is the verb of a statement; it belongs into CREATE JOB."""
    found = after_explain(found)
    at = verb_after_with(found) if begins_with_clause(found) else 0
    if at is None:
        return None
    return found[at] if (_word(found, at), _word(found, at + 1)) in ((_SINK, "INTO"), ("AUTO", "CDC")) else None


def creates_function(lead: Sequence[Token]) -> bool:
    """Return whether a statement creates a function: `is_python_function` needs all its tokens."""
    head = read_head(lead)
    return head.verb == "CREATE" and head.kind == "FUNCTION"


def is_python_function(found: Sequence[Token]) -> bool:
    """Return whether a CREATE FUNCTION is JetSQL's: its LANGUAGE is not SQL, or its body is in `$$`.

    Spark has functions with LANGUAGE SQL and of Java classes.
    """
    depth = 0
    for index, token in enumerate(found):
        depth += (token.text == "(") - (token.text == ")")
        if token.word == "LANGUAGE" and (depth == 0 or _word(found, index + 1) == "PYTHON"):
            return _word(found, index + 1) != "SQL"
        if depth == 0 and token.word == "AS":
            return index + 1 < len(found) and found[index + 1].text.startswith("$")
        if depth == 0 and token.word == "RETURN":
            return False
    return False


def _is_jetsql_show(lead: Sequence[Token], second: str) -> bool:
    if second in ("ALL", "CREATE"):
        third = _word(lead, 2)
        return _is_similar(third, "JOB") or (second == "CREATE" and third in ("ALERT", "ALERTS"))
    return second in _SHOWN_ACCOUNTS or _is_similar(second, *_SHOWN)


def _describes_table(rest: Sequence[Token]) -> bool:
    """Return whether DESCRIBE JOB is Spark's, for a table called job. rest: the tokens after JOB.

    A single word after JOB is the name of a job.
    """
    if not rest or rest[0].text in (";", "."):
        return True
    second = _word(rest, 1)
    return (rest[0].word == "AS" and second == "JSON") or (
        rest[0].word == "PARTITION" and len(rest) > 1 and rest[1].text == "("
    )


def _is_misspelled_verb(word: str) -> bool:
    return bool(word) and word not in _SPARK_VERBS and bool(get_close_matches(word, _VERBS, cutoff=0.75))


def _is_similar(word: str, *objects: str) -> bool:
    """Return whether a word is the name of an object, its plural, or a misspelling of either."""
    forms = (form for known in objects for form in (known, f"{known}S"))
    return bool(word) and any(
        abs(len(word) - len(form)) <= 2 and SequenceMatcher(None, word, form).ratio() > 0.65 for form in forms
    )


def _word(lead: Sequence[Token], index: int) -> str:
    return lead[index].word if index < len(lead) else ""
