"""The users of a restricted session with jobs of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jetsql.request import OWNER
from tests.support.rights.restricted_session import Restricted, restricted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from jetsql.embedded.engine_instance import EngineInstance
    from jetsql.jobs.model.job import Job


class JobUsers:
    """The users ann and bob, and the engine's owner."""

    def __init__(self, engine: EngineInstance, ann: Restricted) -> None:
        self.engine = engine
        self.ann = ann
        self.registry = engine._manager.registry
        self._sessions: dict[str, SparkSession] = {"ann": ann.spark}

    def run(self, text: str, user: str = OWNER) -> list[tuple[Any, ...]]:
        """Run a statement as a user, and return its rows."""
        if user not in self._sessions:
            self._sessions[user] = self.ann.session(user)
        return self.ann.run(text, self._sessions[user])

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table as they are now, in order."""
        return sorted(self.ann.run_as_owner(f"SELECT * FROM {table}"))

    def job(self, name: str) -> Job:
        [job] = [view.job for view in self.registry.live() if view.job.name == name]
        return job


@contextmanager
def job_users(engine: EngineInstance, folder: Path) -> Iterator[JobUsers]:
    """Create the tables and users of the tests, and remove them and their jobs at the end."""
    with restricted(engine, folder) as ann:
        yield JobUsers(engine, ann)
