"""The screen of a terminal as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Final

import pyte
from pyte.screens import Char

_CELL_WIDTH, _LINE_HEIGHT, _MARGIN, _BAR = 8.4, 18.0, 14.0, 26.0
_BACKGROUND: Final = "#1d2330"
_COLOURS: Final = {
    "default": "#dfe4ee",
    "black": "#1d2330",
    "red": "#f2777a",
    "green": "#8fc98f",
    "brown": "#e6c07b",
    "blue": "#7fb3f0",
    "magenta": "#cf9fe0",
    "cyan": "#7fd0d0",
    "white": "#dfe4ee",
    "brightblack": "#8790a3",
    "brightred": "#ff9a9c",
    "brightgreen": "#a9dfa9",
    "brightbrown": "#f2d59a",
    "brightblue": "#a3caf7",
    "brightmagenta": "#e0bcec",
    "brightcyan": "#a5e3e3",
    "brightwhite": "#ffffff",
}


@dataclass(frozen=True)
class _Style:
    colour: str
    background: str
    bold: bool


def draw(screen: pyte.Screen, title: str) -> str:
    """Return the screen with its colours."""
    lines = _shown_lines(screen)
    width = screen.columns * _CELL_WIDTH + 2 * _MARGIN
    height = lines * _LINE_HEIGHT + 2 * _MARGIN + _BAR
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" role="img" aria-label="{escape(title)}">',
        '<style>text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; white-space: pre; }</style>',
        f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{_BACKGROUND}"/>',
        *(f'<circle cx="{18 + 18 * n}" cy="15" r="5.5" fill="#5a6377"/>' for n in range(3)),
        *(part for number in range(lines) for part in _line(screen, number)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _shown_lines(screen: pyte.Screen) -> int:
    """Return the number of lines up to the last that is not empty."""
    return max((number + 1 for number, line in enumerate(screen.display) if line.strip()), default=1)


def _line(screen: pyte.Screen, number: int) -> Iterator[str]:
    top = _MARGIN + _BAR + number * _LINE_HEIGHT
    row = screen.buffer[number]
    cells = [row[column] for column in range(screen.columns)]
    column = 0
    for style, group in groupby(cells, _style):
        text = "".join(cell.data for cell in group)
        x, width = _MARGIN + column * _CELL_WIDTH, len(text) * _CELL_WIDTH
        column += len(text)
        if style.background != _BACKGROUND:
            yield f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{_LINE_HEIGHT:g}" fill="{style.background}"/>'
        if text.strip():
            bold = ' font-weight="bold"' if style.bold else ""
            yield (
                f'<text x="{x:g}" y="{top + 13.5:g}" fill="{style.colour}"{bold} textLength="{width:g}"'
                f' xml:space="preserve">{escape(text)}</text>'
            )


def _style(cell: Char) -> _Style:
    colour, background = _colour(cell.fg), _BACKGROUND if cell.bg == "default" else _colour(cell.bg)
    if cell.reverse:
        colour, background = background, colour
    return _Style(colour, background, cell.bold)


def _colour(name: str) -> str:
    """Return a colour of the palette; a terminal of 256 colours names further ones as RRGGBB."""
    return _COLOURS.get(name) or f"#{name}"
