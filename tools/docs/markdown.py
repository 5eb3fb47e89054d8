"""Markdown: tables, and the parts of a page that are generated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

_PART: Final = re.compile(
    r"^<!-- generated: (?P<name>[\w.: -]+?) -->\n(?P<text>.*?)^<!-- end of generated -->$", re.MULTILINE | re.DOTALL
)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells may hold Markdown, but no line breaks."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def fill(page: str, generate: Callable[[str], str]) -> str:
    """Return a page with each generated part written again.

    generate: returns the text of a part by its name. Raises KeyError for a name that it does not have.
    """
    return _PART.sub(
        lambda part: (
            f"<!-- generated: {part['name']} -->\n\n{generate(part['name']).strip()}\n\n<!-- end of generated -->"
        ),
        page,
    )


def part_names(page: str) -> list[str]:
    """Return the names of a page's generated parts."""
    return [part["name"] for part in _PART.finditer(page)]
