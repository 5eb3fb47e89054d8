"""Make Python functions from the source of CREATE FUNCTION, in Spark's Python workers.

The workers need not have JetSQL: `load` and everything that it calls are pickled by value, so they use only the
standard library and PySpark. The file is also a program, which checks a source before it is stored: it imports the
modules and runs the module's code in a process of its own, never in the engine.

Line 1 of a source is the line of its opening quotes, in tracebacks too.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import json
import keyword
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, TypedDict


class Problem(TypedDict):
    """An error of a source."""

    message: str
    hint: str
    line: int  # from 1; 0 for the whole source
    column: int  # from 0, in the line of the source
    module: str  # a module that cannot be imported, or an empty text


class SourceError(Exception):
    """A source from which no function can be made."""

    def __init__(self, message: str, hint: str = "", line: int = 0, column: int = 0, module: str = "") -> None:
        super().__init__(message)
        self.problem = Problem(message=message, hint=hint, line=line, column=column, module=module)


class Definition(TypedDict):
    """A function as the engine sends it to the workers."""

    name: str  # with its schema
    source: str
    parameters: list[str]
    handler: str  # empty if the source is the body of the function
    kind: str  # ROWS: a call for each row; PANDAS, ARROW: an iterator of batches; TABLE: a class with `eval`
    returns: str  # the SQL type of a single value, for messages
    return_type: str  # the same type as JSON, for a table function a struct of its columns
    columns: list[str]  # the SQL types of a table function's columns


def load(definition: Definition) -> Any:
    """Return the function, or the class of a table function. Raises the errors of the source's own code."""
    made = _make(definition)
    if definition["kind"] == "TABLE":
        return _checked_table(made, definition)
    return _checked(made, definition) if definition["kind"] == "ROWS" else made


def file_name(definition: Definition) -> str:
    """Return the name that tracebacks show instead of a file."""
    return f"<function {definition['name']}>"


def _make(definition: Definition) -> Any:
    tree, text, _ = parse_source(definition["source"])
    file, handler = file_name(definition), definition["handler"]
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)  # tracebacks then show the lines
    namespace: dict[str, Any] = {"__name__": "jetsql_function"}
    if not handler:
        handler = definition["name"].rpartition(".")[2]
        handler = handler if handler.isidentifier() and not keyword.iskeyword(handler) else "function"
        tree = _as_function(tree, handler, definition["parameters"])
    code: CodeType = compile(tree, file, "exec")
    exec(code, namespace)  # the user's own code, for which the function was created
    return namespace.get(handler)


def parse_source(source: str) -> tuple[ast.Module, str, list[int]]:
    """Return the syntax tree of a source, its text without common indentation, and the indentation of each line.

    Raises SyntaxError, whose positions are those of the text.
    """
    lines = source.split("\n")
    attempts = [_dedented(lines)]
    if lines[0].strip():  # source on the line of the opening quotes, which has no indentation to compare with
        first = len(lines[0]) - len(lines[0].lstrip())
        rest_text, rest = _dedented(lines[1:])
        attempts = [
            ("\n".join([lines[0][first:], *lines[1:]]), [first] + [0] * (len(lines) - 1)),
            ("\n".join([lines[0][first:], rest_text]) if rest else lines[0][first:], [first, *rest]),
        ]
    for text, removed in attempts[:-1]:
        try:
            return ast.parse(text), text, removed
        except SyntaxError:
            continue  # the last attempt reports the error
    text, removed = attempts[-1]
    return ast.parse(text), text, removed


def _dedented(lines: Sequence[str]) -> tuple[str, list[int]]:
    margins = [line[: len(line) - len(line.lstrip())] for line in lines if line.strip()]
    first, last = min(margins, default=""), max(margins, default="")
    same = [one == other for one, other in zip(first, last, strict=False)]
    margin = first[: same.index(False) if False in same else len(same)]
    removed = [len(margin) if line.startswith(margin) else len(line) for line in lines]
    return "\n".join(line[count:] for line, count in zip(lines, removed, strict=True)), removed


def _as_function(tree: ast.Module, name: str, parameters: Sequence[str]) -> ast.Module:
    """Return a module with one function that has the statements of `tree` as its body."""
    module = ast.parse(f"def {name}({', '.join(parameters)}): pass")
    module.body[0].body = tree.body  # type: ignore[attr-defined]
    return module


