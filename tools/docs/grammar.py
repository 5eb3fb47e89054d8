"""The grammar's rules as railroad diagrams."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any, Final

import railroad
from lark import Tree
from lark.load_grammar import load_grammar

from jetsql.language.grammar import MARKS, SLOTS, grammar_text
from jetsql.language.statement_syntax import INLINED, SLOT_WORDS

_ROW_PIXELS: Final = 640.0
_CSS: Final = """
svg.railroad-diagram { background-color: transparent; }
svg.railroad-diagram path { stroke: #7a7f8c; stroke-width: 2; fill: none; }
svg.railroad-diagram text { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; }
svg.railroad-diagram text { text-anchor: middle; fill: #1d2330; }
svg.railroad-diagram g.terminal rect { fill: #dbe7fb; stroke: #4a72b8; stroke-width: 1.5; }
svg.railroad-diagram g.non-terminal rect { fill: #fdf1d6; stroke: #b48a2c; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) { svg.railroad-diagram path { stroke: #9aa3b5; } }
"""


def keywords() -> set[str]:
    """Return the keywords that the grammar declares."""
    declared = re.findall(r"^%declare (.*)$", grammar_text(), re.MULTILINE)
    return {word for line in declared for word in line.split()} - set(SLOTS) - set(MARKS)


def diagram(rule: str) -> str:
    """Return the diagram of a rule as SVG."""
    drawn = railroad.Diagram(_wrapped(_draw(_rules()[rule])), type="complex")
    out = io.StringIO()
    drawn.writeStandalone(out.write, _CSS)
    return out.getvalue() + "\n"


@cache
def _rules() -> dict[str, Tree[Any]]:
    load: Any = load_grammar  # has no types
    loaded, _ = load(grammar_text(), "jetsql.lark", [], False)
    return {str(name): tree for name, _, tree, _ in loaded.rule_defs}


def _wrapped(drawing: Any) -> Any:
    """Break a long sequence into rows that fit on a page."""
    if not isinstance(drawing, railroad.Sequence):
        return drawing
    rows: list[list[Any]] = [[]]
    for item in drawing.items:
        if rows[-1] and sum(each.width for each in rows[-1]) + item.width > _ROW_PIXELS:
            rows.append([])
        rows[-1].append(item)
    return drawing if len(rows) == 1 else railroad.Stack(*(railroad.Sequence(*row) for row in rows))


def _draw(tree: Tree[Any]) -> Any:
    match tree.data:
        case "expansions":
            choices = [_draw(child) for child in _trees(tree)]
            return choices[0] if len(choices) == 1 else railroad.Choice(0, *choices)
        case "expansion":
            parts = _parts(list(_trees(tree)))
            return parts[0] if len(parts) == 1 else railroad.Sequence(*parts)
        case "maybe":
            return railroad.Optional(_draw(_tree(tree)))
        case "value":
            return _symbol(tree.children[0])
    raise ValueError(f"The grammar has something that no diagram is drawn for: {tree.data}.")


def _parts(children: list[Tree[Any]]) -> list[Any]:
    """Draw a sequence; `x (COMMA x)*` and `x*` are loops."""
    parts: list[Any] = []
    for child in children:
        if child.data != "expr":
            parts.append(_draw(child))
            continue
        if _tree(child).data == "value":
            parts.append(railroad.ZeroOrMore(_draw(_tree(child))))
            continue
        separator, *_ = _trees(_tree(_tree(child)))
        parts[-1] = railroad.OneOrMore(parts[-1], _draw(separator))
    return parts


def _symbol(symbol: Any) -> Any:
    name = str(symbol.name)
    if name in MARKS:
        return railroad.Terminal(MARKS[name])
    if name in SLOTS:
        return railroad.NonTerminal(SLOT_WORDS[name])
    if name in INLINED:
        return _draw(_rules()[name])
    if name in _rules():
        return railroad.NonTerminal(name.replace("_", " "))
    return railroad.Terminal(name)


def _trees(tree: Any) -> list[Tree[Any]]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _tree(tree: Tree[Any]) -> Tree[Any]:
    return _trees(tree)[0]
