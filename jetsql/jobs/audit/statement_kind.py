"""The kind of a statement for the audit log: its verb and the kind of its object, which are words of the language.

No other word of the text is in it: a text that is no statement can be a secret that was pasted by mistake.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from jetsql.language.statement_head import CONTROL_VERBS, QUERY_WORDS, after_explain
from jetsql.language.tokens import tokens

_HEAD: Final = 12
_HEAD_CHARS: Final = 20_000  # a long comment may come first; the tokens of a longer text are not read
_OTHER: Final = "OTHER"
_OBJECTS: Final = frozenset(
    "TABLE VIEW FUNCTION SCHEMA DATABASE NAMESPACE CATALOG JOB SNAPSHOT SECRET CONNECTION USER ROLE TOKEN JOBS"
    " SNAPSHOTS MEMBERS ENGINES USERS ROLES TOKENS GRANTS SECRETS CONNECTIONS TABLES VIEWS FUNCTIONS SCHEMAS DATABASES"
    " COLUMNS CATALOGS PARTITIONS TBLPROPERTIES VARIABLE INDEX".split()
)
_WITH_OBJECT: Final = frozenset(("CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC", "REFRESH", "TRUNCATE"))
_VERBS: Final = _WITH_OBJECT.union(
    CONTROL_VERBS,
    "INSERT UPDATE DELETE MERGE GRANT REVOKE REASSIGN SET RESET USE CACHE UNCACHE CLEAR ANALYZE OPTIMIZE VACUUM CALL"
    " BEGIN DECLARE EXECUTE COMMENT MSCK LOAD ADD LIST REPAIR RESTORE COPY".split(),
)


def statement_kind(text: str) -> str:
    """Return the kind of a statement, such as SELECT, CREATE JOB or EXPLAIN SELECT; OTHER if it is none."""
    found = list(islice(tokens(text[:_HEAD_CHARS]), _HEAD))
    explained = after_explain(found)
    words = [token.word for token in explained if token.text != "("]
    kind = _kind(words)
    return kind if len(explained) == len(found) else f"EXPLAIN {kind}"


def _kind(words: list[str]) -> str:
    verb = words[0] if words else ""
    if verb in QUERY_WORDS:
        return "SELECT"
    if verb not in _VERBS:
        return _OTHER
    if verb not in _WITH_OBJECT:
        return verb
    found = next((word for word in words[1:] if word in _OBJECTS), "")
    return f"{verb} {found}".rstrip()
