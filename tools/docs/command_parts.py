"""The command line, from what click knows of its commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from jetsql.cli import cli
from tools.docs.markdown import table


def commands() -> str:
    """Return a section for each command."""
    return "\n".join(_section(name, command) for name, command in _all_commands(cli))


def _all_commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _all_commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def program() -> str:
    """Return the part about `jetsql` without a command."""
    return f"## jetsql\n\n```text\n{_usage('', cli)}\n```\n\n{_help(cli)}\n{_options(cli)}"


def _section(name: str, command: click.Command) -> str:
    return f"## jetsql {name}\n\n```text\n{_usage(name, command)}\n```\n\n{_help(command)}\n{_options(command)}"


def _usage(name: str, command: click.Command) -> str:
    context = _context(command, name)
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _context(command: click.Command, name: str = "") -> click.Context:
    """Return a context of the command line. A command keeps the option for help that it makes in its first one."""
    return click.Context(command, info_name=f"jetsql {name}".strip(), **cli.context_settings)


def _help(command: click.Command) -> str:
    """Return the help text; the examples, which click does not wrap, are blocks."""
    return "\n".join(_paragraphs(inspect.cleandoc(command.help or "")))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        if not paragraph.startswith("\b"):
            yield f"{_escape(' '.join(paragraph.split()))}\n"
            continue
        lines = paragraph.removeprefix("\b").strip("\n").splitlines()
        title, examples = lines[0], "\n".join(line.removeprefix("  ") for line in lines[1:])
        yield f"{title}\n\n```text\n{examples}\n```\n"


def _escape(text: str) -> str:
    """Keep `<`, `*` and `_` outside of code from being Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<*_\[\]])", r"\\\1", part) for part in parts)


def _options(command: click.Command) -> str:
    """Return a table of a command's options; of those that `jetsql` itself has, it has the names only."""
    common = {} if command is cli else _records(cli)
    records = _records(command)
    own = [(f"`{names}`", _escape(text)) for names, text in records.items() if names not in common]
    shared = ", ".join(f"`{names.partition(' ')[0].rstrip(',')}`" for names in records if names in common)
    text = table(("option", "meaning"), own) if own else ""
    return text + (f"\nOptions of [jetsql](#jetsql): {shared}.\n" if shared else "")


def _records(command: click.Command) -> dict[str, str]:
    """Return the options of a command with their help, without `--help`."""
    context = _context(command)
    found = [each.get_help_record(context) for each in command.get_params(context) if isinstance(each, click.Option)]
    return {names: text for names, text in filter(None, found) if "--help" not in names}
