"""The jobs that resources of Kubernetes declare, while this engine leads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from jetsql.engine.spark.kubernetes_api import ACCOUNT, find_account

if TYPE_CHECKING:
    from jetsql.job_resources.engine_statements import JobEngine


@contextmanager
def declared_jobs(
    engine: JobEngine, user: str | None, environ: Mapping[str, str] = os.environ, folder: Path = ACCOUNT
) -> Iterator[None]:
    """Run the controller of resources inside the context. user: None for an engine without resources.

    Raises EngineError ENGINE_NOT_STARTED if this process is in no pod.
    """
    if user is None:
        yield
        return
    from jetsql.job_resources.api_server import ApiServer  # with sqlglot, which is slow to import
    from jetsql.job_resources.controller import ResourceController

    hint = "Remove the setting outside of Kubernetes; `jetsql apply` deploys SQL files there."
    account = find_account("The setting kubernetes_jobs_user", hint, environ, folder)
    controller = ResourceController(engine, user, ApiServer(account))
    controller.start()
    try:
        yield
    finally:
        controller.stop()
