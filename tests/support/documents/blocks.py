"""The steps of a Markdown page: its fenced blocks, and the comments that say how tests run them.

`tests/project/test_document_blocks.py` has the convention.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

RUNNABLE: Final = ("sql", "python", "shell", "console")
SHOWN: Final = ("text", "csv", "yaml", "toml", "ini", "json", "java", "xml", "properties", "promql", "diff", "markdown")

_FENCE: Final = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<language>[\w-]*)(?P<info>[^`]*)$")
_TITLE: Final = re.compile(r'title="([^"]+)"')
_DIRECTIVE: Final = re.compile(r"^(?P<name>not run|fails|program|output|topics|file)\b(?::[ \t]*(?P<value>[^\n]*))?")
_HIDDEN: Final = re.compile(r"^(?P<language>sql|python|shell)[ \t]*\n(?P<text>.*)$", re.DOTALL)
_IGNORED: Final = ("generated", "end of generated", "note:")


class PageError(Exception):
    """A page that does not keep to the convention."""


@dataclass(frozen=True)
class Step:
    """A block, or a hidden step."""

    line: int  # of its first line of text in the page, from 1
    language: str
    text: str
    file: str | None = None  # the name of the file that it is, instead of being run
    hidden: bool = False
    not_run: str | None = None  # the reason
    fails: str | None = None  # the condition, or the exit code
    is_program: bool = False
    is_output: bool = False  # of the step before it
    topics: tuple[tuple[str, int], ...] = ()  # Kafka topics to create, with their partitions

    @property
    def is_run(self) -> bool:
        return self.language in RUNNABLE and self.not_run is None and self.file is None


@dataclass
class _Reader:
    """Read a page line by line."""

    page: str
    lines: list[str]
    steps: list[Step] = field(default_factory=list)
    directives: dict[str, str] = field(default_factory=dict)
    at: int = 0

    def read(self) -> list[Step]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            fence = _FENCE.match(line)
            if fence is not None:
                self._fence(fence)
            elif line.lstrip().startswith("<!--"):
                self._comment()
            else:
                if line.strip() and self.directives:
                    raise self._error(f"no block follows the comment {', '.join(self.directives)!r}")
                self.at += 1
        if self.directives:
            raise self._error(f"no block follows the comment {', '.join(self.directives)!r}")
        return self.steps

    def _fence(self, fence: re.Match[str]) -> None:
        first, end = self.at + 1, fence["indent"] + fence["marks"]
        language = fence["language"]
        if language not in RUNNABLE + SHOWN:
            raise self._error(f"a block has one of the languages {', '.join(RUNNABLE + SHOWN)}, not {language!r}")
        last = next((n for n in range(first, len(self.lines)) if self.lines[n].rstrip() == end), None)
        if last is None:
            raise self._error("a block does not end")
        title = _TITLE.search(fence["info"])
        self.at = last + 1
        self._add(first, language, self.lines[first:last], title[1] if title else None)

    def _comment(self) -> None:
        first = self.at
        last = next((n for n in range(first, len(self.lines)) if "-->" in self.lines[n]), None)
        if last is None:
            raise self._error("a comment does not end")
        text = textwrap.dedent("\n".join(self.lines[first : last + 1])).strip()
        text = text.removeprefix("<!--").partition("-->")[0].strip(" ")
        self.at = last + 1
        directive, hidden = _DIRECTIVE.match(text), _HIDDEN.match(text)
        if directive is not None and directive["name"] == "file":
            content = text.partition("\n")[2]
            self.steps.append(Step(first + 2, "text", content, (directive["value"] or "").strip(), hidden=True))
        elif directive is not None:
            self.directives[directive["name"]] = (directive["value"] or "").strip()
        elif hidden is not None:
            self._add(first + 1, hidden["language"], hidden["text"].split("\n"), None, hidden=True)
        elif not text.startswith(_IGNORED):
            raise self._error(f"this comment means nothing to the tests: {text.splitlines()[0] if text else ''!r}")

    def _add(self, first: int, language: str, lines: list[str], file: str | None, hidden: bool = False) -> None:
        given, self.directives = self.directives, {}
        step = Step(
            first + 1,
            language,
            textwrap.dedent("\n".join(lines)).rstrip("\n") + "\n",
            file,
            hidden,
            given.get("not run"),
            given.get("fails"),
            "program" in given,
            "output" in given,
            _topics(given.get("topics", "")),
        )
        if step.not_run is not None and len(step.not_run.split()) < 2:
            raise self._error("say in some words why the block is not run")
        if step.is_output and not self.steps:
            raise self._error("there is nothing that this could be the output of")
        self.steps.append(step)

    def _error(self, message: str) -> PageError:
        return PageError(f"{self.page}:{self.at + 1}: {message}")


def _topics(text: str) -> tuple[tuple[str, int], ...]:
    pairs = (word.partition("=") for word in re.split(r"[\s,]+", text) if word)
    return tuple((name, int(partitions or 1)) for name, _, partitions in pairs)


def read_page(path: Path, name: str) -> list[Step]:
    """Return the steps of a page in their order. Raises PageError."""
    steps = _Reader(name, path.read_text(encoding="utf-8").splitlines()).read()
    for number, step in enumerate(steps):
        if step.file is None or step.hidden or step.not_run is not None:
            continue
        if not any(Path(step.file).name in later.text for later in steps[number + 1 :] if later.is_run):
            raise PageError(f"{name}:{step.line}: no later block uses the file {step.file}")
    return steps


def console_commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output that is shown for it. Raises ValueError."""
    commands: list[tuple[str, str]] = []
    continued = False
    for line in text.splitlines():
        command, output = commands[-1] if commands else ("", "")
        if line.startswith("$ "):
            commands.append((line[2:], ""))
        elif not commands:
            raise ValueError("a console block begins with a command: `$ ` in front of it")
        elif continued or (line.startswith("> ") and not output):
            commands[-1] = f"{command}\n{line.removeprefix('> ')}", output
        else:
            commands[-1] = command, f"{output}{line}\n"
        continued = line.endswith("\\")
    return commands
