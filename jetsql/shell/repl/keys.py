"""The key bindings: Enter runs complete text, and otherwise starts a new line; `submit_key` runs any text.

A new line begins with the indentation of the line before it, except in pasted text, which has its own indentation. Most
terminals mark pasted text (bracketed paste): its line ends and tabs are no keys then. From the others, it arrives as
keys, faster than a user types.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from prompt_toolkit.application import get_app
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, emacs_mode, has_focus, has_selection, is_searching, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.key_processor import KeyProcessor
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import accept_search

from jetsql.shell.input.input_parsing import is_command, is_complete, is_incomplete_command
from jetsql.shell.settings.shell_settings import ShellSettings

_SUBMIT_KEYS: Final = {"alt-enter": ("escape", "enter"), "f5": ("f5",), "ctrl-o": ("c-o",)}
_AT_PROMPT: Final = has_focus(DEFAULT_BUFFER) & ~is_searching
_TYPING_SECONDS: Final = 0.01


class KeyPace:
    """The time between keys, by which pasted text differs from typed text."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -math.inf
        self._since_last = math.inf

    def note_key(self, _processor: KeyProcessor) -> None:
        """Note that a key is about to be processed."""
        now = self._clock()
        self._since_last, self._last = now - self._last, now

    def is_pasting(self, processor: KeyProcessor) -> bool:
        """Return whether other keys have come together with the key being processed."""
        return _is_text_waiting(processor) or self._since_last < _TYPING_SECONDS


def create_key_bindings(
    settings: Callable[[], ShellSettings], add_to_history: Callable[[str], None], pace: KeyPace
) -> KeyBindings:
    """Return the shell's bindings on top of prompt_toolkit's for Emacs or vi.

    settings: returns the current settings. add_to_history: adds a text that the user discards.
    """

    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None  # the chosen completion is in the text already
        elif should_run(buffer.text, buffer.cursor_position):
            _submit(event)
        else:
            buffer.newline(copy_margin=not pace.is_pasting(event.key_processor))

    def clear(event: KeyPressEvent) -> None:
        """Discard the text. Do nothing if the signal arrives after Enter, while the prompt ends."""
        if not event.app.is_running or event.app.is_done:
            return
        text = event.current_buffer.text
        if text.strip():
            add_to_history(text)
        event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    keys = KeyBindings()
    keys.add("enter", filter=_AT_PROMPT & ~has_selection & ~vi_navigation_mode)(enter)
    keys.add("enter", filter=_AT_PROMPT & vi_navigation_mode)(_submit)
    keys.add("enter", filter=is_searching)(_accept_match)
    keys.add("tab", filter=_AT_PROMPT & ~vi_navigation_mode & _IS_TEXT_WAITING)(_insert_tab)
    for name, pressed in _SUBMIT_KEYS.items():
        chosen = Condition(lambda name=name: settings().submit_key == name)  # type: ignore[misc]
        keys.add(*pressed, filter=_AT_PROMPT & chosen)(_submit)
    keys.add("c-x", "c-e", filter=_AT_PROMPT & emacs_mode & ~has_selection)(_edit)
    keys.add("v", filter=_AT_PROMPT & vi_navigation_mode)(_edit)
    keys.add("c-c", filter=_AT_PROMPT)(clear)
    keys.add("<sigint>")(clear)
    return keys


def _is_text_waiting(processor: KeyProcessor) -> bool:
    """Return whether further keys have arrived, apart from those of a Tab key that the user holds."""
    return any(waiting.key not in (Keys.Tab, Keys.CPRResponse) for waiting in processor.input_queue)


_IS_TEXT_WAITING: Final = Condition(lambda: _is_text_waiting(get_app().key_processor))


def should_run(text: str, cursor: int) -> bool:
    """Return whether Enter runs the text instead of starting a new line."""
    if "\n" not in text.rstrip() and is_command(text):
        return not is_incomplete_command(text)
    return not text[cursor:].strip() and not is_incomplete_command(text) and is_complete(text)


def _insert_tab(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\t")


def _accept_match(event: KeyPressEvent) -> None:
    """Take the entry found by a search, with the cursor after it, so that the next Enter runs it."""
    accept_search()
    event.app.current_buffer.cursor_position = len(event.app.current_buffer.text)


def _submit(event: KeyPressEvent) -> None:
    event.current_buffer.validate_and_handle()


def _edit(event: KeyPressEvent) -> None:
    """Open the editor; prompt_toolkit's own binding would run the text when the editor is closed."""
    event.current_buffer.open_in_editor(validate_and_handle=False)
