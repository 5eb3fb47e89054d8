"""The classes of errors with a condition."""

from __future__ import annotations

import pickle

import pytest

from jetsql import errors
from jetsql.client.dbapi import OperationalError, ProgrammingError
from jetsql.client.dbapi.exceptions import to_dbapi_error
from jetsql.conditions.error_conditions import CONDITIONS
from jetsql.errors import ConditionError, EngineError, ErrorReport, JetSQLError, RetryableError, StatementError


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_condition_has_a_class(condition: str) -> None:
    name = condition.title().replace("_", "")
    kind = getattr(errors, name)
    assert name in dir(errors) and issubclass(kind, ConditionError)
    for raised in (StatementError, RetryableError, EngineError):
        with pytest.raises(kind) as caught:
            raise raised(condition, "The message.", hint="The hint.")
        assert isinstance(caught.value, raised) and isinstance(caught.value, JetSQLError)
        assert caught.value.hint == "The hint."


def test_error_of_another_condition_is_not_caught() -> None:
    error = StatementError("JOB_NOT_FOUND", "The message.")
    assert isinstance(error, errors.JobNotFound) and not isinstance(error, errors.SnapshotNotFound)


def test_errors_of_the_dbapi_have_the_class_too() -> None:
    error = to_dbapi_error(ErrorReport("JETSQL.JOB_NOT_FOUND", "42704", "There is no job x."))
    assert isinstance(error, ProgrammingError) and isinstance(error, errors.JobNotFound)
    assert isinstance(to_dbapi_error(ErrorReport("JETSQL.DISK_FULL", "53100", "Full.")), OperationalError)


def test_errors_can_be_pickled() -> None:
    for error in (
        StatementError("JOB_NOT_FOUND", "The message.", hint="The hint."),
        to_dbapi_error(ErrorReport("JETSQL.JOB_NOT_FOUND", "42704", "The message.", "The hint.")),
    ):
        copied = pickle.loads(pickle.dumps(error))
        assert type(copied) is type(error) and str(copied) == str(error) and copied.hint == "The hint."


def test_condition_of_spark_has_no_class() -> None:
    error = to_dbapi_error(ErrorReport("TABLE_OR_VIEW_NOT_FOUND", "42P01", "There is no table x."))
    assert not isinstance(error, ConditionError)
    with pytest.raises(AttributeError):
        _ = errors.TableOrViewNotFound
