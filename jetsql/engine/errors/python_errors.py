"""Describe errors of functions in Python: the function, the error, and the line of its source.

Spark's error has the traceback of the Python worker. In it, the functions of `jetsql.engine.functions` have names such
as `<function schema.name>` instead of files.
"""

from __future__ import annotations

import re
from typing import Final

CONDITION: Final = "PYTHON_EXCEPTION"
SQLSTATE: Final = "38000"
_TRACEBACK: Final = "Traceback (most recent call last):"
_FRAME: Final = re.compile(
    r'^ +File "<function (?P<name>.+)>", line (?P<line>\d+), in .*\n(?: {4}(?P<code>.*)\n)?', re.M
)
# The error's own text follows the frames and is not indented.
_ERROR: Final = re.compile(r"^\S.*(?:\n(?!SQLSTATE|Driver stacktrace|\s*\n|\tat ).*)*", re.MULTILINE)
_OTHER_TYPE: Final = re.compile(r"^(?:\S+\.)?TypeError: (?P<message>The function (?P<name>.+?) returned .*)", re.DOTALL)


def describe_python_error(text: str) -> tuple[str, str] | None:
    """Return message and hint for Spark's text of an error in a Python worker, or None for another text."""
    _, found, trace = text.rpartition(_TRACEBACK)
    error = _last_error(trace) if found else ""
    if not error:
        return None
    other_type = _OTHER_TYPE.match(error)
    if other_type:
        return f"{other_type['message']}.", _hint(other_type["name"])
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return f"The Python worker raised {error}.", ""
    last = frames[-1]
    code = f": {last['code'].strip()}" if last["code"] else ""
    return f"The function {last['name']} raised {error} (line {last['line']} of its source{code}).", _hint(last["name"])


def _last_error(trace: str) -> str:
    """Return type and message of the error after the frames of a traceback, as one line."""
    frames_end = 0
    for line in re.finditer(r"^[ \t].*\n?|^\s*\n", trace, re.MULTILINE):
        if trace[frames_end : line.start()].strip():
            break
        frames_end = line.end()
    error = _ERROR.search(trace, frames_end)
    lines = error.group().partition(" SQLSTATE:")[0].split("\n") if error else []
    return " ".join(line.strip() for line in lines if line.strip()).rstrip(".")


def _hint(name: str) -> str:
    return f"DESCRIBE FUNCTION EXTENDED {name} shows the source; CREATE OR REPLACE FUNCTION changes it."
