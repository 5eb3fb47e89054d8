"""Statements as they may be written down: values of secret options, and secrets in URLs, hidden.

The engine hides what it knows to be an option. Here nothing is known but the text, so every string that stands behind
a secret name is hidden, in Spark's own statements too: `'password' 'x'`, `password => 'x'`, `SET some.token=x`. What
may be a secret is hidden: to enter it anew is less harm than to have it written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from jetsql.jobs.model.redaction import REDACTED, is_secret, redact_urls
from jetsql.language.tokens import Kind, Token, tokens, unquote
from jetsql.secret_references import is_reference
from jetsql.shell.session.entries import DotCommand, command_end, entries

_VALUES: Final = (Kind.STRING, Kind.OPEN)
_EQUALS: Final = ("=", "==", "=>")
_OF_TABLES: Final = ("UPDATE", "MERGE", "ALTER")  # their SET is no setting, and more than a value stands behind it


def hide_secrets(text: str) -> str:
    """The text with `***` where a secret stands."""
    starts = [entry.start if isinstance(entry, DotCommand) else entry.fragment.start for entry in entries(text)]
    return "".join(_hidden(text[start:stop]) for start, stop in pairwise([0, *starts, len(text)]))


def _hidden(part: str) -> str:
    """One entry, and what stands between it and the next one."""
    stop = command_end(part, 0)  # a quote that a command leaves open ends with it
    return _without_values(part[:stop]) + part[stop:] if stop else _without_values(part)


def _without_values(part: str) -> str:
    found = list(tokens(part))
    settings = list(_settings(part, found))
    strings = [place for place in _strings(found) if not any(start <= place[0] < stop for start, stop in settings)]
    shown = {**dict.fromkeys(settings, REDACTED), **dict.fromkeys(strings, f"'{REDACTED}'")}
    for start, stop in sorted(shown, reverse=True):
        part = part[:start] + shown[start, stop] + part[stop:]
    return redact_urls(part)


def _settings(part: str, found: list[Token]) -> Iterator[tuple[int, int]]:
    """The values of `SET name=value`: whatever stands there, up to the semicolon."""
    if found and found[0].word in _OF_TABLES:
        return
    reached = 0
    for index, token in enumerate(found):
        if token.word != "SET" or token.start < reached:
            continue
        statement = found[index : _end(found, index)]
        equal = next((each for each in statement if each.kind is Kind.SYMBOL and "=" in each.text), None)
        if equal is None or not is_secret(part[token.stop : equal.start].strip("` \t\r\n")):
            continue
        at = equal.start + equal.text.index("=") + 1
        reached = found[index + len(statement)].start if index + len(statement) < len(found) else len(part)
        value = part[at:reached].lstrip()
        if value and not is_reference(value):
            yield reached - len(value), reached


def _strings(found: list[Token]) -> Iterator[tuple[int, int]]:
    """The strings that are values of secret names; Spark makes one of those that follow each other."""
    hiding = False
    declared = 0  # up to here, a secret variable is declared
    for index, token in enumerate(found):
        if token.word == "DECLARE" and any(map(_is_secret_name, found[index : _end(found, index)])):
            declared = _end(found, index)
        if token.kind not in _VALUES:
            hiding = False
            continue
        known = hiding or index < declared
        hiding = known or (is_secret(_name_before(found, index)) and not is_reference(_content(token)))
        if hiding:
            yield token.start, token.stop


def _end(found: list[Token], index: int) -> int:
    """The next semicolon, or the end."""
    return next((at for at in range(index, len(found)) if found[at].text == ";"), len(found))


def _is_secret_name(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) and is_secret(token.text.strip("`"))


def _name_before(found: list[Token], index: int) -> str:
    """The option's name that a string is the value of; may have dots and be quoted or not."""
    at = index - 1
    if at >= 0 and found[at].text in _EQUALS:
        at -= 1
    if at < 0:
        return ""
    if found[at].kind in (Kind.STRING, Kind.QUOTED):
        return unquote(found[at].text)
    parts: list[str] = []
    while at >= 0 and (found[at].kind is Kind.WORD or found[at].text == "."):
        parts.insert(0, found[at].text)
        if found[at].kind is Kind.WORD and (at == 0 or found[at - 1].text != "."):
            break
        at -= 1
    return "".join(parts)


def _content(token: Token) -> str:
    return unquote(token.text) if token.kind is Kind.STRING else token.text[1:]
