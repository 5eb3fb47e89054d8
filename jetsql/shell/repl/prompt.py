"""The prompt: an editor for whole statements, with the schema before it and the status bar below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggest, ConditionalAutoSuggest, Suggestion
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.output import ColorDepth

from jetsql.client.background_connection import ConnectionState
from jetsql.jobs.model.job_counts import JobCounts
from jetsql.output.terminal_text import printable, width
from jetsql.shell.input.input_history import FileHistory
from jetsql.shell.output.colours import load_style, use_colours
from jetsql.shell.output.highlighting import SqlLexer
from jetsql.shell.output.status_bar import render_bar
from jetsql.shell.repl.keys import KeyPace, create_key_bindings
from jetsql.shell.settings.shell_settings import ShellSettings

_MAX_NAME: Final = 30
_MENU_LINES: Final = 6
_LINES_WITHOUT_MENU: Final = 2


class Prompt:
    """The prompt."""

    def __init__(
        self,
        settings: Callable[[], ShellSettings],
        connection_state: Callable[[], ConnectionState],
        jobs: Callable[[], JobCounts | None],
        history: Path,
        completer: Completer | None,
        on_key: Callable[[], None],
        take_typed: Callable[[], str],
    ) -> None:
        """Create the prompt.

        settings, connection_state, jobs: return the current values. on_key: called for each change of the text.
        take_typed: returns the keys that were read before the prompt.
        """
        self._take_typed = take_typed
        self._settings = settings
        self._connection_state = connection_state
        self._jobs = jobs
        self._history = FileHistory(history, lambda: settings().history)
        self._error_shown = False
        pace = KeyPace()
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation=self._continuation,
            lexer=SqlLexer(),
            history=self._history,
            auto_suggest=ConditionalAutoSuggest(StatementSuggest(), Condition(lambda: settings().suggest)),
            completer=completer,
            complete_while_typing=Condition(lambda: settings().completion == "typing"),
            complete_in_thread=False,
            bottom_toolbar=self._bar,
            key_bindings=create_key_bindings(settings, self._history.add_entry, pace),
            input_processors=[HighlightMatchingBracketProcessor()],
            enable_suspend=True,
            tempfile_suffix=".sql",
            reserve_space_for_menu=_MENU_LINES,
            include_default_pygments_style=False,
        )
        # No warning if the terminal does not report its cursor position: then the bar is below the text.
        self._session.app.renderer.cpr_not_supported_callback = None
        self._session.app.before_render += self._fit_menu
        self._session.app.key_processor.before_key_press += pace.note_key
        self._typed = ""
        self._session.default_buffer.on_text_insert += self._insert
        self._session.default_buffer.on_text_changed += lambda buffer: on_key()

    def read(self, default: str = "") -> str:
        """Return what the user entered. Raises KeyboardInterrupt (Ctrl-C), EOFError (Ctrl-D)."""
        settings = self._settings()
        self._session.style = load_style(settings.colours)
        if not use_colours(settings.colours):
            self._session.color_depth = ColorDepth.DEPTH_1_BIT
        else:
            self._session.color_depth = None
        self._session.editing_mode = EditingMode.VI if settings.keys == "vi" else EditingMode.EMACS
        self._feed_keys(self._take_typed())
        return self._session.prompt(default=default)

    def _feed_keys(self, keys: str) -> None:
        """Feed these keys to the prompt when it starts."""
        if keys:
            pressed: list[KeyPress] = []
            parser = Vt100Parser(pressed.append)
            parser.feed_and_flush(keys)
            store_typeahead(self._session.app.input, pressed)

    def _fit_menu(self, app: Application[str]) -> None:
        """Shrink the menu on a small screen."""
        rows = app.output.get_size().rows
        self._session.reserve_space_for_menu = max(min(_MENU_LINES, rows - _LINES_WITHOUT_MENU), 0)

    def history_error(self) -> str:
        """Return the error of the history file, once; otherwise an empty string."""
        if self._history.error is None or self._error_shown:
            return ""
        self._error_shown = True
        error = self._history.error
        return (
            f"Cannot use the history file {error.filename}: {error.strerror}. Entries are kept until the shell exits."
        )

    def redraw(self) -> None:
        """Redraw the prompt after a change of the state. Thread-safe."""
        self._session.app.invalidate()

    def refresh_completions(self) -> None:
        """Show the names that were loaded after the last key. Thread-safe."""
        app = self._session.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(self._refresh_completions)

    def _refresh_completions(self) -> None:
        buffer = self._session.default_buffer
        menu = buffer.complete_state
        if self._settings().completion != "typing" or self._typed != buffer.text or buffer.completer is None:
            return
        if menu is not None and menu.current_completion is not None:
            return  # the user is choosing
        event = CompleteEvent(text_inserted=True)
        offered = [each.text for each in buffer.completer.get_completions(buffer.document, event)]
        if offered != ([each.text for each in menu.completions] if menu is not None else []):
            buffer.start_completion(complete_event=event)

    def _insert(self, buffer: Buffer) -> None:
        self._typed = buffer.text

    def confirm(self, question: str) -> bool:
        """Ask a question. Return True for y or yes, False for other answers, Ctrl-C and Ctrl-D."""
        prompt: PromptSession[str] = PromptSession()
        try:
            return prompt.prompt(f"{printable(question)} [y/N] ").strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            return False

    def run_above(self, print_message: Callable[[], None]) -> bool:
        """Run a function that prints above the current input. Return False without a prompt. Thread-safe."""
        app = self._session.app
        if not app.is_running or app.loop is None:
            return False
        app.loop.call_soon_threadsafe(lambda: run_in_terminal(print_message))
        return True

    def exit(self) -> bool:
        """End the input like Ctrl-D, from a signal handler. Return False without a prompt."""
        app = self._session.app
        if not app.is_running or app.loop is None:
            return False
        app.loop.call_soon_threadsafe(lambda: None if app.is_done else app.exit(exception=EOFError()))
        return True

    def _message(self) -> StyleAndTextTuples:
        return [("class:prompt", _shorten(self._connection_state().schema)), ("class:prompt.mark", "> ")]

    def _continuation(self, size: int, number: int, wraps: int) -> StyleAndTextTuples:
        return [("class:prompt.more", " " * size if wraps else "| ".rjust(size))]

    def _bar(self) -> StyleAndTextTuples | None:
        if not self._settings().status_bar:
            return None
        return render_bar(self._connection_state(), self._jobs(), self._hint())

    def _hint(self) -> str:
        text = get_app().current_buffer.text
        key = self._settings().submit_key
        return f"; and Enter runs it, {key} runs it as it is" if "\n" in text else ""


class StatementSuggest(AutoSuggest):
    """Suggest the newest entry of the history that begins with the whole text."""

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        text = document.text
        if not text.strip() or not document.is_cursor_at_the_end:
            return None
        rest = suggestion(text, buffer.history.get_strings())
        return None if rest is None else Suggestion(rest)


def suggestion(text: str, entries: Sequence[str]) -> str | None:
    """Return the rest of the newest entry that begins with the text. entries: oldest first."""
    return next((entry[len(text) :] for entry in reversed(entries) if entry.startswith(text) and entry != text), None)


def _shorten(schema: str) -> str:
    name = printable(schema)
    return name if width(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
