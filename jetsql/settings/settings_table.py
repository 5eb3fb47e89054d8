"""The settings of the engine: the parser and the description of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final

from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.s3_settings import S3_DESCRIPTIONS, S3_READERS
from jetsql.settings.setting_values import (
    parse_address,
    parse_addresses,
    parse_boolean,
    parse_byte_count,
    parse_count,
    parse_days,
    parse_file,
    parse_folder,
    parse_master_url,
    parse_memory,
    parse_optional_folder,
    parse_port,
    parse_positive_count,
    parse_positive_seconds,
    parse_seconds,
    parse_storage,
)
from jetsql.settings.store_settings import STORE_DESCRIPTIONS, STORE_READERS
from jetsql.settings.watchdog_settings import WATCHDOG_DESCRIPTIONS, WATCHDOG_READERS

RENAMED: Final = {"look_seconds": "streaming_select_seconds"}
"""Old names of settings, from release 0.1, that are still accepted."""


def setting_names(settings: type[Any]) -> list[str]:
    """Return the names of the settings in a dataclass."""
    return [entry.name for entry in fields(settings)]


# The parser of each setting; the text of its ValueError completes "It must be ...".
READERS: Mapping[str, Callable[[object], object]] = {
    "home": parse_folder,
    "master": parse_master_url,
    "driver_memory": parse_memory,
    "single_file_bytes": parse_byte_count,
    "old_versions_seconds": parse_seconds,
    "streaming_select_seconds": parse_seconds,
    "kafka": parse_boolean,
    "delta": parse_boolean,
    "iceberg": parse_boolean,
    **{name: S3_READERS.get(name, parse_boolean) for name in S3_DESCRIPTIONS},
    "storage": parse_storage,
    **STORE_READERS,
    "cluster_secret_file": parse_file,
    "class_archives": parse_optional_folder,
    **dict.fromkeys(setting_names(JobSettings), parse_seconds),
    "ended_jobs_days": parse_days,
    "ended_jobs_most": parse_count,
    **WATCHDOG_READERS,
    "http_host": parse_address,
    "http_port": parse_port,
    "http_hosts": parse_addresses,
    "connect": parse_boolean,
    "connect_host": parse_address,
    "connect_port": parse_port,
    "thrift": parse_boolean,
    "thrift_host": parse_address,
    "thrift_port": parse_port,
    "console_idle_seconds": parse_positive_seconds,
    "console_login_seconds": parse_positive_seconds,
    "session_idle_seconds": parse_seconds,
    "sessions_most": parse_count,
    "login_seconds": parse_positive_seconds,
    "logins_most": parse_positive_count,
}
# What each setting is for, in the order of `READERS`, as the reference manual has it.
DESCRIPTIONS: Final[Mapping[str, str]] = {
    "home": "The folder of the store, the checkpoints, the tables and the log.",
    "master": "Spark's master.",
    "driver_memory": "The memory of the engine's Java process, such as `2g`.",
    "single_file_bytes": "A batch whose expected size is at most this is written as one file. A higher value means"
    " fewer files, each written by one core.",
    "old_versions_seconds": "How long the previous version of an overwritten table is kept for its readers.",
    "streaming_select_seconds": "How long a `SELECT` with `LIMIT` over a stream waits for its rows.",
    "kafka": "Load Spark's Kafka connector at the start instead of when a Kafka table is first used.",
    "delta": "Load Delta at the start, for tables `USING delta`.",
    "iceberg": "Load Iceberg at the start, for catalogues of the type `iceberg`.",
    **S3_DESCRIPTIONS,
    "storage": "Where checkpoints, snapshots and tables are: a path or URI that the engine and all executors reach.",
    **STORE_DESCRIPTIONS,
    "cluster_secret_file": "The file with the secret of a standalone cluster.",
    "class_archives": "The folder of the archives of Spark's classes, with which engines start faster; `none` for"
    " starts without them.",
    "create_wait_seconds": "How long `CREATE JOB` waits for the first batch.",
    "stop_deadline_seconds": "How long a graceful stop may take before the job is stopped by force.",
    "statement_wait_seconds": "How long `SUSPEND`, `RESUME`, `RESTART` and `DROP` wait for the job.",
    "wait_timeout_seconds": "How long `WAIT FOR JOB` without `TIMEOUT` waits.",
    "retry_first_seconds": "The delay before the first restart after an error; it doubles with each further restart.",
    "retry_most_seconds": "The longest delay before a restart.",
    "store_retry_seconds": "The delay before an event is stored again that could not be stored.",
    "scale_up_delay_seconds": "Jobs restart on executors that have joined when none has come or gone for this time.",
    "close_wait_seconds": "How long the engine waits at its end for runs that do not stop even by force.",
    "ended_jobs_days": "Jobs that have ended are deleted after this many days.",
    "ended_jobs_most": "When more jobs than this have ended, the oldest of them are deleted.",
    **WATCHDOG_DESCRIPTIONS,
    "http_host": "The address that the HTTP endpoint listens on.",
    "http_port": "The port of the HTTP endpoint; 0 takes any free port.",
    "http_hosts": "Further names that clients may use for the HTTP endpoint, such as that of this machine; with the"
    " port if it is another one.",
    "connect": "Open Spark Connect.",
    "connect_host": "The address that Spark Connect listens on.",
    "connect_port": "The port of Spark Connect; 0 takes any free port.",
    "thrift": "Open the Thrift endpoint, for JDBC and ODBC.",
    "thrift_host": "The address that the Thrift endpoint listens on.",
    "thrift_port": "The port of the Thrift endpoint; 0 takes any free port.",
    "console_idle_seconds": "A login at the web console that no page has used for this time ends.",
    "console_login_seconds": "A login at the web console ends after this time in any case.",
    "session_idle_seconds": "A session that no client has used for this time is closed.",
    "sessions_most": "The limit of sessions at the HTTP endpoint.",
    "login_seconds": "A connection of HTTP, Thrift or Spark Connect without the token is closed after this time.",
    "logins_most": "The limit of connections without the token, for HTTP, Thrift and Spark Connect each; at more, the"
    " oldest ones are closed.",
}
