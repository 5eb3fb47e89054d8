"""Tokens that expire in a test: statements give tokens whole days."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from jetsql.jobs.access.access_state import AccessState
from jetsql.jobs.manager.access_registry import AccessRegistry

_SECONDS = 0.3


class EngineWithUsers(Protocol):
    @property
    def accounts(self) -> AccessRegistry: ...


def expire(engine: EngineWithUsers, token_id: str) -> None:
    """Let a token expire in a moment."""

    def change(state: AccessState) -> AccessState:
        token = state.token(token_id)
        assert token is not None
        expiring = replace(token, expires=engine.accounts._clock() + _SECONDS)
        return replace(state, tokens=tuple(expiring if each is token else each for each in state.tokens))

    engine.accounts.change(change)
