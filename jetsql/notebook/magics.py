"""The magic commands `%jetsql` and `%%jetsql`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, NoReturn

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display as _display

from jetsql.errors import JetSQLError, ReportedError
from jetsql.language.tokens import tokens
from jetsql.notebook.cell_completion import CellCompletion
from jetsql.notebook.cell_result import CellResult
from jetsql.notebook.notebook_engine import (
    EmbeddedSession,
    NotebookEngine,
    enable_spark,
    open_address,
    open_default,
)
from jetsql.notebook.run_cell import CellFailed, CellOptions, run_cell
from jetsql.script import variables

display: Any = _display  # has no types
_USAGE: Final = """\
%jetsql URL | --home DIR | --spark [NAME]   connect: to an address, to the engine of a home, to the notebook's Spark
%jetsql                                     show the connection
%jetsql --close                             close the connection
%jetsql STATEMENT                           run a statement; rows = %jetsql STATEMENT keeps its result
%%jetsql [--seconds N] [--rows N] [NAME <<] run the statements of the cell; NAME << keeps the last result
A SELECT over a stream is redrawn until the kernel is interrupted, until LIMIT, or for --seconds."""
_ASSIGNMENT: Final = re.compile(r"\s*([^\W\d]\w*)\s*<<\s*", re.ASCII)
_ADDRESSES: Final = ("jetsql://", "http://", "https://")
_TEXTS: Final = (str, int, float, Decimal, date, datetime)


@magics_class
class JetSQLMagics(Magics):
    """The commands of one notebook, with its connection."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._shell = shell
        self._engine: NotebookEngine | None = None
        self.completion = CellCompletion(lambda: self._engine)

    def close(self) -> None:
        """Close the connection, if there is one."""
        engine, self._engine = self._engine, None
        self.completion.close()
        if engine is not None:
            engine.close()

    @no_var_expand  # variables are those of scripts, and braces belong to SQL
    @line_cell_magic
    def jetsql(self, line: str, cell: str | None = None) -> CellResult | None:
        """Run statements of JetSQL and Spark, or connect to an engine. `%jetsql --help` explains it."""
        arguments = _Arguments(line)
        if arguments.wants_help:
            print(_USAGE)  # noqa: T201  # the output of a magic command
            return None
        if cell is None and arguments.connects:
            self._connect(arguments)
            return None
        text = arguments.rest if cell is None else f"{arguments.rest}\n{cell}" if arguments.rest else cell
        if arguments.connects:
            self._connect(arguments, quietly=True)
        if not any(True for _ in tokens(text)):
            self._show_connection()
            return None
        return self._run(text, arguments)

    def _run(self, text: str, arguments: _Arguments) -> CellResult | None:
        engine = self._connected()
        drawing = _Drawing(self._shell)
        options = CellOptions(arguments.seconds, arguments.rows, drawing.redraw if drawing.is_possible else None)
        last: CellResult | None = None
        try:
            for result in run_cell(text, engine, self._values(), options):
                if last is not None:
                    display(last)
                last = None if drawing.finish(result) else result
                if arguments.name:
                    self._shell.user_ns[arguments.name] = result
        except CellFailed:
            if last is not None:
                display(last)
            raise
        finally:
            self.completion.expire(text)
        return None if arguments.name else last

    def _connect(self, arguments: _Arguments, quietly: bool = False) -> None:
        if arguments.closes:
            self.close()
            return
        try:
            if arguments.spark is not None:
                engine: NotebookEngine = enable_spark(self._variable(arguments.spark), arguments.home)
            else:
                engine = open_address(arguments.url, arguments.home)
        except (ValueError, JetSQLError, ReportedError) as error:
            _refuse(error)
        self.close()
        self._engine = engine
        if not quietly:
            self._show_connection()

    def _variable(self, name: str) -> Any:
        if name not in self._shell.user_ns:
            raise UsageError(f"The notebook has no variable {name}. Create the Spark session first.")
        return self._shell.user_ns[name]

    def _connected(self) -> NotebookEngine:
        """Return the connection; without one, the engine in the notebook, or that of the settings."""
        engine = self._engine
        if isinstance(engine, EmbeddedSession) and engine.engine.closed:
            engine = None
        if engine is None:
            try:
                engine = open_default()
            except (ValueError, JetSQLError, ReportedError) as error:
                _refuse(error)
        self._engine = engine
        return engine

    def _show_connection(self) -> None:
        where = "not connected; the first statement connects" if self._engine is None else self._engine.description
        print(f"JetSQL: {where}")  # noqa: T201

    def _values(self) -> Mapping[str, str]:
        """Return the variables of statements: the texts, numbers and dates of the notebook."""
        own = {
            name: str(value)
            for name, value in self._shell.user_ns.items()
            if isinstance(value, _TEXTS) and not name.startswith("_") and not isinstance(value, bool)
        }
        return variables(os.environ, own)


