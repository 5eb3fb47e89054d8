"""Statements as they may be written down: values of secret options, and secrets in URLs, hidden.

The engine hides what it knows to be an option. Here nothing is known but the text, so every string that stands behind
a secret name is hidden, in Spark's own statements too: `'password' 'x'`, `password = 'x'`, `SET some.token=x`.
"""

from __future__ import annotations

import re
from typing import Final

from jetsql.jobs.secrets import HIDDEN, hide_in_text, is_secret, names_secret
from jetsql.language.tokens import Kind, Token, tokens, unquote

_SET: Final = re.compile(r"(\s*SET\s+(?P<key>[^\s=]+)\s*=\s*)(?P<value>.*)", re.IGNORECASE | re.DOTALL)


def hide_secrets(text: str) -> str:
    """The text with `***` where a secret stands."""
    setting = _SET.fullmatch(text)
    if setting is not None and is_secret(setting["key"].strip("`")) and not names_secret(setting["value"]):
        return f"{setting[1]}{HIDDEN}{';' if text.rstrip().endswith(';') else ''}"
    found = list(tokens(text))
    for index in reversed(range(len(found))):
        value = found[index]
        if value.kind in (Kind.STRING, Kind.OPEN) and is_secret(_name_before(found, index)):
            if not names_secret(_content(value)):
                text = f"{text[: value.start]}'{HIDDEN}'{text[value.stop :]}"
    return hide_in_text(text)


def _name_before(found: list[Token], index: int) -> str:
    """The option's name that a string is the value of; may have dots and be quoted or not."""
    at = index - 1
    if at >= 0 and found[at].text in ("=", "=="):
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
