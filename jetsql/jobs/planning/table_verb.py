"""The verb of a job that creates its table: the table is new, so the query and the options decide how rows are written.

A table with 'key.columns' is updated. Otherwise rows are added if Spark can do that, and each result replaces the table
if it cannot. The result of a materialized view replaces the table if that is possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jetsql.errors import Span, StatementError
from jetsql.jobs.model.body_analysis import Analysis, OutputMode
from jetsql.jobs.model.job_options import StatementOptions
from jetsql.jobs.model.table_names import split_table
from jetsql.jobs.planning.output_mode import choose_mode
from jetsql.jobs.planning.sink_traits import traits_of
from jetsql.language import find_name
from jetsql.language.statement import Body, TableKind, Verb

_REQUESTED: Final = {
    OutputMode.APPEND: (Verb.INSERT_INTO,),
    OutputMode.UPDATE: (Verb.SINK_INTO,),
    OutputMode.COMPLETE: (Verb.INSERT_OVERWRITE,),
}


def choose_verb(
    analyse: Callable[[Verb], Analysis], options: StatementOptions, kind: TableKind | None, target: Span
) -> Verb:
    """Return the verb for a job and the table that it creates.

    analyse: returns the analysis of the query for a verb, which decides how the query is rewritten; it is called
    several times for a verb. target: the place of the table's name. Raises StatementError NO_OUTPUT_MODE.
    """
    analysis = analyse(Verb.INSERT_INTO)
    verbs = _candidates(analysis, options, kind)
    if not analysis.streaming:
        return verbs[0]
    reasons = []
    for verb in verbs:
        try:
            choose_mode(analyse(verb), options, verb, target)
        except StatementError as error:
            if options.values.output_mode is not None:
                raise
            reasons.append(error.message)
        else:
            return verb
    raise StatementError(
        "NO_OUTPUT_MODE",
        f"The rows of this query cannot be written into {analysis.sink.table}. {' '.join(reasons)}",
        place=target,
        hint=_hint(analysis),
    )


def check_reads_stream(body: Body, analysis: Analysis, kind: TableKind | None) -> None:
    """Raise StatementError UNSUPPORTED_QUERY for a streaming table whose query reads no stream."""
    if kind is not TableKind.STREAMING_TABLE or analysis.streaming:
        return
    table = next(iter(analysis.tables_read_once), None)
    name = None if table is None else find_name(body.text, split_table(table))
    written = "the name of a table" if name is None else body.text[name.start : name.stop]
    raise StatementError(
        "UNSUPPORTED_QUERY",
        "The query of a streaming table reads a stream; this one reads rows as they are now.",
        place=body.place if name is None else Span(body.place.start + name.start, body.place.start + name.stop),
        hint=f"Write STREAM before {written}, or CREATE MATERIALIZED VIEW, which computes its rows once, and again with"
        " REFRESH.",
    )


def _candidates(analysis: Analysis, options: StatementOptions, kind: TableKind | None) -> tuple[Verb, ...]:
    """Return the verbs that the table and the options allow, the preferred one first."""
    sink = analysis.sink
    if options.values.output_mode is not None and analysis.streaming:
        return _REQUESTED[options.values.output_mode]
    if sink.key_columns and traits_of(sink).can_update:
        return (Verb.SINK_INTO,)
    verbs = (Verb.INSERT_INTO, Verb.INSERT_OVERWRITE)
    if not traits_of(sink).can_overwrite:
        return verbs[:1]
    return verbs[::-1] if kind is TableKind.MATERIALIZED_VIEW else verbs


def _hint(analysis: Analysis) -> str:
    if not traits_of(analysis.sink).can_update or analysis.sink.key_columns:
        return "Group by a window over a column with a WATERMARK, or use another kind of table, such as USING jdbc."
    return "Add the table option 'key.columns', so that the job updates rows."