def _checked(function: Callable[..., Any], definition: Definition) -> Callable[..., Any]:
    """Return a function that raises an error for a value of another type. Spark would make it NULL."""
    converted = _converter(definition["return_type"], definition["returns"], definition["name"])

    @functools.wraps(function)
    def checked(*values: Any) -> Any:
        return converted(function(*values))

    return checked


def _checked_table(handler: type, definition: Definition) -> type:
    """Return a table function whose rows are checked as the values of `_checked` are."""
    types = [(json.dumps(each["type"]), each["name"]) for each in json.loads(definition["return_type"])["fields"]]
    columns = [
        _converter(kind, column, definition["name"], f" for the column {name}")
        for (kind, name), column in zip(types, definition["columns"], strict=True)
    ]

    def rows(values: Any) -> Iterator[Any]:
        for row in values or ():
            if isinstance(row, tuple | list) and len(row) == len(columns):
                row = tuple(convert(value) for convert, value in zip(columns, row, strict=True))
            yield row

    def wrapped(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def checked(*values: Any, **named: Any) -> Iterator[Any]:
            return rows(method(*values, **named))

        return checked

    methods = {name: wrapped(getattr(handler, name)) for name in ("eval", "terminate") if hasattr(handler, name)}
    return type(handler.__name__, (handler,), methods)


def _converter(return_type: str, returns: str, name: str, place: str = "") -> Callable[[Any], Any]:
    """Return a function that returns a value as one of the type, or raises TypeError.

    Whole numbers become numbers of the type, and NumPy's values those of Python.
    """
    from decimal import Decimal

    from pyspark.sql.types import DecimalType, DoubleType, FloatType, _make_type_verifier, _parse_datatype_json_string

    kind = _parse_datatype_json_string(return_type)
    verify = _make_type_verifier(kind, nullable=True)
    from_int: Any = float if isinstance(kind, DoubleType | FloatType) else None
    from_int = Decimal if isinstance(kind, DecimalType) else from_int

    def converted(value: Any) -> Any:
        if value is None:
            return None
        if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
            value = value.tolist()
        if from_int is not None and type(value) is int:
            value = from_int(value)
        try:
            verify(value)
        except (TypeError, ValueError):
            shown = repr(value)
            shown = shown if len(shown) <= 80 else shown[:80] + "..."
            raise TypeError(
                f"The function {name} returned {shown} ({type(value).__name__}){place}, which is not {returns}."
            ) from None
        return value

    return converted


def check(definition: Definition) -> None:
    """Raise SourceError if no function can be made from a source: its syntax, imports, handler or own code fails."""
    removed: list[int] = []
    try:
        tree, _, removed = parse_source(definition["source"])
        if not definition["handler"]:
            _check_body(tree, definition, removed)
        compile(tree if definition["handler"] else _as_function(tree, "f", []), file_name(definition), "exec")
    except SyntaxError as error:
        line, column = _syntax_place(error, definition["source"], removed)
        raise SourceError(f"The Python source has an error: {error.msg}", "", line, column) from None
    except ValueError as error:  # a null character
        raise SourceError(f"The Python source has an error: {error}") from None
    for node in _imports(tree):
        _check_import(node, removed)
    for name in {"PANDAS": ("pandas", "pyarrow"), "ARROW": ("pyarrow",)}.get(definition["kind"], ()):
        _check_package(name)
    try:
        made = _make(definition)
    except (Exception, SystemExit) as error:
        raise _own_error(error, definition) from None
    if definition["handler"]:
        _check_handler(made, definition, tree)


def _syntax_place(error: SyntaxError, source: str, removed: Sequence[int]) -> tuple[int, int]:
    """Return the line and column of an error in the source as written; removed: empty when it could not be parsed."""
    line = error.lineno or 1
    lines = source.split("\n")
    written = lines[line - 1] if line <= len(lines) else ""
    parsed = (error.text or "").rstrip("\n")
    indentation = max(written.find(parsed), 0) if parsed else 0
    if removed:
        indentation = removed[line - 1]
    return line, min(indentation + max((error.offset or 1) - 1, 0), len(written))


def _check_body(tree: ast.Module, definition: Definition, removed: Sequence[int]) -> None:
    for name in definition["parameters"]:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise SourceError(
                f"The parameter {name!r} cannot be a name in Python.",
                "Rename it, or write a function with other names and HANDLER 'function'.",
            )
    own = list(_own_nodes(tree))
    for node in own:
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            message = "The body of a function for a single value cannot yield or await."
            raise SourceError(message, "Write return, or create a function that RETURNS TABLE.", *_place(node, removed))
    if not any(isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and node.value) for node in own):
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        hint = f"Write HANDLER '{functions[-1]}' before AS." if functions else "Write return with the value."
        raise SourceError("The body of the function never returns a value.", hint)


