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
    FAVOURITE = "a favourite"
    MODE = "a mode"
    SETTING = "a setting and its value"
    SWITCH = "on or off"
    STATEMENT = "a statement"
    PATTERN = "a pattern"


class StatementPosition(Enum):
    """Where a command takes a statement, which may have several lines."""

    NONE = "nowhere"
    FIRST = "right behind its word"
    SECOND = "behind its first argument"


@dataclass(frozen=True)
class CommandSpec:
    """The description of a command."""

    word: str  # with its dot
    argument: ArgumentKind
    usage: str  # of its argument
    summary: str  # one line
    details: str = ""
    aliases: tuple[str, ...] = ()
    statement: StatementPosition = StatementPosition.NONE


COMMANDS: Final[tuple[CommandSpec, ...]] = (
    CommandSpec(
        ".help",
        ArgumentKind.COMMAND,
        "[COMMAND]",
        "the commands, or all about one",
        "Statements of SQL need no dot and end with a semicolon.",
        (".h",),
    ),
    CommandSpec(
        ".jobs",
        ArgumentKind.PATTERN,
        "[PATTERN]",
        "the jobs, also those that have ended",
        "The same as SHOW ALL JOBS [LIKE 'PATTERN']; * stands for anything.",
    ),
    CommandSpec(
        ".read",
        ArgumentKind.FILE,
        "FILE",
        "run the statements in a file",
        "As `jetsql run FILE` does: the first that fails ends it, and nothing is asked before a DROP.",
    ),
    CommandSpec(
        ".edit",
        ArgumentKind.NONE,
        "",
        "edit the last statement in an editor",
        "The editor is that of $VISUAL or $EDITOR. What it leaves is put at the prompt, to be run with Enter. While a "
        "statement is being typed, Ctrl-X Ctrl-E (with the keys of vi: Esc v) opens the editor on it.",
        (".e",),
    ),
    CommandSpec(
        ".save",
        ArgumentKind.FAVOURITE,
        "NAME [STATEMENT]",
        "keep a statement, else the last one, under a name",
        "It is a file NAME.sql in the folder `favourites` beside config.toml; remove the file to forget it. Further "
        "lines of the statement are indented.",
        statement=StatementPosition.SECOND,
    ),
    CommandSpec(
        ".run", ArgumentKind.FAVOURITE, "NAME", "run what was kept under a name", "It is shown before it is run."
    ),
    CommandSpec(".favourites", ArgumentKind.NONE, "", "what was kept with .save", "", (".fav", ".favorites")),
    CommandSpec(
        ".mode",
        ArgumentKind.MODE,
        "[MODE]",
        "how results are shown",
        "Without a mode it tells which ones there are. The same as `.set mode MODE`.",
    ),
    CommandSpec(
        ".output",
        ArgumentKind.FILE,
        "[FILE | >>FILE | |COMMAND]",
        "send results to a file or a command; alone, back to the screen",
        "FILE is written anew, >>FILE is appended to. A name that ends in .csv, .json, .jsonl or .md says the form; "
        "else results have that of .mode.",
    ),
    CommandSpec(
        ".watch",
        ArgumentKind.STATEMENT,
        "[SECONDS] STATEMENT",
        "run a statement again and again, its rows in the same place",
        "Every 2 seconds, unless it is said otherwise; q or Ctrl-C ends it. Only what reads can be watched. Further "
        "lines of the statement are indented.",
        statement=StatementPosition.FIRST,
    ),
    CommandSpec(
        ".top",
        ArgumentKind.NONE,
        "",
        "the jobs live, on the whole screen",
        "Rates, lag, batch time, state and the last error; its keys suspend, resume, restart and drop jobs. There, ? "
        "tells all of them.",
    ),
    CommandSpec(
        ".timing", ArgumentKind.SWITCH, "[on|off]", "tell how long each statement took", "The same as `.set timing`."
    ),
    CommandSpec(
        ".set",
        ArgumentKind.SETTING,
        "[NAME [VALUE]]",
        "the shell's settings, or set one until the shell ends",
        "To keep a value, write it under [shell] in config.toml (`.config` tells where). SET without a dot is Spark's.",
    ),
    CommandSpec(
        ".config",
        ArgumentKind.NONE,
        "",
        "where settings are kept; writes a commented file when there is none",
        "It never changes what stands in the file: where there is no table [shell], a commented one is put at the end.",
    ),
    CommandSpec(
        ".errors",
        ArgumentKind.NONE,
        "",
        "all about the last error",
        "Its condition, SQLSTATE and the whole statement; with `jetsql -v` also where in the engine it came from.",
        (".error",),
    ),
    CommandSpec(".clear", ArgumentKind.NONE, "", "clear the screen", "Ctrl-L does the same while you type.", (".cls",)),
    CommandSpec(
        ".quit",
        ArgumentKind.NONE,
        "",
        "leave; jobs go on in the engine",
        "Ctrl-D does the same. `jetsql stop` stops the engine and its jobs.",
        (".exit", ".q"),
    ),
)

# Commands of other shells, and what replaces them here.
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
    """Return the command of a word, or the only one that begins with it."""
    word = word.lower()
    for command in COMMANDS:
        if word == command.word or word in command.aliases:
            return command
    matches = [command for command in COMMANDS if len(word) > 2 and command.word.startswith(word)]
    return matches[0] if len(matches) == 1 else None


def suggest_command(word: str) -> str:
    """Return what to enter instead of an unknown command."""
    known = _FOREIGN_COMMANDS.get(word.lower())
    if known is not None:
        return f"Enter {known}"
    near = get_close_matches("." + word.lower().lstrip(".\\"), [command.word for command in COMMANDS], n=1)
    return f"Did you mean {near[0]}?" if near else ".help lists the commands."


def command_summaries() -> list[str]:
    """Return the commands, one per line."""
    shown = [(f"{command.word} {command.usage}".strip(), command.summary) for command in COMMANDS]
    size = max(len(usage) for usage, _ in shown)
    return [f"{usage:<{size}}  {text}" for usage, text in shown]


def help_lines(command: CommandSpec) -> list[str]:
    """Return the whole help of a command."""
    aliases = [f"Also: {', '.join(command.aliases)}"] if command.aliases else []
    more = [command.details] if command.details else []
    return [
        f"{command.word} {command.usage}".strip(),
        f"  {command.summary}",
        *(f"  {line}" for line in more + aliases),
    ]
