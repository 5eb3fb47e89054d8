"""The outcomes of statements of users, and the assertion that they show nothing hidden."""

from __future__ import annotations

from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tests.support.rights.restricted_session import HIDDEN


def outcome(run: Callable[[], object]) -> tuple[str, str]:
    """Run a statement, and return the condition of its error and its whole text, or the rows."""
    try:
        return "", repr(run())
    except PySparkException as error:
        return error.getCondition() or type(error).__name__, str(error)
    except Py4JError as error:  # Spark's error of a script that it does not support
        return type(error).__name__, str(error).partition("\n\tat")[0]


def assert_nothing_hidden(shown: str, text: str) -> None:
    """Assert that a text shows nothing hidden that its statement does not name itself."""
    assert not [word for word in HIDDEN if word in shown and word not in text], shown
