"""Colours, where they are wanted: not with NO_COLOR, not on terminals that know none."""

from __future__ import annotations

import os
from typing import Final

from prompt_toolkit.styles import BaseStyle, Style, merge_styles

_OWN: Final = {
    "keyword": "ansiblue bold",
    "function": "ansicyan",
    "string": "ansigreen",
    "string.open": "ansigreen underline",
    "number": "ansimagenta",
    "name": "ansiyellow",
    "comment": "ansibrightblack italic",
    "command": "ansicyan bold",
    "prompt": "bold",
    "prompt.mark": "ansibrightblack",
    "prompt.more": "ansibrightblack",
    "auto-suggestion": "ansibrightblack",
    "matching-bracket.cursor": "bold underline",
    "matching-bracket.other": "bold underline",
    "bottom-toolbar": "noreverse bg:ansibrightblack fg:ansiwhite",
    "bar.good": "fg:ansibrightgreen",
    "bar.moving": "fg:ansibrightyellow",
    "bar.bad": "fg:ansibrightred bold",
    "bar.part": "fg:ansiwhite",
    "bar.hint": "fg:ansiwhite italic",
}


def colours_wanted(setting: str) -> bool:
    """setting: the shell's `colours`. NO_COLOR in the environment (no-color.org) counts unless a style is named."""
    return setting != "off" and not (setting == "auto" and os.environ.get("NO_COLOR"))


def style(setting: str) -> BaseStyle:
    """Our own style, with the words of the language as a style of Pygments has them when one is named.

    Raises ValueError for a name that Pygments does not know.
    """
    own = Style.from_dict(_OWN)
    return own if setting in ("auto", "off") else merge_styles([own, _of_pygments(setting)])


def _of_pygments(name: str) -> BaseStyle:
    from pygments.styles import get_style_by_name
    from pygments.token import Comment, Keyword, Name, Number, String
    from pygments.util import ClassNotFound

    try:
        given = get_style_by_name(name)
    except ClassNotFound:
        raise ValueError(f"auto, off, or a style of Pygments, and {name!r} is none") from None
    kinds = {"keyword": Keyword, "function": Name.Function, "string": String, "number": Number, "comment": Comment}
    return Style.from_dict({word: _written(given.style_for_token(kind)) for word, kind in kinds.items()})


def _written(told: dict[str, object]) -> str:
    colour = told["color"]
    marks = [mark for mark in ("bold", "italic", "underline") if told[mark]]
    return " ".join(([f"#{colour}"] if colour else []) + marks)
