"""The keys: Enter runs what is complete and makes a new line of what is not; a chosen key runs it as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, emacs_mode, has_focus, has_selection, is_searching, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.search import accept_search

from jetsql.shell.session.entries import complete, is_command, lacks_more
from jetsql.shell.settings.shell_settings import ShellSettings

_SUBMIT_KEYS: Final = {"alt-enter": ("escape", "enter"), "f5": ("f5",), "ctrl-o": ("c-o",)}
_AT_PROMPT: Final = has_focus(DEFAULT_BUFFER) & ~is_searching


def bindings(settings: Callable[[], ShellSettings], keep: Callable[[str], None]) -> KeyBindings:
    """The shell's own keys, over prompt_toolkit's of Emacs or vi. settings: those that hold at the moment. keep: takes
    a text that is given up, to be had back with the arrow key."""

    def clear(event: KeyPressEvent) -> None:
        """A signal that comes while the prompt ends, just behind Enter, finds nothing to clear any more."""
        if not event.app.is_running or event.app.is_done:
            return
        text = event.current_buffer.text
        if text.strip():
            keep(text)
        event.app.exit(exception=KeyboardInterrupt(), style="class:aborting")

    keys = KeyBindings()
    keys.add("enter", filter=_AT_PROMPT & ~has_selection & ~vi_navigation_mode)(_enter)
    keys.add("enter", filter=_AT_PROMPT & vi_navigation_mode)(_submit)
    keys.add("enter", filter=is_searching)(_take_found)
    for name, pressed in _SUBMIT_KEYS.items():
        chosen = Condition(lambda name=name: settings().submit_key == name)  # type: ignore[misc]
        keys.add(*pressed, filter=_AT_PROMPT & chosen)(_submit)
    keys.add("c-x", "c-e", filter=_AT_PROMPT & emacs_mode & ~has_selection)(_edit)
    keys.add("v", filter=_AT_PROMPT & vi_navigation_mode)(_edit)
    keys.add("c-c", filter=_AT_PROMPT)(clear)
    keys.add("<sigint>")(clear)
    return keys


def runs_at_enter(text: str, cursor: int) -> bool:
    """Whether Enter runs the text, rather than beginning a new line in it."""
    if "\n" not in text.rstrip() and is_command(text):
        return not lacks_more(text)
    return not text[cursor:].strip() and not lacks_more(text) and complete(text)


def _enter(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None  # the menu's choice is in the text already
    elif runs_at_enter(buffer.text, buffer.cursor_position):
        _submit(event)
    else:
        buffer.newline(copy_margin=True)


def _take_found(event: KeyPressEvent) -> None:
    """What was searched for, with the cursor behind it: the next Enter is to run it, not to break its line."""
    accept_search()
    event.app.current_buffer.cursor_position = len(event.app.current_buffer.text)


def _submit(event: KeyPressEvent) -> None:
    event.current_buffer.validate_and_handle()


def _edit(event: KeyPressEvent) -> None:
    """prompt_toolkit's own key for it would run the text as soon as the editor is left."""
    event.current_buffer.open_in_editor(validate_and_handle=False)
