"""Qualified names of tables, as jobs store them: catalogue, namespaces and table, separated by points.

A part is quoted only if a statement would otherwise read it differently. Names of Spark's own catalogue consist of
letters, digits and underscores, so they are never quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from jetsql.language.tokens import quoted_name

SESSION_CATALOG: Final = "spark_catalog"
_PLAIN: Final = re.compile(r"\w+")
_PART: Final = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def split_table(name: str) -> tuple[str, ...]:
    """Return the parts of a qualified name, without quotes."""
    return tuple(match[1].replace("``", "`") if match[2] is None else match[2] for match in _PART.finditer(name))


def join_table(parts: Sequence[str]) -> str:
    """Return the qualified name with these parts."""
    return ".".join(part if _PLAIN.fullmatch(part) else quoted_name(part) for part in parts)


def job_name(table: str) -> str:
    """Return the name of the job of a streaming table or materialized view. table: its qualified name"""
    return join_table(without_session_catalog(split_table(table)))


def without_session_catalog(parts: Sequence[str]) -> Sequence[str]:
    """Return the parts of a qualified name without Spark's own catalogue."""
    return parts[1:] if parts[0] == SESSION_CATALOG else parts


def quoted_table(name: str) -> str:
    """Return a qualified name with all parts in back quotes, as statements accept it."""
    return ".".join(map(quoted_name, split_table(name)))
