"""Errors of functions in Python: function, error and line from Spark's text."""

from __future__ import annotations

import pytest

from jetsql.engine.errors.python_errors import describe_python_error

HEAD = "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):\n"
TAIL = "\n\n SQLSTATE: 38000\n\tat org.apache.spark.api.python.BasePythonRunner\nDriver stacktrace:\n"
FRAME = '  File "/a/python_source.py", line 134, in checked\n    result = function(*values)\n'


def test_the_last_line_in_the_function() -> None:
    text = (
        HEAD + FRAME + '  File "<function default.f>", line 2, in f\n    return g(x)\n           ^^^^\n'
        '  File "<function default.f>", line 5, in g\n    raise ValueError("two!")\nValueError: two!' + TAIL
    )
    described = describe_python_error(text)
    assert described is not None
    assert (
        described[0]
        == 'The function default.f raised ValueError: two! (line 5 of its source: raise ValueError("two!")).'
    )
    assert "DESCRIBE FUNCTION EXTENDED default.f" in described[1]


def test_the_last_of_several_errors() -> None:
    first = HEAD + '  File "<function s.f>", line 2, in f\nKeyError: 1\n\n'
    text = (
        first + "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "<function s.f>", line 4, in f\nValueError: a\nb' + TAIL
    )
    described = describe_python_error(text)
    assert described is not None
    assert described[0] == "The function s.f raised ValueError: a b (line 4 of its source)."


def test_a_value_of_another_type() -> None:
    message = "The function default.g returned 'a' (str), which is not INT."
    described = describe_python_error(HEAD + FRAME + f"TypeError: {message}" + TAIL)
    assert described is not None
    assert described[0] == message
    assert "default.g" in described[1]


def test_an_error_outside_of_functions() -> None:
    described = describe_python_error(HEAD + FRAME + "pyarrow.lib.ArrowInvalid: bad" + TAIL)
    assert described == ("The Python worker raised pyarrow.lib.ArrowInvalid: bad.", "")


@pytest.mark.parametrize("text", ["", "Traceback", "[DIVIDE_BY_ZERO] Division by zero."])
def test_other_texts(text: str) -> None:
    assert describe_python_error(text) is None
