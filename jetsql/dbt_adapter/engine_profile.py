"""The fields of a profile that name the engine, without dbt: checks, and the connection."""

from __future__ import annotations

from collections.abc import Mapping

from jetsql.client.dbapi import Connection, Error, connect
from jetsql.client.engine_address import parse_address
from jetsql.jobs.model.redaction import redact_url
from jetsql.jobs.model.spark_settings import PARENT_SETTING
from jetsql.jobs.openlineage.parent_runs import new_parent


def check_profile(url: str | None, home: str | None, schema: str | None) -> None:
    """Raise ValueError with a message for the user if the fields cannot name an engine and a schema."""
    if not schema:
        raise ValueError("The profile has no schema. Add `schema: NAME`: dbt creates its tables there.")
    parse_address(home, url, None, None, False)


def open_connection(
    url: str | None,
    home: str | None,
    token: str | None,
    start: bool,
    settings: Mapping[str, object],
    ca_file: str | None = None,
) -> Connection:
    """Open a session on the engine and apply the settings of Spark to it. Raises as `jetsql.connect`."""
    connection = connect(url, home=home, token=token, start=start, ca_file=ca_file)
    try:
        with connection.cursor() as cursor:
            for statement in set_statements(settings):
                cursor.execute(statement)
    except Error:
        connection.close()
        raise
    return connection


def parent_settings(project: str, invocation: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the setting that makes a run of dbt the parent of the runs of its jobs, for OpenLineage.

    invocation: dbt's id of this run. environ: has the parent of dbt, if a scheduler runs it
    """
    parent = new_parent("dbt", f"dbt-run-{project}" if project else "dbt-run", invocation, environ)
    return {PARENT_SETTING: parent.text}


def shown_address(url: str | None, home: str | None) -> str:
    """Return the address of the engine without its token."""
    if url is not None:
        return redact_url(url)
    return "the home of the settings" if home is None else home


def set_statements(settings: Mapping[str, object]) -> list[str]:
    """Return the statements that apply settings to a session. Values of YAML are written as Spark reads them."""
    return [
        f"SET {name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in settings.items()
    ]
