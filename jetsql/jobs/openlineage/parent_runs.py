"""Parents of runs: the run of another program that has created a job, as OpenLineage's clients write it.

The text is `NAMESPACE/JOB/RUN`, with the id of the run as a UUID, as in the variable OPENLINEAGE_PARENT_ID. After a
comma, the root of the parent can follow in the same form.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

_VARIABLE: Final = "OPENLINEAGE_PARENT_ID"
_NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"
_MOST_CHARACTERS: Final = 2000


@dataclass(frozen=True)
class ParentRun:
    """A run of a job of another program."""

    namespace: str
    name: str  # of the job
    run: str  # a UUID
    root: ParentRun | None = None  # the run at the top, if it is another one

    @property
    def text(self) -> str:
        """Return the text that `parse_parent` reads."""
        names = (quote(each, safe=":@.-_") for each in (self.namespace, self.name, self.run))
        return "/".join(names) + ("" if self.root is None else f",{self.root.text}")


def parse_parent(text: str) -> ParentRun | None:
    """Return the parent of a text, or None for an empty one or one that is not valid."""
    own, _, root = text.strip().partition(",")
    namespace, _, rest = own.partition("/")
    name, _, run = rest.rpartition("/")
    if len(text) > _MOST_CHARACTERS or not text.isprintable() or not namespace or not name:
        return None
    try:
        identity = str(uuid.UUID(run))
    except ValueError:
        return None
    return ParentRun(unquote(namespace), unquote(name), identity, parse_parent(root) if root else None)


def new_parent(namespace: str, name: str, run: str, environ: Mapping[str, str]) -> ParentRun:
    """Return a run of this program as a parent of the runs of jobs that it creates.

    namespace: of the program, unless the environment names one. environ: has the parent of this program, its root
    """
    above = parse_parent(environ.get(_VARIABLE, ""))
    return ParentRun(environ.get(_NAMESPACE) or namespace, name, run, above and (above.root or above))
