"""The options of Kafka tables, of `grammar/kafka_options.json`, and the places of a statement that name them.

Java checks the options by the same file. Those of formats (`json.*`, `csv.*`, `avro.*`) and of Kafka's clients
(`kafka.*`) that are not in it are Spark's and Kafka's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from jetsql.language.grammar import grammar_text
from jetsql.language.tokens import Kind, Token, unquote

_FILE: Final = "kafka_options.json"
_REFUSED: Final = "refused"
_CHOICE: Final = "choice"
_EQUALS: Final = ("=", "==")


@dataclass(frozen=True)
class KafkaOption:
    """An option of Kafka tables."""

    names: tuple[str, ...]
    """The name; several for options with the same meaning."""
    kind: str
    """The kind of its values, which Java checks."""
    choices: tuple[str, ...] = ()
    """The values, or some of them."""
    values: str = ""
    """A phrase for its values, in Markdown; empty for an option without one."""
    text: str = ""
    """Sentences that explain it, in Markdown; empty for an option that is the same as in Spark or Kafka."""
    refusal: str = "JetSQL and Spark set it themselves"
    """The reason why no table can have it, if it is refused."""

    @property
    def is_refused(self) -> bool:
        """Return whether no table can have the option."""
        return self.kind == _REFUSED

    @property
    def has_only_choices(self) -> bool:
        """Return whether other values are refused."""
        return self.kind == _CHOICE


@cache
def kafka_options() -> tuple[KafkaOption, ...]:
    """Return all options in the order of the file."""
    return tuple(_option(row) for row in json.loads(grammar_text(_FILE)))


def _option(row: Mapping[str, object]) -> KafkaOption:
    names, choices = row["names"], row.get("choices", ())
    assert isinstance(names, list) and isinstance(choices, (list, tuple))
    texts = {name: str(row[name]) for name in ("values", "text", "refusal") if name in row}
    return KafkaOption(tuple(names), str(row["kind"]), tuple(choices), **texts)


@cache
def _by_name() -> Mapping[str, KafkaOption]:
    return {name.lower(): option for option in kafka_options() for name in option.names}


def find_kafka_option(name: str) -> KafkaOption | None:
    """Return the option of a name in any case; None if it is not in the file."""
    return _by_name().get(name.lower())


@dataclass(frozen=True)
class OptionPlace:
    """A place in the OPTIONS of a Kafka table."""

    given: frozenset[str]
    """The names of the options before it, in lower case."""
    key: str = ""
    """The name of the option whose value is at the place; empty where a name is."""


@dataclass(frozen=True)
class GivenOption:
    """An option that a statement gives."""

    name: str
    key: Token
    """The first token of its name."""
    value: Token


def option_place(before: Sequence[Token]) -> OptionPlace | None:
    """Return the place after these tokens of a statement if it is in the OPTIONS of a Kafka table."""
    start = _open_options(before)
    if start is None:
        return None
    parts, given = _parts(before[start + 1 :]), set()
    for part in parts[:-1]:
        given.add(_name(part).lower())
    last = parts[-1]
    if last and last[-1].text == ".":
        return None  # a name without quotes that is being written
    is_complete = len(last) > 1 and last[-1].kind is Kind.STRING
    return None if is_complete else OptionPlace(frozenset(given), _name(last))


def given_options(found: Sequence[Token]) -> Iterator[GivenOption]:
    """Yield the options that a statement, a CREATE TABLE ... USING kafka, gives with a string as value."""
    for at, (token, following) in enumerate(pairwise(found)):
        if token.word != "OPTIONS" or following.text != "(" or _open_options(found[: at + 2]) is None:
            continue
        close = next((index for index in range(at + 2, len(found)) if found[index].text == ")"), len(found))
        for part in _parts(found[at + 2 : close]):
            if len(part) > 1 and part[-1].kind is Kind.STRING:
                yield GivenOption(_name(part), part[0], part[-1])


def _open_options(before: Sequence[Token]) -> int | None:
    """Return the index of the parenthesis of the OPTIONS of a Kafka table that is open at the end."""
    depth = 0
    for index in range(len(before) - 1, 0, -1):
        depth += (before[index].text == ")") - (before[index].text == "(")
        if depth < 0:
            is_of_kafka = any(
                one.word == "USING" and other.word == "KAFKA" for one, other in pairwise(before[: index - 1])
            )
            return index if before[index - 1].word == "OPTIONS" and is_of_kafka else None
    return None


def _parts(found: Sequence[Token]) -> list[list[Token]]:
    """Split the tokens of a list at its commas."""
    parts: list[list[Token]] = [[]]
    for token in found:
        if token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _name(part: Sequence[Token]) -> str:
    """Return the name of an option: a string, or words with dots."""
    if part and part[0].kind is Kind.STRING:
        return unquote(part[0].text)
    words = []
    for token in part:
        if token.text in _EQUALS or token.kind is Kind.STRING:
            break
        words.append(unquote(token.text) if token.kind is Kind.QUOTED else token.text)
    return "".join(words)
