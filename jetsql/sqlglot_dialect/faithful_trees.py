"""Make trees whose SQL has the meaning of the text that they are read from.

sqlglot reads and writes some of Spark's SQL with another meaning, or with other names of columns. So each text that it
generates is compared with the text that it read (`same_text`), and is read and written again. If they differ, the text
is read with protected parts (`protected_parts`). If it still differs, the tree keeps the text: it is generated as this
text, and a change of the tree is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError, UnsupportedError

from jetsql.errors import StatementError
from jetsql.sqlglot_dialect.protected_parts import NO_PROTECTION, Protection
from jetsql.sqlglot_dialect.same_text import called_names, is_same
from jetsql.sqlglot_dialect.stream_clauses import CannotParse

WRITTEN: Final = "written"
"""The argument of a tree with the text that it is generated as."""

_GENERATED: Final = "generated"  # what sqlglot generates for the tree: a change of the tree changes it
_ERRORS: Final = (CannotParse, SqlglotError, StatementError, RecursionError)

_ALL: Final = Protection(every_name=True, literals=True)

Parse: TypeAlias = Callable[[str, Protection], exp.Expression]
Write: TypeAlias = Callable[[exp.Expression], str]


def faithful_tree(text: str, parse: Parse, write: Write) -> exp.Expression:
    """Return the tree of a text. Raises what `parse` raises if sqlglot cannot read the text."""
    try:
        first = parse(text, NO_PROTECTION)
        tree, generated = _proven(text, first, NO_PROTECTION, parse, write)
    except _ERRORS:
        tree = _attempt(text, _ALL, parse, write)
        if tree is None:
            raise
    if tree is not None:
        return tree
    for protection in _protections(text, generated):
        tree = _attempt(text, protection, parse, write)
        if tree is not None:
            return tree
    keep_text(first, text, generated)
    return first


def keep_text(tree: exp.Expression, text: str, generated: str) -> None:
    """Make a tree that is generated as a text. generated: its SQL without that."""
    tree.comments = None  # the text has them
    tree.set(WRITTEN, text)
    tree.set(_GENERATED, generated)


def kept_text(tree: exp.Expression, write: Write) -> str | None:
    """Return the text that a tree keeps, with a LIMIT that a tool added; None if it keeps none.

    Raises UnsupportedError if the tree was changed otherwise. write: generates the SQL of a tree.
    """
    text = tree.args.get(WRITTEN)
    if text is None:
        return None
    plain = without_text(tree)
    if write(plain) == tree.args[_GENERATED]:
        return str(text)
    limit = plain.args.get("limit") if isinstance(plain, exp.Query) else None
    if limit is not None:
        plain.set("limit", None)
        if write(plain) == tree.args[_GENERATED]:
            return f"{text}\n{write(limit).strip()}"
    raise UnsupportedError(
        f"Cannot generate a changed statement that sqlglot writes with another meaning. It was: {text}"
    )


def without_text(tree: exp.Expression) -> exp.Expression:
    """Return a copy of a tree without the text that it keeps."""
    plain = tree.copy()
    plain.set(WRITTEN, None)
    plain.set(_GENERATED, None)
    return plain


def with_texts(tree: exp.Expression, write: Write) -> exp.Expression:
    """Return a copy of a tree with the texts that trees below it keep. Raises UnsupportedError for changed ones."""
    copied = tree.copy()
    for node in [each for each in copied.walk() if each is not copied and WRITTEN in each.args]:
        text = kept_text(node, write) if isinstance(node, exp.Expression) else None
        if text is not None:
            node.replace(exp.Var(this=text))
    return copied


def _protections(text: str, generated: str) -> Iterator[Protection]:
    """Yield what to protect: first the functions that sqlglot writes otherwise, then all."""
    called = called_names(text)
    written, others = Counter(called), Counter(called_names(generated))
    names = {name for name in written if written[name] != others[name]} | {"STRUCT"} & set(called)
    yield Protection(frozenset(names), literals=True)
    yield _ALL


def _attempt(text: str, protection: Protection, parse: Parse, write: Write) -> exp.Expression | None:
    """Return the tree of a text with protected parts; None if sqlglot cannot read it, or writes it otherwise."""
    try:
        return _proven(text, parse(text, protection), protection, parse, write)[0]
    except _ERRORS:
        return None


def _proven(
    text: str, tree: exp.Expression, protection: Protection, parse: Parse, write: Write
) -> tuple[exp.Expression | None, str]:
    """Return the tree and its SQL; None for the tree if the SQL is not the same as the text."""
    generated = write(tree)
    if not is_same(text, generated) or _changes_names(tree):
        return None, generated
    try:
        is_proven = write(parse(generated, protection)) == generated
    except _ERRORS:
        is_proven = False
    return (tree if is_proven else None), generated


def _changes_names(tree: exp.Expression) -> bool:
    """Return whether a column of a query gets another name: x IS NOT NULL without an alias becomes NOT x IS NULL."""
    for negation in tree.find_all(exp.Not):
        node: Any = negation
        while isinstance(negation.this, exp.Is) and node.parent is not None and not isinstance(node, exp.Alias):
            if isinstance(node.parent, exp.Query):
                if node.arg_key == "expressions":
                    return True
                break
            node = node.parent
    return False
