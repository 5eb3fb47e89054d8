"""Complete the statements in cells with the completion of the shell."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from jetsql.completion.complete import complete
from jetsql.completion.known_names import Names
from jetsql.language_server.engine_names import EngineNames
from jetsql.notebook.notebook_engine import NotebookEngine, RemoteSession

_ITEMS_MOST: Final = 200
_CELL: Final = re.compile(r"\s*%%jetsql\b[^\n]*\n")
_LINE: Final = re.compile(r"(?:[^\n]*=)?\s*%jetsql\s+")


class CellCompletion:
    """A matcher for IPython's completer."""

    def __init__(self, engine: Callable[[], NotebookEngine | None]) -> None:
        """Create it. engine: returns the connection of the notebook, or None."""
        self._engine = engine
        self._names: tuple[RemoteSession, EngineNames] | None = None

    def install(self, shell: Any) -> None:
        """Add the matcher to a notebook."""
        from IPython.core.completer import context_matcher

        def jetsql_matcher(context: Any) -> Any:
            return self._match(context)

        self._matcher = context_matcher()(jetsql_matcher)
        shell.Completer.custom_matchers.append(self._matcher)

    def uninstall(self, shell: Any) -> None:
        """Remove the matcher from a notebook."""
        shell.Completer.custom_matchers.remove(self._matcher)

    def expire(self, text: str) -> None:
        """Load the names again that the statements of a text may have changed."""
        if self._names is not None:
            self._names[1].expire_names(text)

    def close(self) -> None:
        """Close the connection for names."""
        names, self._names = self._names, None
        if names is not None:
            names[1].close()

    def candidates(self, cell: str, cursor: int) -> list[tuple[str, int, str]]:
        """Return what can be written at an offset of a cell: the text, the offset that it begins at, and its kind."""
        begin = _CELL.match(cell)
        if begin is None:
            line = cell.rfind("\n", 0, cursor) + 1
            begin = _LINE.match(cell, line)
        if begin is None or begin.end() > cursor:
            return []
        start = begin.end()
        stop = len(cell) if begin.re is _CELL else (cell + "\n").index("\n", cursor)
        text, at = cell[start:stop], cursor - start
        found = islice(complete(text, at, self._known(text, at)), _ITEMS_MOST)
        return [(each.text, each.start + start, each.kind.value) for each in found]

    def _match(self, context: Any) -> dict[str, Any]:
        from IPython.core.completer import SimpleCompletion

        lines = context.full_text.split("\n")
        cursor = sum(len(line) + 1 for line in lines[: context.cursor_line]) + context.cursor_position
        found = self.candidates(context.full_text, cursor)
        if not found:
            return {"completions": []}
        start = found[0][1]
        completions = [SimpleCompletion(text, type=kind) for text, at, kind in found if at == start]
        matched = context.full_text[start:cursor]
        return {"completions": completions, "matched_fragment": matched, "suppress": True, "ordered": True}

    def _known(self, text: str, cursor: int) -> Names:
        engine = self._engine()
        if not isinstance(engine, RemoteSession):
            return Names()  # an engine in the notebook runs one statement at a time
        if self._names is None or self._names[0] is not engine:
            self.close()
            names = EngineNames(lambda progress: engine.engine.open_parallel(), lambda message: None)
            names.start()
            self._names = engine, names
        return self._names[1].names_for(text, cursor)
