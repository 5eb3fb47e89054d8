"""Numbers of things, with their noun."""

from __future__ import annotations


def counted(number: float, noun: str, shown: str = "") -> str:
    """Return a number with its noun: `1 row`, `1,200 rows`. shown: the number as it is shown, if it is rounded."""
    return f"{shown or f'{number:,}'} {noun}{'' if number == 1 else 's'}"
