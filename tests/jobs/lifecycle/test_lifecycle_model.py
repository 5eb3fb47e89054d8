"""The life cycle under random sequences of actions of users, runs and engines; see `one_life`.

The sequences come from fixed seeds and not from hypothesis, which would need most of the time to draw actions that take
almost no time to execute. A failing sequence is shortened as far as possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest

from tests.support.models.lifecycle_model import COMMON, MOVES, OPENINGS, Life


@dataclass(frozen=True)
class Course:
    """The course of a job's life."""

    trigger: str
    attempts: int
    opening: str
    moves: tuple[str, ...]
    scaling: bool = True
    protection: bool = False

    def failure(self) -> AssertionError | None:
        try:
            life = Life(self.trigger, self.attempts, OPENINGS[self.opening], self.scaling, self.protection)
            for move in self.moves:
                life.do(move)
        except AssertionError as error:
            return error
        return None

    def shortest(self) -> Course:
        """Return the shortest course that still fails."""
        for at in reversed(range(len(self.moves))):
            shorter = replace(self, moves=self.moves[:at] + self.moves[at + 1 :])
            if shorter.failure() is not None:
                return shorter.shortest()
        return self


def course(seed: int) -> Course:
    """Generate moves of a few kinds only, because a mixture of all kinds seldom reaches what one kind leads to."""
    chance = Random(seed)
    kinds = [*COMMON, *chance.sample(MOVES, chance.randint(3, 14))]
    moves = tuple(chance.choice(kinds) for _ in range(60))
    return Course(
        chance.choice(["interval", "availableNow"]),
        chance.randint(0, 3),
        chance.choice(sorted(OPENINGS)),
        moves,
        scaling=chance.random() < 0.7,
        protection=chance.random() < 0.5,
    )


@pytest.mark.parametrize("block", range(4))
def test_random_events_lose_duplicate_or_block_nothing(block: int) -> None:
    for seed in range(1000 * block, 1000 * (block + 1)):
        failing = course(seed)
        if failing.failure() is not None:
            shortest = failing.shortest()
            raise AssertionError(f"seed {seed}: {shortest}") from shortest.failure()
