"""Results as lines: the grouping of rows, and the release of resources when the client disconnects."""

from __future__ import annotations

import json
from collections.abc import Generator

from jetsql.jobs.audit.audit_log import NO_AUDIT
from jetsql.live_rows import Live, LiveBatch, LiveMode
from jetsql.resultset import Column
from jetsql.server.statement_result import StatementResult
from jetsql.server.statement_rows import StatementRows
from jetsql.server.wire import lines


def sent() -> StatementRows:
    return StatementRows(NO_AUDIT.statement(""), 0)


def test_each_line_holds_about_64_kib_of_rows() -> None:
    text = "x" * 1000
    result = StatementResult((Column("text", "string"),), ((text,) for _ in range(200)))
    _, *pieces, end = list(lines(result, sent()))
    assert json.loads(end) == {"end": {"rows": 200}}
    assert [row for piece in pieces for row in json.loads(piece)["rows"]] == [[text]] * 200
    assert len(pieces) == 4
    assert all(64 * 1024 <= len(piece) < 66 * 1024 for piece in pieces[:-1])


def test_a_value_is_written_as_its_type_says() -> None:
    columns = (Column("float", "float"), Column("double", "double"), Column("variant", "variant"))
    written = list(
        lines(
            StatementResult(columns, iter([(0.1, 0.1, "x"), (0.10000000149011612, 1e300, None)])),
            sent(),
        )
    )
    assert b"".join(written[1:-1]).decode() == '{"rows":[[0.1,0.1,"x"],[0.1,1e+300,null]]}\n'


def test_a_reader_that_leaves_closes_the_live_batches() -> None:
    closed = []

    def batches() -> Generator[LiveBatch, None, None]:
        try:
            yield LiveBatch(0, iter([(1,)]))
            yield LiveBatch(1, iter([(2,)]))
        finally:
            closed.append(True)

    kept = batches()  # so that nothing but the answer's end can close it
    answer = lines(StatementResult((Column("n", "int"),), iter(()), Live(LiveMode.APPEND, kept)), sent())
    assert [json.loads(next(answer)) for _ in range(2)][1] == {"rows": [[1]]}
    answer.close()
    assert closed == [True]
