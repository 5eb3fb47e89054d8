"""Measure a job and the same query written by hand in pairs, so that the state of the machine affects both alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from benchmarks.contents import Contents, require_equal


class Run(Protocol):
    """The result of one run."""

    @property
    def seconds(self) -> float:
        """Return the total time."""

    @property
    def written(self) -> Contents:
        """Return the written rows."""


AnyRun = TypeVar("AnyRun", bound=Run)


@dataclass(frozen=True)
class Pair(Generic[AnyRun]):
    """One run of each variant."""

    job: AnyRun
    """The run as a job."""
    hand: AnyRun
    """The run by hand."""

    @property
    def ratio(self) -> float:
        """Return the ratio of the rows per second, the job's to those by hand."""
        return self.hand.seconds / self.job.seconds


def measure_pairs(
    job: Callable[[], AnyRun], hand: Callable[[], AnyRun], warm_ups: int, count: int
) -> Iterator[Pair[AnyRun]]:
    """Yield the measured pairs; the order of the two runs alternates.

    Raises ClickException when the two runs of a pair wrote different rows.
    """
    for number in range(-warm_ups, count):
        if number % 2:
            by_hand = hand()
            pair = Pair(job(), by_hand)
        else:
            pair = Pair(job(), hand())
        require_equal({"job": pair.job.written, "by hand": pair.hand.written})
        if number >= 0:
            yield pair
