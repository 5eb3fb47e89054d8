"""Completion in the prompt: candidates as prompt_toolkit's menu takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from jetsql.shell.completion.candidates import Candidate, Sort
from jetsql.shell.completion.complete import complete, entry_at
from jetsql.shell.completion.complete_dot_commands import argument_at
from jetsql.shell.completion.known_names import Known, Names
from jetsql.shell.session.command_table import Argument

# The menu is measured whole at every key, and nobody scrolls further.
_MOST: Final = 300
# Their explanation says all.
_SAYING: Final = frozenset({Sort.KEYWORD, Sort.OPTION, Sort.VALUE, Sort.COMMAND, Sort.SETTING})
_MANY: Final = frozenset({Sort.FUNCTION, Sort.CONF})


class Keeper(Protocol):
    """Who knows the names: a `CatalogCache`."""

    @property
    def names(self) -> Names: ...

    def want(self, text: str, cursor: int) -> None: ...


class ShellCompleter(Completer):
    """favourites: the names of those that there are at the moment."""

    def __init__(self, keeper: Keeper, favourites: Callable[[], Sequence[str]]) -> None:
        self._keeper = keeper
        self._favourites = favourites
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text, cursor = document.text, document.cursor_position
        try:
            return self._menu(text, cursor, complete_event)
        finally:
            self._keeper.want(text, cursor)

    def _menu(self, text: str, cursor: int, complete_event: CompleteEvent) -> Iterable[Completion]:
        names = self._keeper.names
        line, _ = entry_at(text, cursor)
        if line is not None:
            command, within = text[line], cursor - line.start
            found = argument_at(command, within)
            if found is not None and found[0] is Argument.FILE:
                return self._files.get_completions(Document(command[found[1] : within]), complete_event)
            names = replace(names, favourites=tuple(map(Known, self._favourites())))
        candidates = complete(text, cursor, names)
        if complete_event.text_inserted:
            candidates = unasked(candidates, text, cursor)
        return [shown(each, cursor) for each in islice(candidates, _MOST)]


def unasked(candidates: Sequence[Candidate], text: str, cursor: int) -> tuple[Candidate, ...]:
    """What is offered without being asked for: nothing that is written already, and where nothing is, names but no
    words: a menu at every space would be in the way."""
    begun = [each for each in candidates if each.start < cursor]
    if begun:
        return () if any(each.text == text[each.start : cursor] for each in begun[:1]) else tuple(begun)
    few = tuple(each for each in candidates if each.sort not in _MANY)
    return few if any(each.sort is not Sort.KEYWORD for each in few) else ()


def shown(candidate: Candidate, cursor: int) -> Completion:
    sort = "" if candidate.sort in _SAYING else candidate.sort.value
    meta = f"{sort}, {candidate.about}" if sort and candidate.about else sort or candidate.about
    return Completion(candidate.text, candidate.start - cursor, display=candidate.display, display_meta=meta)
