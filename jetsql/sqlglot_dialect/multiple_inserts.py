"""Read and write FROM source INSERT ... INSERT ..., which only newer versions of sqlglot know.

The tree is the one of those versions: MultitableInserts without a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from sqlglot import Token, TokenType, exp

_OPEN: Final = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSE: Final = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_OF_SOURCE: Final = ("joins", "laterals")
_CTES: Final = ("with_", "with")  # the argument's name in newer and in older versions
_FROM: Final = ("from_", "from")

Parse: TypeAlias = Callable[[Sequence[Token]], exp.Expression]


def insert_starts(tokens: Sequence[Token]) -> list[int]:
    """Return the indexes of the FROM and of each INSERT after it; an empty list for other statements."""
    depth, found = 0, list[int]()
    for index, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind in _OPEN) - (kind in _CLOSE)
        if depth or kind not in (TokenType.FROM, TokenType.INSERT, TokenType.SELECT):
            continue
        if kind is TokenType.INSERT and found:
            found.append(index)
        elif not found and (kind is not TokenType.FROM or (index and tokens[0].token_type is not TokenType.WITH)):
            return []
        elif not found:
            found.append(index)
        elif len(found) == 1:
            return []
    return found if len(found) > 1 else []


def parse_inserts(tokens: Sequence[Token], starts: Sequence[int], parse: Parse) -> exp.Expression | None:
    """Return the expression of a statement with several INSERTs, or None. starts: of `insert_starts`."""
    first, *inserts = starts
    star = [Token(TokenType.SELECT, "SELECT"), Token(TokenType.STAR, "*")]
    query = parse([*tokens[:first], *star, *tokens[first : inserts[0]]])
    clause = _argument(query, _FROM)
    if not isinstance(query, exp.Select) or clause is None:
        return None
    known = {"expressions", *_CTES, *_FROM, *_OF_SOURCE}
    if any(value for name, value in query.args.items() if name not in known):
        return None
    source = clause.this
    for name in _OF_SOURCE:
        source.set(name, query.args.get(name))
    stops = [*inserts[1:], len(tokens)]
    trees = [parse(tokens[start:stop]) for start, stop in zip(inserts, stops, strict=True)]
    tree = exp.MultitableInserts(expressions=trees, source=source)
    tree.comments = clause.comments
    ctes = _argument(query, _CTES)
    if ctes is not None:
        tree.set(_CTES[0], ctes)
    return tree


def inserts_parts(tree: exp.Expression) -> list[tuple[str, exp.Expression]] | None:
    """Return the parts of a MultitableInserts, each with the word before it; None for another expression."""
    if not isinstance(tree, exp.MultitableInserts) or tree.args.get("kind"):
        return None
    ctes = _argument(tree, _CTES)
    head = [] if ctes is None else [("", ctes)]
    return [*head, ("FROM ", tree.args["source"]), *(("", insert) for insert in tree.expressions)]


def _argument(tree: exp.Expression, names: Sequence[str]) -> Any:
    return next((tree.args[name] for name in names if tree.args.get(name)), None)
