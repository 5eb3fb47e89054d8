"""The shell's colours, which NO_COLOR and terminals without colours switch off."""

from __future__ import annotations

import os
from typing import Final

from prompt_toolkit.styles import BaseStyle, Style, merge_styles

_DEFAULT_STYLE: Final = {
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


def use_colours(setting: str) -> bool:
    """Return whether to use colours. NO_COLOR in the environment (no-color.org) applies unless a style is named."""
    return setting != "off" and not (setting == "auto" and os.environ.get("NO_COLOR"))


def load_style(setting: str) -> BaseStyle:
    """Return the default style; a Pygments style, if named, replaces its syntax colours.

    Raises ValueError for a name that is unknown to Pygments.
    """
    default = Style.from_dict(_DEFAULT_STYLE)
    return default if setting in ("auto", "off") else merge_styles([default, _load_pygments_style(setting)])


def _load_pygments_style(name: str) -> BaseStyle:
    from pygments.styles import get_style_by_name
    from pygments.token import Comment, Keyword, Name, Number, String
    from pygments.util import ClassNotFound

    try:
        pygments_style = get_style_by_name(name)
    except ClassNotFound:
        raise ValueError(f"auto, off, or a Pygments style; {name!r} is unknown") from None
    kinds = {"keyword": Keyword, "function": Name.Function, "string": String, "number": Number, "comment": Comment}
    return Style.from_dict({word: _format_style(pygments_style.style_for_token(kind)) for word, kind in kinds.items()})


def _format_style(attributes: dict[str, object]) -> str:
    colour = attributes["color"]
    flags = [mark for mark in ("bold", "italic", "underline") if attributes[mark]]
    return " ".join(([f"#{colour}"] if colour else []) + flags)
