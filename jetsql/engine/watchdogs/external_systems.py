"""Decide whether an error of a job belongs to an outage.

The tables of `jetsql.engine.errors` know most errors of systems that are away by their classes and messages. Every
other error may belong to an outage as well, whatever it says. So the topics and databases of the job are asked: if one
of them cannot be reached now, the job waits for it. Errors that recur at each retry need no such check.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jetsql.engine.errors.run_failures import cause_of
from jetsql.engine.session.catalog import Catalog
from jetsql.engine.session.kafka_topics import check_topic
from jetsql.engine.watchdogs.kafka_watchdog import job_topics
from jetsql.errors import RetryableError, StatementError
from jetsql.jobs.lifecycle.step_context import as_sentence
from jetsql.jobs.model.body_analysis import Analysis
from jetsql.jobs.model.job import Cause

_LOG: Final = logging.getLogger(__name__)
_DATA_ERROR: Final = "22"  # the class of SQLSTATEs for errors of values


class ExternalSystems:
    """The Kafka clusters and databases of an engine's jobs."""

    def __init__(self, spark: SparkSession, catalog: Catalog, connect_to_sinks: Callable[[Analysis], None]) -> None:
        """Remember how to reach the systems.

        connect_to_sinks: connects to the systems of a job's sinks that are no topics. It raises StatementError.
        """
        self._spark = spark
        self._catalog = catalog
        self._connect_to_sinks = connect_to_sinks

    def judge(self, cause: Cause, analysis: Analysis) -> Cause:
        """Return the cause as an outage if a system of the job cannot be reached now, otherwise unchanged."""
        if cause.external_outage or not cause.retryable or cause.sqlstate.startswith(_DATA_ERROR):
            return cause
        outage = self._find_outage(analysis)
        if outage is None:
            return cause
        message = f"{outage.message} The error was: {as_sentence(cause.message)}"
        return replace(outage, message=message, batch=cause.batch, error_class=cause.error_class)

    def _find_outage(self, analysis: Analysis) -> Cause | None:
        try:
            self._check_systems(analysis)
        except StatementError as error:
            cause = cause_of(error)
            return cause if cause.external_outage else None
        except (Py4JError, PySparkException) as error:  # Spark may be stopped concurrently
            _LOG.info("The systems of a job were not checked: %s", error)
        return None

    def _check_systems(self, analysis: Analysis) -> None:
        """Raise the error of the first system that does not answer, or that refuses the job."""
        for name, operation in job_topics(analysis):
            table = self._catalog.table(name)
            if table is not None:
                check_topic(self._spark, table, operation)
        self._connect_to_sinks(analysis)


def outage_error(outage: Cause) -> RetryableError:
    """Return the error to raise for an outage that was found."""
    condition = outage.condition.removeprefix("JETSQL.")
    return RetryableError(condition, outage.message, hint=outage.hint, where=outage.where)
