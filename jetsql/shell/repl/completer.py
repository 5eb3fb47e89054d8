"""The completer of the prompt: candidates in the form of prompt_toolkit's menu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from jetsql.completion.candidates import Candidate, CandidateKind
from jetsql.completion.known_names import Names
from jetsql.shell.input.command_table import ArgumentKind
from jetsql.shell.repl.complete_entries import argument_at, command_at, complete_entry

# prompt_toolkit measures the whole menu at every key, and users rarely scroll further.
_MAX_ITEMS: Final = 300
# The menu shows the description of these kinds without the kind.
_SELF_EXPLANATORY: Final = frozenset(
    {CandidateKind.KEYWORD, CandidateKind.OPTION, CandidateKind.VALUE, CandidateKind.COMMAND, CandidateKind.SETTING}
)
_NUMEROUS: Final = frozenset({CandidateKind.FUNCTION, CandidateKind.CONF})


class NameSource(Protocol):
    """The source of names, as `CatalogCache` implements it."""

    @property
    def names(self) -> Names: ...

    def request(self, text: str, cursor: int) -> None: ...


class ShellCompleter(Completer):
    """The completer of the prompt."""

    def __init__(self, names: NameSource) -> None:
        self._names = names
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text, cursor = document.text, document.cursor_position
        try:
            return self._menu(text, cursor, complete_event)
        finally:
            self._names.request(text, cursor)

    def _menu(self, text: str, cursor: int, complete_event: CompleteEvent) -> Iterable[Completion]:
        span = command_at(text, cursor)
        if span is not None:
            command, within = text[span], cursor - span.start
            argument = argument_at(command, within)
            if argument is not None and argument[0] is ArgumentKind.FILE:
                return self._files.get_completions(Document(command[argument[1] : within]), complete_event)
        candidates = complete_entry(text, cursor, self._names.names)
        if complete_event.text_inserted:
            candidates = automatic_candidates(candidates, text, cursor)
        return [to_completion(each, cursor) for each in islice(candidates, _MAX_ITEMS)]


def automatic_candidates(candidates: Sequence[Candidate], text: str, cursor: int) -> tuple[Candidate, ...]:
    """Return the candidates for a menu that opens while typing: no complete word, no keywords before a letter."""
    started = [each for each in candidates if each.start < cursor]
    if started:
        return () if any(each.text == text[each.start : cursor] for each in started[:1]) else tuple(started)
    few = tuple(each for each in candidates if each.kind not in _NUMEROUS)
    return few if any(each.kind is not CandidateKind.KEYWORD for each in few) else ()


def to_completion(candidate: Candidate, cursor: int) -> Completion:
    kind = "" if candidate.kind in _SELF_EXPLANATORY else candidate.kind.value
    meta = f"{kind}, {candidate.description}" if kind and candidate.description else kind or candidate.description
    return Completion(candidate.text, candidate.start - cursor, display=candidate.display, display_meta=meta)
