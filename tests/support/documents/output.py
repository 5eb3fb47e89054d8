"""Compare what a page says that a block prints with what it printed."""

from __future__ import annotations

import re
from typing import Final

_CHANGING: Final = (
    re.compile(r"\b[0-9a-f]{4}(?:-[0-9a-f]{4}){3}\b"),  # ids of jobs and snapshots
    re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)?"),
    re.compile(r"\b\d+(?:\.\d+)? (?:s|ms|seconds|rows/s)\b"),
    re.compile(r"\b\d[\d,.]* (?:bytes|KiB|MiB|GiB)\b"),
    re.compile(r"(?<=[\w\]]):\d{4,5}\b"),  # ports
    re.compile(r"\bpid \d+"),
)
_ELLIPSES: Final = ("...", "[...]", "…")


def differs(expected: str, printed: str) -> bool:
    """Return whether the printed text is not what the page says."""
    pattern = "".join(
        r"(?:.*\n)*?" if line in _ELLIPSES else re.escape(line).replace("…", ".*") + r"\n" for line in _lines(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(printed))) is None


def _lines(text: str) -> list[str]:
    lines = [_normal(line) for line in text.strip("\n").splitlines()]
    return [line for line in lines if line]


def _normal(line: str) -> str:
    """Return a line without what differs from run to run, and without the widths that follow from it."""
    for pattern in _CHANGING:
        line = pattern.sub("#", line)
    return re.sub(r"-{2,}", "--", re.sub(r" +", " ", line)).strip()
