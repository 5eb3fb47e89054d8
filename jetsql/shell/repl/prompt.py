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

from jetsql.output.terminal_text import printable, width
from jetsql.shell.output.colours import colours_wanted, style
from jetsql.shell.output.highlighting import SqlLexer
from jetsql.shell.output.status_bar import Jobs, bar
from jetsql.shell.repl.keys import bindings
from jetsql.shell.session.engine_connection import State
from jetsql.shell.session.input_history import FileHistory
from jetsql.shell.settings.shell_settings import ShellSettings

_NAME_MOST: Final = 30
_MENU_LINES: Final = 6
_BESIDE_MENU: Final = 2


class Prompt:
    """state, jobs: what is known at the moment. settings: those that hold at the moment; asked anew each time. typed:
    what was typed since the last prompt and has been read already."""

    def __init__(
        self,
        settings: Callable[[], ShellSettings],
        state: Callable[[], State],
        jobs: Callable[[], Jobs | None],
        history: Path,
        completer: Completer | None,
        touched: Callable[[], None],
        typed: Callable[[], str],
    ) -> None:
        self._typed_ahead = typed
        self._settings = settings
        self._state = state
        self._jobs = jobs
        self._file = FileHistory(history, lambda: settings().history)
        self._told = False
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation=self._continuation,
            lexer=SqlLexer(),
            history=self._file,
            auto_suggest=ConditionalAutoSuggest(StatementSuggest(), Condition(lambda: settings().suggest)),
            completer=completer,
            complete_while_typing=Condition(lambda: settings().completion == "typing"),
            complete_in_thread=False,
            bottom_toolbar=self._bar,
            key_bindings=bindings(settings, self._file.keep),
            input_processors=[HighlightMatchingBracketProcessor()],
            enable_suspend=True,
            tempfile_suffix=".sql",
            reserve_space_for_menu=_MENU_LINES,
            include_default_pygments_style=False,
        )
        # That a terminal does not tell where its cursor is, is nothing to warn of: the bar then stands below the text.
        self._session.app.renderer.cpr_not_supported_callback = None
        self._session.app.before_render += self._fit_menu
        self._typed = ""
        self._session.default_buffer.on_text_insert += self._insert
        self._session.default_buffer.on_text_changed += lambda buffer: touched()

    def read(self, default: str = "") -> str:
        """What the user entered. Raises KeyboardInterrupt (Ctrl-C), EOFError (Ctrl-D)."""
        settings = self._settings()
        self._session.style = style(settings.colours)
        if not colours_wanted(settings.colours):
            self._session.color_depth = ColorDepth.DEPTH_1_BIT
        else:
            self._session.color_depth = None
        self._session.editing_mode = EditingMode.VI if settings.keys == "vi" else EditingMode.EMACS
        self._press(self._typed_ahead())
        return self._session.prompt(default=default)

    def _press(self, typed: str) -> None:
        """Let the prompt find these keys when it comes."""
        if typed:
            pressed: list[KeyPress] = []
            parser = Vt100Parser(pressed.append)
            parser.feed_and_flush(typed)
            store_typeahead(self._session.app.input, pressed)

    def _fit_menu(self, app: Application[str]) -> None:
        """A screen without room for the menu has room for the prompt."""
        rows = app.output.get_size().rows
        self._session.reserve_space_for_menu = max(min(_MENU_LINES, rows - _BESIDE_MENU), 0)

    def trouble(self) -> str:
        """What keeps the history from being read or written, once; empty when nothing does."""
        if self._file.trouble is None or self._told:
            return ""
        self._told = True
        error = self._file.trouble
        return f"The history can't be used: {error.filename}: {error.strerror}. It lasts as long as this shell."

    def redraw(self) -> None:
        """On any thread: something that is shown has changed."""
        self._session.app.invalidate()

    def complete_anew(self) -> None:
        """On any thread: names have come that the menu could not show when the last key was pressed."""
        app = self._session.app
        if app.is_running and app.loop is not None:
            app.loop.call_soon_threadsafe(self._complete_anew)

    def _complete_anew(self) -> None:
        buffer = self._session.default_buffer
        menu = buffer.complete_state
        if self._settings().completion != "typing" or self._typed != buffer.text or buffer.completer is None:
            return
        if menu is not None and menu.current_completion is not None:
            return  # somebody is choosing
        event = CompleteEvent(text_inserted=True)
        offered = [each.text for each in buffer.completer.get_completions(buffer.document, event)]
        if offered != ([each.text for each in menu.completions] if menu is not None else []):
            buffer.start_completion(complete_event=event)

    def _insert(self, buffer: Buffer) -> None:
        self._typed = buffer.text

    def ask(self, question: str) -> bool:
        """A question that is answered with y or n; anything else means no, Ctrl-C and Ctrl-D too."""
        asking: PromptSession[str] = PromptSession()
        try:
            return asking.prompt(f"{question} [y/N] ").strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            return False

    def above(self, tell: Callable[[], None]) -> bool:
        """On any thread: do what tells something, above what is being entered; False when nothing is."""
        app = self._session.app
        if not app.is_running or app.loop is None:
            return False
        app.loop.call_soon_threadsafe(lambda: run_in_terminal(tell))
        return True

    def leave(self) -> bool:
        """In a signal's handler: end what is being entered as Ctrl-D does; False when nothing is."""
        app = self._session.app
        if not app.is_running or app.loop is None:
            return False
        app.loop.call_soon_threadsafe(lambda: None if app.is_done else app.exit(exception=EOFError()))
        return True

    def _message(self) -> StyleAndTextTuples:
        return [("class:prompt", _shown(self._state().schema)), ("class:prompt.mark", "> ")]

    def _continuation(self, size: int, number: int, wraps: int) -> StyleAndTextTuples:
        return [("class:prompt.more", " " * size if wraps else "| ".rjust(size))]

    def _bar(self) -> StyleAndTextTuples | None:
        if not self._settings().status_bar:
            return None
        return bar(self._state(), self._jobs(), self._hint())

    def _hint(self) -> str:
        text = get_app().current_buffer.text
        key = self._settings().submit_key
        return f"; and Enter runs it, {key} runs it as it is" if "\n" in text else ""


class StatementSuggest(AutoSuggest):
    """The newest entry of the history that begins with the whole text."""

    def get_suggestion(self, buffer: Buffer, document: Document) -> Suggestion | None:
        text = document.text
        if not text.strip() or not document.is_cursor_at_the_end:
            return None
        rest = suggestion(text, buffer.history.get_strings())
        return None if rest is None else Suggestion(rest)


def suggestion(text: str, entries: Sequence[str]) -> str | None:
    """What the newest entry that begins with the text goes on with. entries: oldest first."""
    return next((entry[len(text) :] for entry in reversed(entries) if entry.startswith(text) and entry != text), None)


def _shown(schema: str) -> str:
    name = printable(schema)
    return name if width(name) <= _NAME_MOST else name[: _NAME_MOST - 1] + "…"
