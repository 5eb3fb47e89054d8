"""The key bindings: Enter runs complete text, and otherwise starts a new line; `submit_key` runs any text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, emacs_mode, has_focus, has_selection, is_searching, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.search import accept_search

from jetsql.shell.input.input_parsing import is_command, is_complete, is_incomplete_command
from jetsql.shell.settings.shell_settings import ShellSettings

_SUBMIT_KEYS: Final = {"alt-enter": ("escape", "enter"), "f5": ("f5",), "ctrl-o": ("c-o",)}
_AT_PROMPT: Final = has_focus(DEFAULT_BUFFER) & ~is_searching


def create_key_bindings(settings: Callable[[], ShellSettings], add_to_history: Callable[[str], None]) -> KeyBindings:
    """Return the shell's bindings on top of prompt_toolkit's for Emacs or vi.

    settings: returns the current settings. add_to_history: adds a text that the user discards.
    """

    def clear(event: KeyPressEvent) -> None:
        """Discard the text. Do nothing if the signal arrives after Enter, while the prompt ends."""
        if not event.app.is_running or event.app.is_done:
            return
        text = event.current_buffer.text
        if text.strip():
            add_to_history(text)
        event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    keys = KeyBindings()
    keys.add("enter", filter=_AT_PROMPT & ~has_selection & ~vi_navigation_mode)(_enter)
    keys.add("enter", filter=_AT_PROMPT & vi_navigation_mode)(_submit)
    keys.add("enter", filter=is_searching)(_accept_match)
    for name, pressed in _SUBMIT_KEYS.items():
        chosen = Condition(lambda name=name: settings().submit_key == name)  # type: ignore[misc]
        keys.add(*pressed, filter=_AT_PROMPT & chosen)(_submit)
    keys.add("c-x", "c-e", filter=_AT_PROMPT & emacs_mode & ~has_selection)(_edit)
    keys.add("v", filter=_AT_PROMPT & vi_navigation_mode)(_edit)
    keys.add("c-c", filter=_AT_PROMPT)(clear)
    keys.add("<sigint>")(clear)
    return keys


def should_run(text: str, cursor: int) -> bool:
    """Return whether Enter runs the text instead of starting a new line."""
    if "\n" not in text.rstrip() and is_command(text):
        return not is_incomplete_command(text)
    return not text[cursor:].strip() and not is_incomplete_command(text) and is_complete(text)


def _enter(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None  # the chosen completion is in the text already
    elif should_run(buffer.text, buffer.cursor_position):
        _submit(event)
    else:
        buffer.newline(copy_margin=True)


def _accept_match(event: KeyPressEvent) -> None:
    """Take the entry found by a search, with the cursor after it, so that the next Enter runs it."""
    accept_search()
    event.app.current_buffer.cursor_position = len(event.app.current_buffer.text)


def _submit(event: KeyPressEvent) -> None:
    event.current_buffer.validate_and_handle()


def _edit(event: KeyPressEvent) -> None:
    """Open the editor; prompt_toolkit's own binding would run the text when the editor is closed."""
    event.current_buffer.open_in_editor(validate_and_handle=False)
