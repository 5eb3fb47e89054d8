"""Results of which a part is missing when they arrive: the client compares them with their end."""

from __future__ import annotations

import io
import json
from collections.abc import Generator
from contextlib import nullcontext
from http.client import HTTPResponse
from typing import Any, cast

import pyarrow
import pytest

from jetsql.client.arrow_stream import ArrowRows
from jetsql.client.response_rows import read_response
from jetsql.errors import EngineError

COLUMNS = {"columns": [{"name": "n", "type": "bigint"}]}
LIVE = {**COLUMNS, "live": "append"}


def response(*messages: dict[str, Any]) -> Generator[bytes, None, None]:
    return (json.dumps(message).encode() + b"\n" for message in messages)


@pytest.mark.parametrize("sent", [0, 1, 3])
def test_missing_rows_are_an_error(sent: int) -> None:
    rows = read_response(response(COLUMNS, {"rows": [[1], [2]]}, {"end": {"rows": sent}})).rows
    assert [next(rows), next(rows)] == [(1,), (2,)]
    with pytest.raises(EngineError, match=f"The engine sent {sent} rows, and 2 of them arrived.") as error:
        next(rows)
    assert error.value.condition == "JETSQL.CONNECTION_LOST"


def test_a_live_batch_with_missing_rows_is_an_error() -> None:
    batches = read_response(response(LIVE, {"rows": [[1]]}, {"batch": {"number": 0, "rows": 2}})).batches
    with pytest.raises(EngineError, match="sent 2 rows, and 1"):
        list(next(batches).rows)


def test_rows_without_an_end_are_an_error() -> None:
    with pytest.raises(EngineError, match="lost while rows were read"):
        list(read_response(response(COLUMNS, {"rows": [[1]]})).rows)


def arrow_rows(batches: int) -> bytes:
    schema = pyarrow.schema([("n", pyarrow.int64())], metadata={"jetsql.columns": "[]"})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, schema) as stream:
        for number in range(batches):
            stream.write_batch(pyarrow.record_batch([pyarrow.array([number])], schema))
    return sink.getvalue()


def read_arrow(content: bytes) -> int:
    """Return the number of rows that the client reads of a response."""
    response = cast(HTTPResponse, io.BytesIO(content))
    return int(ArrowRows(response).reader(nullcontext).read_all().num_rows)


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_truncated_arrow_stream_is_an_error(batches: int) -> None:
    content = arrow_rows(batches)
    assert read_arrow(content) == batches
    for size in range(len(content)):
        with pytest.raises(EngineError, match="lost while rows were read"):
            read_arrow(content[:size])
