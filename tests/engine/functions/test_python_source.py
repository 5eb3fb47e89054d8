"""Python source of functions: what is found before it is stored, and what it becomes in a worker."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pytest
from pyspark import cloudpickle

from jetsql.engine.functions import python_source
from jetsql.engine.functions.python_functions import _Loaded
from jetsql.engine.functions.python_source import Definition, Problem, SourceError, check, load


def definition(source: str, **changes: Any) -> Definition:
    function = Definition(
        name="default.f",
        source=source,
        parameters=["x"],
        handler="",
        kind="ROWS",
        returns="INT",
        return_type='"integer"',
        columns=[],
    )
    return function | changes  # type: ignore[return-value]


def problem(source: str, **changes: Any) -> Problem:
    with pytest.raises(SourceError) as caught:
        check(definition(source, **changes))
    return caught.value.problem


def table(source: str) -> Definition:
    struct = json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": "n", "type": "integer", "nullable": True, "metadata": {}},
                {"name": "d", "type": "double", "nullable": True, "metadata": {}},
            ],
        }
    )
    return definition(source, kind="TABLE", handler="T", return_type=struct, columns=["INT", "DOUBLE"])


@pytest.mark.parametrize(
    "source",
    [
        " return x + 1 ",
        "\n    return x + 1\n",
        "\nif x:\n    return x + 1\nreturn None\n",
        " y = 1\n    return x + y\n",
        "if x:\n    return x + 1\n",
        "\n    text = '''\n    a\n    '''\n    return x + len(text) - 2\n",
    ],
)
def test_a_body_may_be_indented(source: str) -> None:
    check(definition(source))
    assert load(definition(source))(1) == 2


def test_a_body_that_calls_itself_and_defines_functions() -> None:
    source = "\ndef half(y):\n    return y // 2\nreturn 0 if x == 0 else f(half(x)) + 1"
    assert load(definition(source))(8) == 4


@pytest.mark.parametrize(
    ("source", "message", "line", "column"),
    [
        ("\n  return 1 +\n", "invalid syntax", 2, 12),
        ("\n  import no_such\n  return 1\n", "The module no_such is not installed.", 2, 2),
        ("\n  from math import no_such\n  return 1\n", "The module math has no no_such.", 2, 19),
        ("\n  from . import a\n  return 1\n", "cannot import relatively", 2, 2),
        ("\n  yield 1\n", "cannot yield", 2, 2),
        ("def g(x):\n  return 1", "never returns a value", 0, 0),
        ("\n break\n return 1", "'break' outside loop", 2, 1),
    ],
)
def test_errors_of_a_body_have_a_place(source: str, message: str, line: int, column: int) -> None:
    found = problem(source)
    assert message in found["message"]
    assert (found["line"], found["column"]) == (line, column)


def test_an_import_that_handles_its_absence_is_no_error() -> None:
    check(definition("try:\n    import no_such\nexcept ImportError:\n    no_such = None\nreturn 1"))


@pytest.mark.parametrize(
    ("changes", "source", "message"),
    [
        ({"parameters": ["class"]}, "return 1", "'class' cannot be a name in Python"),
        ({"handler": "g"}, "def f(x): ...", "has no function g"),
        ({"handler": "f"}, "def f(): ...", "cannot be called with 1 argument"),
        ({"handler": "f", "kind": "PANDAS", "parameters": ["a", "b"]}, "def f(a, b): ...", "one iterator of batches"),
        ({"handler": "T", "kind": "TABLE"}, "def T(): ...", "has no class T"),
        ({"handler": "T", "kind": "TABLE"}, "class T: ...", "has no method eval"),
        ({"handler": "T", "kind": "TABLE"}, "class T:\n  def eval(self): ...", "T.eval cannot be called"),
        ({"handler": "f"}, "1 / 0", "raised ZeroDivisionError"),
        ({"handler": "f"}, "import sys\nsys.exit()", "raised SystemExit"),
    ],
)
def test_errors_of_a_handler(changes: dict[str, Any], source: str, message: str) -> None:
    assert message in problem(source, **changes)["message"]


def test_a_value_of_another_type_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"The function default.f returned 'a' \(str\), which is not INT."):
        load(definition("return 'a'"))(1)
    assert load(definition("return None"))(1) is None
    assert load(definition("return x", return_type='"double"'))(1) == 1.0
    assert str(load(definition("return x", return_type='"decimal(5,1)"'))(1)) == "1"


def test_the_rows_of_a_table_function_are_checked() -> None:
    source = "class T:\n  def eval(self, x):\n    yield x, 1\n    yield x, 'a'"
    rows = load(table(source))().eval(5)
    assert next(rows) == (5, 1.0)
    with pytest.raises(TypeError, match=r"returned 'a' \(str\) for the column d, which is not DOUBLE"):
        next(rows)


def test_the_traceback_names_the_function_and_shows_the_line() -> None:
    import traceback

    try:
        load(definition("\n\n  return 1 / x"))(0)
    except ZeroDivisionError:
        text = traceback.format_exc()
    assert 'File "<function default.f>", line 3, in f\n    return 1 / x' in text


def test_a_worker_needs_no_jetsql() -> None:
    pickled = cloudpickle.dumps(_Loaded(definition("import math\nreturn int(math.sqrt(x))")))
    program = "import sys, pickle; sys.modules['jetsql'] = None\nprint(pickle.loads(sys.stdin.buffer.read())(16))"
    done = subprocess.run([sys.executable, "-c", program], input=pickled, capture_output=True, timeout=60)
    assert done.stdout == b"4\n", done.stderr


def test_result_of_the_check_is_separate_from_output() -> None:
    text = json.dumps(definition("print('noise')\ndef f(): ...", handler="f"))
    done = subprocess.run(
        [sys.executable, "-P", python_source.__file__], input=text, capture_output=True, text=True, timeout=60
    )
    assert "cannot be called" in json.loads(done.stdout)["problem"]["message"]
    assert done.stderr == "noise\n"


def test_a_loaded_function_pickles_as_its_source() -> None:
    assert pickle.loads(cloudpickle.dumps(_Loaded(definition("return x * 2"))))(3) == 6
