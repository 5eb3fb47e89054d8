"""The rows of a statement as a Parquet file, converted from its Arrow stream. pyarrow is needed, and may be missing.

The rows are kept in temporary files, because a result can be larger than the memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Final

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from jetsql.errors import ErrorReport, StatementError
from jetsql.server.app import HttpServer
from jetsql.server.running_statements import StatementRequest
from jetsql.server.statement_response import error_response

PARQUET_TYPE: Final = "application/vnd.apache.parquet"
_PIECE_BYTES: Final = 256 * 1024


def has_parquet() -> bool:
    """Return whether rows can be exported as Parquet."""
    return find_spec("pyarrow") is not None


async def export_parquet(http_server: HttpServer, request: StatementRequest) -> Response:
    """Run a statement, and return the response with its rows as a file, or with its error.

    request: for an Arrow stream. Raises StatementError NOT_SUPPORTED without pyarrow, and for types that Parquet lacks.
    """
    if not has_parquet():
        hint = "Install jetsql[arrow] next to the engine, or export the rows as Arrow."
        raise StatementError("NOT_SUPPORTED", "The engine has no pyarrow, which writes Parquet.", hint=hint)
    errors: list[ErrorReport] = []
    with tempfile.TemporaryFile() as arrow:

        def keep(piece: bytes | ErrorReport) -> None:
            if isinstance(piece, ErrorReport):
                errors.append(piece)
            else:
                arrow.write(piece)

        await http_server.run_lines(request, keep)
        if errors:
            return error_response(errors[0])
        arrow.seek(0)
        converted = await http_server.on_thread(_convert, arrow)
    headers = {"Content-Disposition": 'attachment; filename="result.parquet"'}
    close = BackgroundTask(converted.close)
    return StreamingResponse(_pieces(converted), media_type=PARQUET_TYPE, headers=headers, background=close)


def _convert(arrow: IO[bytes]) -> IO[bytes]:
    """Return a temporary file with the rows of an Arrow stream as Parquet, from its beginning."""
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    written = tempfile.TemporaryFile()  # the response closes it
    try:
        with pyarrow.ipc.open_stream(arrow) as reader, parquet.ParquetWriter(written, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    except pyarrow.ArrowException as error:
        written.close()
        hint = "Leave the column out, cast it to another type, or export the rows as Arrow."
        raise StatementError("NOT_SUPPORTED", f"The rows cannot be written as Parquet: {error}", hint=hint) from error
    except BaseException:
        written.close()
        raise
    written.seek(0)
    return written


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece
