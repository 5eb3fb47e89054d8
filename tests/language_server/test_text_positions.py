"""Positions of the protocol: columns in code units, and lines that end as in the protocol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from jetsql.errors import Span
from jetsql.language_server.open_documents import Document
from jetsql.language_server.text_positions import TextPositions

TEXTS = st.text(st.sampled_from("a\n\r\f\u2028ä€😀\ud83d `"), max_size=30)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])


def test_lines_end_with_lf_crlf_and_cr_only() -> None:
    positions = TextPositions("a\nb\r\nc\rd\fe\u2028f")
    assert positions.lines == 4
    assert [positions.position(offset) for offset in (0, 2, 5, 7, 12)] == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 5)]


@pytest.mark.parametrize(("encoding", "columns"), [("utf-8", 10), ("utf-16", 5), ("utf-32", 4)])
def test_columns_count_code_units(encoding: str, columns: int) -> None:
    positions = TextPositions("ä€😀a", encoding)
    assert positions.position(4) == (0, columns)
    assert positions.offset(0, columns) == 4


def test_places_outside_of_the_text_are_moved_into_it() -> None:
    positions = TextPositions("ab\r\ncd")
    assert [positions.offset(*place) for place in ((0, 9), (9, 9), (-1, 3), (1, -1))] == [2, 6, 0, 4]
    assert positions.position(99) == (1, 2)


@given(TEXTS, ENCODINGS, st.data())
def test_offsets_outside_line_ends_round_trip(text: str, encoding: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    positions = TextPositions(text, encoding)
    expected = offset - 1 if text[offset - 1 : offset + 1] == "\r\n" and offset else offset
    assert positions.offset(*positions.position(offset)) == expected


@given(TEXTS, TEXTS, ENCODINGS, st.data())
def test_a_change_replaces_the_characters_of_its_range(text: str, new: str, encoding: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    document = Document("file:///a.sql", text, 1, encoding)
    place = document.span(document.range(Span(start, stop)))
    change = types.TextDocumentContentChangePartial(document.range(Span(start, stop)), new)
    assert document.changed([change], 2).text == text[: place.start] + new + text[place.stop :]
