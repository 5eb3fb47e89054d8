"""Results and errors as the HTTP endpoint writes them: one JSON object a line.

    {"columns": [{"name": "id", "type": "bigint"}, ...]}        first, and alone when there are no rows
    {"rows": [[1, "a"], [2, null]]}                             as many lines of these as it takes
    {"end": {"rows": 2}}                                        last, when all went well
    {"error": {"condition": ..., "sqlstate": ..., ...}}         last, when something went wrong

A SELECT over a stream, from a request that says `"live": true`, is answered without an end. The first line says how:

    {"columns": [...], "live": "append"}                        or "replace"
    {"rows": [...]}                                             as they come
    {"batch": {"number": 0, "rows": 2}}                         after each batch, also one without rows

"append" has further rows in each batch; "replace" has the whole result, in place of that of the batch before. It ends
with the line `end` when a LIMIT is reached, and with the client: by leaving, by cancelling its statement, or by closing
its session. Arrow is never live.

Values are as Spark's own `to_json` writes them, so that every language's JSON reader does: decimals with all digits,
timestamps as ISO 8601 with offset (TIMESTAMP_NTZ without), binary in base64, NaN and Infinity as texts, variants as the
text of their JSON. A column of a nested type also has `structure`, Spark's own JSON form of the type, by which a client
reads the members exactly.

Who accepts `application/vnd.apache.arrow.stream` gets the rows so. An error behind the first rows can't be told in such
a stream: it stands where a message should be, as the JSON of the last line above, so that every reader stops there.
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

CONTENT_TYPE: Final = "application/x-ndjson"
ARROW_TYPE: Final = "application/vnd.apache.arrow.stream"
_CHUNK_CHARS: Final = 64 * 1024


def lines(result: StatementResult) -> Generator[bytes, None, None]:
    """Return the lines of a result, rows in pieces of about 64 KiB. Raises whatever reading the rows raises."""
    kinds = ["" if column.type == "variant" else column.type for column in result.columns]
    columns = [_column(column) for column in result.columns]
    if result.live is None:
        yield _line({"columns": columns})
        count = yield from _pieces(result.rows, kinds)
    else:
        yield _line({"columns": columns, "live": result.live.mode.value})
        count = yield from _batches(result.live, kinds)
    yield _line({"end": {"rows": count}})


def _batches(live: Live, kinds: list[str]) -> Generator[bytes, None, int]:
    count = 0
    with closing(live.batches) as batches:
        for batch in batches:
            rows = yield from _pieces(batch.rows, kinds)
            yield _line({"batch": {"number": batch.number, "rows": rows}})
            count += rows
    return count


def _pieces(rows: Iterator[tuple[Any, ...]], kinds: list[str]) -> Generator[bytes, None, int]:
    """Lines of rows; gives how many rows there were."""
    count, size = 0, 0
    piece: list[str] = []
    try:
        for row in rows:
            written = f"[{','.join(as_json(value, kind) for value, kind in zip(row, kinds, strict=True))}]"
            piece.append(written)
            count, size = count + 1, size + len(written)
            if size >= _CHUNK_CHARS:
                yield _rows(piece)
                size, piece = 0, []
    except Exception:
        if piece:
            yield _rows(piece)  # what there was before it went wrong
        raise
    if piece:
        yield _rows(piece)
    return count


def json_object(name: str, result: StatementResult) -> bytes:
    """Return a short result as one JSON object: `name` with a list of the rows, each an object by the columns'
    names."""
    names = [json.dumps(column.name, ensure_ascii=False) for column in result.columns]
    kinds = [column.type for column in result.columns]
    rows = (
        "{" + ",".join(f"{key}:{as_json(*cell)}" for key, *cell in zip(names, row, kinds, strict=True)) + "}"
        for row in result.rows
    )
    return f'{{"{name}":[{",".join(rows)}]}}'.encode()


def error_body(report: ErrorReport) -> dict[str, Any]:
    """Return an error as an object, whose members are those of `ErrorReport`."""
    return {"error": asdict(report)}


def error_line(report: ErrorReport) -> bytes:
    return _line(error_body(report))


def arrow_error(report: ErrorReport) -> bytes:
    """Return an error in the place of a message: its length as Arrow tells it, then what no reader takes for a
    message."""
    line = error_line(report)
    return b"\xff\xff\xff\xff" + len(line).to_bytes(4, "little") + line


def _column(column: Column) -> dict[str, Any]:
    content = {"name": column.name, "type": column.type}
    return content if column.structure is None else {**content, "structure": column.structure}


def _rows(piece: list[str]) -> bytes:
    return f'{{"rows":[{",".join(piece)}]}}\n'.encode()


def _line(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
