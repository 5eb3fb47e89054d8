"""The shell's own commands as data for `.help`, completion and the loop."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final


class ArgumentKind(Enum):
    """The kinds of arguments of commands."""

    NONE = "nothing"
    COMMAND = "a command"
    FILE = "a file"
    MODE = "a mode"
    SETTING = "a setting and its value"
    SWITCH = "on or off"
    STATEMENT = "a statement"
    PATTERN = "a pattern"


@dataclass(frozen=True)
class CommandSpec:
    """The description of a command."""

    word: str  # with its dot
    argument: ArgumentKind
    usage: str  # its argument, in `.help`
    summary: str  # one line
    details: str = ""
    aliases: tuple[str, ...] = ()
    takes_statement: bool = False  # after the command, on several lines


COMMANDS: Final[tuple[CommandSpec, ...]] = (
    CommandSpec(
        ".help",
        ArgumentKind.COMMAND,
        "[COMMAND]",
        "list the commands, or explain one",
        "SQL statements need no dot and end with a semicolon.",
        (".h",),
    ),
    CommandSpec(
        ".jobs",
        ArgumentKind.PATTERN,
        "[PATTERN]",
        "list all jobs, including those that have ended",
        "Same as SHOW ALL JOBS [LIKE 'PATTERN']; * matches any text.",
    ),
    CommandSpec(
        ".read",
        ArgumentKind.FILE,
        "FILE",
        "run the statements in a file",
        "Like `jetsql run FILE`: it stops at the first error and does not ask before a DROP.",
    ),
    CommandSpec(
        ".edit",
        ArgumentKind.NONE,
        "",
        "edit the last statement in an editor",
        "Opens $VISUAL or $EDITOR and puts the edited text at the prompt, where Enter runs it. While you type a "
        "statement, Ctrl-X Ctrl-E (with vi keys: Esc v) opens the editor on it.",
        (".e",),
    ),
    CommandSpec(
        ".format",
        ArgumentKind.STATEMENT,
        "[STATEMENT]",
        "format a statement (default: the last one)",
        "Puts the formatted text at the prompt, where Enter runs it. Only white space and the case of keywords change. "
        "Indent further lines of the statement.",
        takes_statement=True,
    ),
    CommandSpec(
        ".mode",
        ArgumentKind.MODE,
        "[MODE]",
        "show or set the format of results",
        "Without MODE, prints the current mode and lists all modes. Same as `.set mode MODE`.",
    ),
    CommandSpec(
        ".output",
        ArgumentKind.FILE,
        "[FILE | >>FILE | |COMMAND]",
        "send results to a file or command; without argument, to the screen",
        "FILE is overwritten, >>FILE is appended to. The suffix .csv, .json, .jsonl or .md selects the format; "
        "otherwise .mode does.",
    ),
    CommandSpec(
        ".watch",
        ArgumentKind.STATEMENT,
        "[SECONDS] STATEMENT",
        "repeat a statement and redraw its rows in place",
        "Repeats every 2 seconds by default; q or Ctrl-C ends it. The statement must only read. Indent its further "
        "lines.",
        takes_statement=True,
    ),
    CommandSpec(
        ".top",
        ArgumentKind.NONE,
        "",
        "show the jobs live, on the full screen",
        "Shows rates, lag, batch time, state and the last error; keys suspend, resume, restart and drop jobs. Press ? "
        "there to list the keys.",
    ),
    CommandSpec(
        ".timing",
        ArgumentKind.SWITCH,
        "[on|off]",
        "show or hide how long each statement took",
        "Same as `.set timing`.",
    ),
    CommandSpec(
        ".set",
        ArgumentKind.SETTING,
        "[NAME [VALUE]]",
        "list the shell's settings, or change one until the shell exits",
        "To keep a value, write it under [shell] in config.toml (see `.config`). SET without a dot is Spark's.",
    ),
    CommandSpec(
        ".config",
        ArgumentKind.NONE,
        "",
        "print the path of config.toml; add a commented [shell] if missing",
        "Existing lines never change: a missing table [shell] is appended, with every setting in a comment.",
    ),
    CommandSpec(
        ".errors",
        ArgumentKind.NONE,
        "",
        "show the details of the last error",
        "Shows its condition, SQLSTATE and the whole statement; with `jetsql -v` also the engine's stack trace.",
        (".error",),
    ),
    CommandSpec(".clear", ArgumentKind.NONE, "", "clear the screen", "Ctrl-L does the same while you type.", (".cls",)),
    CommandSpec(
        ".quit",
        ArgumentKind.NONE,
        "",
        "leave the shell; jobs continue in the engine",
        "Same as Ctrl-D. `jetsql stop` stops the engine and its jobs.",
        (".exit", ".q"),
    ),
)

# Commands of other shells, with their replacements here.
_FOREIGN_COMMANDS: Final = {
    r"\q": ".quit",
    r"\?": ".help",
    r"\h": ".help",
    r"\d": "SHOW TABLES; or DESCRIBE name;",
    r"\d+": "DESCRIBE EXTENDED name;",
    r"\dt": "SHOW TABLES;",
    r"\dv": "SHOW VIEWS;",
    r"\dn": "SHOW SCHEMAS;",
    r"\df": "SHOW FUNCTIONS;",
    r"\l": "SHOW SCHEMAS;",
    r"\c": "USE schema;",
    r"\i": ".read FILE",
    r"\e": ".edit",
    r"\g": ".edit",
    r"\s": "Ctrl-R, which searches the history",
    r"\x": ".mode vertical",
    r"\timing": ".timing",
    r"\pset": ".set",
    r"\set": ".set",
    r"\watch": ".watch STATEMENT",
    r"\o": ".output FILE",
    ".tables": "SHOW TABLES;",
    ".databases": "SHOW SCHEMAS;",
    ".schema": "SHOW CREATE TABLE name;",
    ".headers": ".mode",
    ".timer": ".timing",
}


def find_command(word: str) -> CommandSpec | None:
    """Return the command with this name or alias, or the only one that it abbreviates, or None."""
    word = word.lower()
    for command in COMMANDS:
        if word == command.word or word in command.aliases:
            return command
    matches = [command for command in COMMANDS if len(word) > 2 and command.word.startswith(word)]
    return matches[0] if len(matches) == 1 else None


def suggest_command(word: str) -> str:
    """Return a hint for an unknown command."""
    known = _FOREIGN_COMMANDS.get(word.lower())
    if known is not None:
        return f"Enter {known}"
    near = get_close_matches("." + word.lower().lstrip(".\\"), [command.word for command in COMMANDS])
    return f"Did you mean {near[0]}?" if near else ".help lists the commands."


def command_summaries() -> list[str]:
    """Return the commands, one per line."""
    shown = [(f"{command.word} {command.usage}".strip(), command.summary) for command in COMMANDS]
    size = max(len(usage) for usage, _ in shown)
    return [f"{usage:<{size}}  {text}" for usage, text in shown]


def help_lines(command: CommandSpec) -> list[str]:
    """Return the full help of a command, in lines."""
    aliases = [f"Also: {', '.join(command.aliases)}"] if command.aliases else []
    more = [command.details] if command.details else []
    return [
        f"{command.word} {command.usage}".strip(),
        f"  {command.summary}",
        *(f"  {line}" for line in more + aliases),
    ]