class _Drawing:
    """The place in the output of a cell where a live table is redrawn."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.is_possible = getattr(shell, "kernel", None) is not None
        self._handle: Any = None

    def redraw(self, result: CellResult) -> None:
        """Draw a table, in place of the one before."""
        if self._handle is None:
            self._handle = display(result, display_id=True)
        else:
            self._handle.update(result)

    def finish(self, result: CellResult) -> bool:
        """Draw the last state of a live table. Return whether the result is drawn."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.update(result)
        return handle is not None


class _Arguments:
    """The line of a command. Raises UsageError."""

    def __init__(self, line: str) -> None:
        self.url: str | None = None
        self.home: str | None = None
        self.spark: str | None = None
        self.closes = self.wants_help = False
        self.seconds: float | None = None
        self.rows = CellOptions.rows
        self.name = ""
        self.rest = line.strip()
        while self.rest.startswith("--") and self.rest[2:3].isalpha():
            self._take_option()
        if self.rest.startswith(_ADDRESSES):
            self.url, self.rest = self._split()
        assignment = _ASSIGNMENT.match(self.rest)
        if assignment is not None:
            self.name, self.rest = assignment[1], self.rest[assignment.end() :]

    @property
    def connects(self) -> bool:
        """Return whether the line changes the connection."""
        return self.closes or any(each is not None for each in (self.url, self.home, self.spark))

    def _take_option(self) -> None:
        option, self.rest = self._split()
        match option:
            case "--help":
                self.wants_help = True
            case "--close":
                self.closes = True
            case "--spark":
                self.spark = "spark"
                if self.rest and not self.rest.startswith("--"):
                    self.spark, self.rest = self._split()
            case "--url" | "--home" | "--seconds" | "--rows":
                value, self.rest = self._split()
                self._set(option, value)
            case _:
                raise UsageError(f"There is no option {option}.\n{_USAGE}")

    def _set(self, option: str, value: str) -> None:
        try:
            if option == "--seconds":
                self.seconds = float(value)
            elif option == "--rows":
                self.rows = int(value)
            elif value:
                setattr(self, option[2:], os.path.expanduser(shlex.split(value)[0]))
        except ValueError:
            value = ""
        if not value or self.rows < 1:
            raise UsageError(f"{option} needs a value.\n{_USAGE}")

    def _split(self) -> tuple[str, str]:
        """Return the first word, which may be in quotes, and the rest."""
        match = re.match(r"""(?:"[^"]*"|'[^']*'|\S)+""", self.rest)
        word = "" if match is None else match.group()
        return word, self.rest[len(word) :].lstrip()


def _refuse(error: Exception) -> NoReturn:
    """Report that there is no connection, without a stack trace. Raises UsageError."""
    message = str(error.report.message) if isinstance(error, ReportedError) else str(error)
    raise UsageError(message) from error


def load(shell: InteractiveShell) -> None:
    """Add the commands to a notebook, once."""
    if _KEY in shell.magics_manager.registry:
        return
    magics = JetSQLMagics(shell)
    shell.register_magics(magics)
    magics.completion.install(shell)


def unload(shell: InteractiveShell) -> None:
    """Close the connection, and remove the commands."""
    magics = shell.magics_manager.registry.pop(_KEY, None)
    if isinstance(magics, JetSQLMagics):
        magics.close()
        magics.completion.uninstall(shell)
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("jetsql", None)


_KEY: Final = JetSQLMagics.__name__
