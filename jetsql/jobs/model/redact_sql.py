"""Redact SQL texts of which only the text is known: values of secret options, and secrets in URLs.

The engine redacts the options that it knows. Here every string after a secret name is redacted, also in Spark's own
statements: `'password' 'x'`, `password => 'x'`, `SET some.token=x`. So is the URL of an alert, after `CALL`. In doubt
it is redacted: to enter a value again does less harm than to store a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetsql.jobs.model.redaction import REDACTED, is_secret, redact_urls
from jetsql.language.tokens import Kind, Token, tokens, unquote
from jetsql.secret_references import is_reference

_VALUES: Final = (Kind.STRING, Kind.OPEN)
_EQUALS: Final = ("=", "==", "=>")
_TABLE_UPDATES: Final = ("UPDATE", "MERGE", "ALTER")  # their SET assigns columns


def redact_sql(part: str) -> str:
    """Return the text with `***` in place of secrets."""
    tokens_read = list(tokens(part))
    settings = list(_find_secret_settings(part, tokens_read))
    strings = [
        span
        for span in _find_secret_strings(tokens_read)
        if not any(start <= span[0] < stop for start, stop in settings)
    ]
    replacements = {**dict.fromkeys(settings, REDACTED), **dict.fromkeys(strings, f"'{REDACTED}'")}
    pieces: list[str] = []
    end = 0
    for start, stop in sorted(replacements):
        pieces += part[end:start], replacements[start, stop]
        end = stop
    return redact_urls("".join((*pieces, part[end:])))


def _find_secret_settings(part: str, tokens_read: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the values of `SET name=value`, up to the semicolon."""
    if tokens_read and tokens_read[0].word in _TABLE_UPDATES:
        return
    end = searched = 0  # a token is read at most once, because texts can be long
    for index, token in enumerate(tokens_read):
        if token.word != "SET" or index < searched or token.start < end:
            continue
        searched = _next_equal(tokens_read, index)
        equal = tokens_read[searched] if searched < len(tokens_read) else None
        if equal is None or equal.text == ";" or not is_secret(part[token.stop : equal.start].strip("` \t\r\n")):
            continue
        at = equal.start + equal.text.index("=") + 1
        stop = searched = _statement_end(tokens_read, searched)
        end = tokens_read[stop].start if stop < len(tokens_read) else len(part)
        value = part[at:end].lstrip()
        if value and not is_reference(value):
            yield end - len(value), end


def _find_secret_strings(tokens_read: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield the spans of strings that are values of secret names; Spark joins adjacent strings."""
    is_redacting = False
    declared = searched = 0  # the token indexes up to which a secret variable is declared, and was searched
    for index, token in enumerate(tokens_read):
        if token.word == "DECLARE" and index >= searched:
            searched = _statement_end(tokens_read, index)
            if any(map(_is_secret_name, tokens_read[index:searched])):
                declared = searched
        if token.kind not in _VALUES:
            is_redacting = False
            continue
        known = is_redacting or index < declared
        is_secret_value = is_secret(_name_before(tokens_read, index)) or _is_called(tokens_read, index)
        is_redacting = known or (is_secret_value and not is_reference(_content(token)))
        if is_redacting:
            yield token.start, token.stop


def _next_equal(tokens_read: list[Token], index: int) -> int:
    """Return the index of the next symbol with `=` in the statement, of its semicolon, or of the end."""
    for at in range(index, len(tokens_read)):
        token = tokens_read[at]
        if token.text == ";" or (token.kind is Kind.SYMBOL and "=" in token.text):
            return at
    return len(tokens_read)


def _statement_end(tokens_read: list[Token], index: int) -> int:
    """Return the index of the next semicolon, or of the end."""
    return next((at for at in range(index, len(tokens_read)) if tokens_read[at].text == ";"), len(tokens_read))


def _is_called(tokens_read: list[Token], index: int) -> bool:
    """Return whether a string is the URL of an alert: its path is often a password."""
    return index > 0 and tokens_read[index - 1].word == "CALL"


def _is_secret_name(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) and is_secret(token.text.strip("`"))


def _name_before(tokens_read: list[Token], index: int) -> str:
    """Return the option name before the string at `index`; it may have dots and be quoted."""
    at = index - 1
    if at >= 0 and tokens_read[at].text in _EQUALS:
        at -= 1
    if at < 0:
        return ""
    if tokens_read[at].kind in (Kind.STRING, Kind.QUOTED):
        return unquote(tokens_read[at].text)
    parts: list[str] = []
    while at >= 0 and (tokens_read[at].kind is Kind.WORD or tokens_read[at].text == "."):
        parts.insert(0, tokens_read[at].text)
        if tokens_read[at].kind is Kind.WORD and (at == 0 or tokens_read[at - 1].text != "."):
            break
        at -= 1
    return "".join(parts)


def _content(token: Token) -> str:
    return unquote(token.text) if token.kind is Kind.STRING else token.text[1:]