def _own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a body without those of the functions and classes that it defines."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _own_nodes(node)


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports, without those that handle a missing module themselves."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.Try):
            yield from _imports(node)


def _check_import(node: ast.Import | ast.ImportFrom, removed: Sequence[int]) -> None:
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return
    if isinstance(node, ast.ImportFrom) and node.level:
        message = "A function belongs to no package, so it cannot import relatively."
        raise SourceError(message, "Write the full name of the module.", *_place(node, removed))
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
    for name in names:
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as error:
            at = f"cannot be imported here: {type(error).__name__}: {error}"
            missing = isinstance(error, ModuleNotFoundError)
            message = f"The module {name} is not installed." if missing else f"The module {name} {at}."
            raise SourceError(message, "", *_place(node, removed), module=name) from None
        if isinstance(node, ast.ImportFrom):
            _check_names(module, node, removed)


def _check_package(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        raise SourceError(f"This PARAMETER STYLE needs {name}, which is not installed.", module=name) from None


def _check_names(module: Any, node: ast.ImportFrom, removed: Sequence[int]) -> None:
    for alias in node.names:
        if alias.name == "*" or hasattr(module, alias.name):
            continue
        try:
            importlib.import_module(f"{module.__name__}.{alias.name}")
        except ImportError:
            message = f"The module {module.__name__} has no {alias.name}."
            raise SourceError(message, "", *_place(alias, removed)) from None


def _place(node: Any, removed: Sequence[int]) -> tuple[int, int]:
    """Return line and column of a node in the source as written."""
    return node.lineno, node.col_offset + removed[node.lineno - 1]


def _own_error(error: BaseException, definition: Definition) -> SourceError:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file_name(definition)]
    line = frames[-1].lineno if frames and frames[-1].lineno else 0
    return SourceError(f"The Python source raised {type(error).__name__}: {error}", "", line)


def _check_handler(made: Any, definition: Definition, tree: ast.Module) -> None:
    handler, kind = definition["handler"], definition["kind"]
    wanted = ast.ClassDef if kind == "TABLE" else ast.FunctionDef
    defined = [node.name for node in tree.body if isinstance(node, wanted)]
    what = "class" if kind == "TABLE" else "function"
    if made is None or (not isinstance(made, type) if kind == "TABLE" else not callable(made)):
        hint = f"It defines: {', '.join(defined)}." if defined else f"Define it as a {what}."
        raise SourceError(f"The Python source has no {what} {handler}.", hint)
    if kind == "TABLE" and not callable(getattr(made, "eval", None)):
        raise SourceError(f"The class {handler} has no method eval.", "Define eval, which yields the rows as tuples.")
    called = made.eval if kind == "TABLE" else made
    count = len(definition["parameters"])
    arguments = [None] * (1 if kind in ("PANDAS", "ARROW") else count + (kind == "TABLE"))
    try:
        inspect.signature(called).bind(*arguments)
    except TypeError as error:
        takes = "one iterator of batches" if kind in ("PANDAS", "ARROW") else f"{count} argument(s)"
        name = f"{handler}.eval" if kind == "TABLE" else handler
        raise SourceError(f"{name} cannot be called with {takes}: {error}.") from None
    except ValueError:
        return  # a function in C without a signature


def main() -> None:
    """Check the definition on standard input, and write the problem, or null, to standard output as JSON."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the source prints is not the answer
    problem = None
    try:
        check(json.loads(sys.stdin.read()))
    except SourceError as error:
        problem = error.problem
    answer.write(json.dumps({"problem": problem}))
    answer.close()


if __name__ == "__main__":
    main()
