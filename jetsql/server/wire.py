"""Write results and errors for the HTTP endpoint, as one JSON object for each line.

    {"columns": [{"name": "id", "type": "bigint"}, ...]}        the first line
    {"rows": [[1, "a"], [2, null]]}                             any number of lines
    {"end": {"rows": 2}}                                        the last line of a complete result
    {"error": {"condition": ..., "sqlstate": ..., ...}}         the last line after an error

The result of a SELECT over a stream has no end if the request has `"live": true`:

    {"columns": [...], "live": "append"}                        or "replace"
    {"rows": [...]}                                             when they arrive
    {"batch": {"number": 0, "rows": 2}}                         after each batch, also one without rows

With "append", each batch has further rows; with "replace", it has the whole result and replaces the batch before. The
line `end` follows when a LIMIT is reached. Otherwise the client ends the result: it disconnects, cancels the statement
or closes its session. An Arrow stream is never live.

Values are written as by Spark's `to_json`: decimals with all digits, timestamps as ISO 8601 with their offset
(TIMESTAMP_NTZ without), binary values in base64, NaN and Infinity as strings, variants as the text of their JSON. A
column of a nested type also has `structure`, Spark's JSON form of the type, so that a client can decode its members.

A client that accepts `application/vnd.apache.arrow.stream` receives the rows as an Arrow stream. Arrow has no message
for errors. An error after the first rows is therefore written as a message whose content is the JSON line above; a
reader of Arrow refuses it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any, Final

from jetsql.errors import ErrorReport
from jetsql.live_rows import Live
from jetsql.output.values import as_json
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from jetsql.server.statement_rows import StatementRows

CONTENT_TYPE: Final = "application/x-ndjson"
ARROW_TYPE: Final = "application/vnd.apache.arrow.stream"
_CHUNK_CHARS: Final = 64 * 1024


def lines(result: StatementResult, rows_sent: StatementRows) -> Generator[bytes, None, None]:
    """Yield the lines of a result, with about 64 KiB of rows in a line. Raises the errors of reading the rows.

    rows_sent: counts the rows, and ends before the client can know that the result is complete.
    """
    kinds = ["" if column.type == "variant" else column.type for column in result.columns]
    columns = [_column(column) for column in result.columns]
    if result.live is None:
        yield _line({"columns": columns})
        count = yield from _row_lines(result.rows, kinds, rows_sent)
    else:
        yield _line({"columns": columns, "live": result.live.mode.value})
        count = yield from _batches(result.live, kinds, rows_sent)
    rows_sent.end()
    yield _line({"end": {"rows": count}})


def _batches(live: Live, kinds: list[str], rows_sent: StatementRows) -> Generator[bytes, None, int]:
    count = 0
    with closing(live.batches) as batches:
        for batch in batches:
            rows = yield from _row_lines(batch.rows, kinds, rows_sent)
            yield _line({"batch": {"number": batch.number, "rows": rows}})
            count += rows
    return count


def _row_lines(
    rows: Iterator[tuple[Any, ...]], kinds: list[str], rows_sent: StatementRows
) -> Generator[bytes, None, int]:
    """Yield lines of rows, and return the number of rows."""
    count, size = 0, 0
    chunk: list[str] = []
    try:
        for row in rows:
            text = f"[{','.join(as_json(value, kind) for value, kind in zip(row, kinds, strict=True))}]"
            chunk.append(text)
            count, size = count + 1, size + len(text)
            if size >= _CHUNK_CHARS:
                rows_sent.add_rows(len(chunk))
                yield _rows(chunk)
                size, chunk = 0, []
    except Exception:
        if chunk:
            rows_sent.add_rows(len(chunk))
            yield _rows(chunk)  # the rows before the error
        raise
    rows_sent.add_rows(len(chunk))
    if chunk:
        yield _rows(chunk)
    return count


def json_object(name: str, result: StatementResult) -> bytes:
    """Return a short result as a JSON object: `name` has the list of the rows, each an object by column name."""
    names = [json.dumps(column.name, ensure_ascii=False) for column in result.columns]
    kinds = [column.type for column in result.columns]
    rows = (
        "{" + ",".join(f"{key}:{as_json(*cell)}" for key, *cell in zip(names, row, kinds, strict=True)) + "}"
        for row in result.rows
    )
    return f'{{"{name}":[{",".join(rows)}]}}'.encode()


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return an error as a JSON object with the members of `ErrorReport`."""
    return {"error": asdict(report)}


def error_line(report: ErrorReport) -> bytes:
    return _line(error_body(report))


def arrow_error(report: ErrorReport) -> bytes:
    """Return an error in the frame of an Arrow message, whose content no reader takes for a message."""
    line = error_line(report)
    return b"\xff\xff\xff\xff" + len(line).to_bytes(4, "little") + line


def _column(column: Column) -> dict[str, Any]:
    content = {"name": column.name, "type": column.type}
    return content if column.structure is None else {**content, "structure": column.structure}


def _rows(chunk: list[str]) -> bytes:
    return f'{{"rows":[{",".join(chunk)}]}}\n'.encode()


def _line(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
