"""The mutants of a file as changes of its text, and the list of explained mutants."""

from __future__ import annotations

import ast
import difflib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import libcst
from mutmut.mutation.file_mutation import Mutation, create_mutations

PACKAGES: Final = ("jobs", "language", "client", "server", "embedded", "check")
_CASELESS: Final = frozenset(
    "accept authorization connection content-length content-type localhost retry-after transfer-encoding"
    " www-authenticate".split()
)
EXPLAINED: Final = Path(__file__).with_name("explained.toml")


@dataclass(frozen=True)
class Identity:
    """The identity of a mutant, which does not depend on line numbers."""

    place: str
    """The file and the qualified name of the function."""
    before: str
    """The lines that the mutant replaces, without indentation."""
    after: str
    """The lines that replace them."""


@dataclass(frozen=True)
class Mutant:
    """One changed copy of a file."""

    file: str
    """The path of the file in the project."""
    identity: Identity
    """The identity for the list of explained mutants."""
    function: str
    """The qualified name of the top-level function, or of the method, around the change."""
    lines: range
    """The lines of the changed statement; those of its header for a compound statement, except for a function."""
    nested: range
    """The line that creates the nested function around the change; empty outside of nested functions."""
    text: str
    """The text of the whole file with the change."""
    diff: str
    """The change as a unified diff."""


class File:
    """A file and its mutants, which are created only when they are needed."""

    def __init__(self, root: Path, path: Path) -> None:
        self.name = path.relative_to(root).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self._statements = list(_statements(ast.parse(self.text)))
        self._module, mutations, _, _ = create_mutations(self.name, self.text)
        self._mutations = [
            each for each in mutations if _is_in_function(each) and not _is_prose(each) and not _is_same_name(each)
        ]

    @property
    def module(self) -> str:
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def __len__(self) -> int:
        return len(self._mutations)

    def mutant(self, number: int) -> Mutant:
        """Return a mutant. number: its number, from 0."""
        mutation = self._mutations[number]
        changed = self._module.deep_replace(mutation.original_node, mutation.mutated_node)
        assert isinstance(changed, libcst.Module)
        old, new = self.text.splitlines(), changed.code.splitlines()
        diff = list(difflib.unified_diff(old, new, self.name, self.name, n=2, lineterm=""))
        statement = self._around(_changed_lines(old, new))
        identity = Identity(f"{self.name} {statement.function}", *_sides(diff))
        return Mutant(
            self.name, identity, statement.function, statement.header, statement.nested, changed.code, "\n".join(diff)
        )

    def mutants_at(self, place: str) -> Iterator[Mutant]:
        """Yield the mutants of a function."""
        for number in range(len(self)):
            mutant = self.mutant(number)
            if mutant.identity.place == place:
                yield mutant

    def _around(self, changed: range) -> _Statement:
        """Return the innermost statement that contains these lines."""
        return [
            each for each in self._statements if each.lines.start <= changed.start <= changed.stop <= each.lines.stop
        ][-1]


@dataclass(frozen=True)
class _Statement:
    lines: range
    """All lines."""
    header: range
    """The lines before the body; all lines of a function, whose header runs only at the import, or without a body."""
    function: str
    """The qualified name of the top-level function or of the method around the statement."""
    nested: range
    """The line that creates the nested function around the statement, or an empty range."""


def _statements(
    tree: ast.AST, function: str = "", inside: bool = False, nested: range = range(0)
) -> Iterator[_Statement]:
    """Yield all statements, the outer ones first."""
    for node in ast.iter_child_nodes(tree):
        name, within, around = function, inside, nested
        if inside and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            around = range(node.lineno, node.lineno + 1)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not inside:
            name = f"{function}.{node.name}".removeprefix(".")
            within = not isinstance(node, ast.ClassDef)
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            yield _statement(node, node.lineno, name, nested)
        elif isinstance(node, ast.match_case):
            yield _statement(node, node.pattern.lineno, name, nested)
        yield from _statements(node, name, within, around)


def _statement(
    node: ast.stmt | ast.ExceptHandler | ast.match_case, first: int, function: str, nested: range
) -> _Statement:
    last = node.body[-1] if isinstance(node, ast.match_case) else node
    lines = range(first, (last.end_lineno or first) + 1)
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _Statement(lines, lines, function, nested)
    inner = body[0].pattern.lineno if isinstance(node, ast.Match) else body[0].lineno
    return _Statement(lines, range(first, max(inner, first + 1)), function, nested)


def _changed_lines(old: list[str], new: list[str]) -> range:
    """Return the range of the lines of the old text that differ, counted from 1."""
    changes = [
        block for block in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if block[0] != "equal"
    ]
    first, last = changes[0][1], changes[-1][2]
    return range(first + 1, max(last, first + 1) + 1)


def _sides(diff: Iterable[str]) -> tuple[str, str]:
    """Return the removed and the added lines of a diff."""
    lines = list(diff)[2:]
    before, after = ("\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
    return before, after


def _is_in_function(mutation: Mutation) -> bool:
    """Return whether a mutation changes a function. The code of a module or class runs only at its import."""
    return isinstance(mutation.contained_by_top_level_function, libcst.FunctionDef)


def _is_prose(mutation: Mutation) -> bool:
    """Return whether a mutation changes a message or the name of the encoding, whose case does not matter.

    Every plain string with a space counts as a message.
    """
    node = mutation.original_node
    return isinstance(node, libcst.SimpleString) and (
        " " in str(node.evaluated_value) or node.evaluated_value == "utf-8"
    )


def _is_same_name(mutation: Mutation) -> bool:
    """Return whether a mutation changes only the case of a name that HTTP and DNS compare without case."""
    old, new = mutation.original_node, mutation.mutated_node
    return (
        isinstance(old, libcst.SimpleString)
        and isinstance(new, libcst.SimpleString)
        and str(old.evaluated_value).lower() == str(new.evaluated_value).lower()
        and str(old.evaluated_value).lower() in _CASELESS
    )


def files(root: Path) -> list[File]:
    """Return the files of `PACKAGES` that have mutants."""
    paths = [path for package in PACKAGES for path in sorted((root / "jetsql" / package).rglob("*.py"))]
    return [file for file in (File(root, path) for path in paths) if len(file)]


def explained(path: Path = EXPLAINED) -> dict[Identity, str]:
    """Return the reasons of the explained mutants. Raises ValueError for an entry without a reason."""
    with path.open("rb") as file:
        entries = tomllib.load(file).get("mutant", [])
    reasons = {Identity(entry["place"], entry["before"], entry["after"]): entry["reason"].strip() for entry in entries}
    for identity, reason in reasons.items():
        if not reason:
            raise ValueError(f"The mutant of {identity.place} ({identity.after}) has no reason in {path.name}.")
    return reasons


def stale(reasons: Iterable[Identity], sources: Iterable[File]) -> list[Identity]:
    """Return the explained mutants that no longer exist because the code has changed."""
    by_name = {file.name: file for file in sources}
    by_place: dict[str, set[Identity]] = {}
    for identity in reasons:
        by_place.setdefault(identity.place, set()).add(identity)
    missing: list[Identity] = []
    for place, identities in by_place.items():
        file = by_name.get(place.partition(" ")[0])
        existing = {mutant.identity for mutant in file.mutants_at(place)} if file else set()
        missing += identities - existing
    return missing
