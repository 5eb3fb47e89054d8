"""The request of a thread: its caller, and the cancellation of its statement."""

from __future__ import annotations

import threading
from contextvars import copy_context

import pytest

from jetsql.errors import StatementError
from jetsql.request import (
    ENGINE,
    NEVER,
    OWNER,
    Caller,
    Cancellation,
    Endpoint,
    Identity,
    acting_for,
    cancellable,
    current,
    inside_process,
    log_in,
)

ANN = Caller("ann", Endpoint.HTTP, "10.0.0.7")


def test_thread_without_a_request_works_for_the_engine() -> None:
    assert (current().caller, current().cancellation) == (ENGINE, NEVER)


def test_caller_and_cancellation_are_set_independently() -> None:
    token = Cancellation()
    with acting_for(ANN), cancellable(token):
        assert (current().caller, current().cancellation) == (ANN, token)
        with acting_for(ENGINE):
            assert (current().caller, current().cancellation) == (ENGINE, token)
        assert current().caller is ANN
    assert (current().caller, current().cancellation) == (ENGINE, NEVER)


def test_another_thread_gets_the_request_with_the_context() -> None:
    callers: list[Caller] = []

    def note() -> None:
        callers.append(current().caller)

    with acting_for(ANN):
        threads = [threading.Thread(target=note), threading.Thread(target=copy_context().run, args=(note,))]
    for thread in threads:
        thread.start()
        thread.join()
    assert callers == [ENGINE, ANN]


def test_login_names_the_user_until_the_request_ends() -> None:
    with acting_for(Caller("", Endpoint.CONSOLE, "10.0.0.7")):
        log_in(Identity("ann", "a1b2c3d4"))
        assert current().caller == Caller("ann", Endpoint.CONSOLE, "10.0.0.7")
        assert current().caller.login == Identity("ann", "a1b2c3d4")
    assert current().caller is ENGINE


def test_program_in_the_process_acts_for_the_owner() -> None:
    with inside_process(Endpoint.NOTEBOOK), inside_process(Endpoint.EMBEDDED):
        assert current().caller == Caller(OWNER, Endpoint.NOTEBOOK)
    with acting_for(ANN), inside_process(Endpoint.EMBEDDED):
        assert current().caller is ANN


@pytest.mark.parametrize(
    ("caller", "text"),
    [
        (ANN, "ann, http, 10.0.0.7"),
        (Caller(OWNER, Endpoint.SPARK_SQL), "owner, spark.sql"),
        (ENGINE, "engine"),
    ],
)
def test_text_of_a_caller_has_its_known_parts(caller: Caller, text: str) -> None:
    assert str(caller) == text


def test_cancelled_statement_raises_where_it_waits() -> None:
    token = Cancellation()
    with cancellable(token), current().cancellation.on_cancel(lambda: None):
        token.cancel("The engine is stopping.")
        with pytest.raises(StatementError, match="The engine is stopping"):
            current().cancellation.check()
