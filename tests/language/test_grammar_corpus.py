"""The corpus of the grammar: each rule has accepted and rejected statements, and each statement rule a class.

`grammar/accepted/RULE.sql` is a script; `grammar/rejected/RULE.sql` has cases, each after a comment with its error:
condition, line:column within the case, a part of the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

import pytest

from jetsql.errors import StatementError
from jetsql.language import completions, parse, split
from jetsql.language.grammar import grammar_text, parser
from jetsql.language.statement import Statement
from jetsql.language.statement_syntax import statement_rules
from jetsql.language.tokens import tokens
from tests.support.golden_reports import compare, raises, report
from tests.support.paths import ROOT

GRAMMAR = ROOT / "grammar"
RULE = re.compile(r"^(\w+):", re.MULTILINE)
HEADER = re.compile(r"^-- error: (?P<condition>\w+) at (?P<line>\d+):(?P<column>\d+): (?P<message>.*)\n", re.MULTILINE)
# Not statement rules: their statements are spread over the files of the others.
LISTS = {"_statement"}
CLASSES = {member.__name__: member for member in get_args(Statement)}


@dataclass(frozen=True)
class Rejected:
    file: str
    condition: str
    line: int
    column: int
    message: str
    text: str


def rules() -> list[str]:
    return [rule for rule in RULE.findall(grammar_text()) if rule not in LISTS]


def class_name(rule: str) -> str:
    return "".join(part.capitalize() for part in rule.split("_"))


def accepted(file: str) -> list[str]:
    script = (GRAMMAR / "accepted" / f"{file}.sql").read_text(encoding="utf-8")
    return [fragment.text for fragment in split(script, strict=True)]


def accepted_files() -> list[str]:
    return sorted(path.stem for path in (GRAMMAR / "accepted").glob("*.sql"))


def rejected() -> list[Rejected]:
    cases = []
    for path in sorted((GRAMMAR / "rejected").glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        headers = list(HEADER.finditer(text))
        ends = [header.start() for header in headers[1:]] + [len(text)]
        for header, end in zip(headers, ends, strict=True):
            place = int(header["line"]), int(header["column"])
            sql = text[header.end() : end].rstrip("\n")
            cases.append(Rejected(path.stem, header["condition"], *place, header["message"], sql))
    return cases


@pytest.mark.parametrize("rule", rules())
def test_every_rule_has_an_accepted_and_a_rejected_example(rule: str) -> None:
    name = rule.strip("_")
    assert name in accepted_files()
    assert name in {case.file for case in rejected()}


@pytest.mark.parametrize("rule", statement_rules())
def test_every_statement_rule_gives_its_class(rule: str) -> None:
    for text in accepted(rule):
        assert isinstance(parse(text), CLASSES[class_name(rule)]), text


def test_every_class_has_its_rule() -> None:
    assert {class_name(rule) for rule in statement_rules()} == set(CLASSES)


@pytest.mark.parametrize("rule", [rule for rule in rules() if not rule.startswith("_")])
def test_accepted_examples_use_their_rule(rule: str) -> None:
    for text in accepted(rule):
        assert any(True for _ in parser().parse(text).find_data(rule)), text


@pytest.mark.parametrize("file", accepted_files())
def test_accepted_statements_parse_under_odd_spellings(file: str) -> None:
    for text in accepted(file):
        statement = parse(text)
        assert statement is not None
        assert parse(f"\n -- before\n/* /* and */ */{text} -- behind\n ; ;; /* end */") is not None
        assert type(parse(text.swapcase() if "`" not in text else text)) is type(statement)


@pytest.mark.parametrize("file", accepted_files())
def test_accepted_statements_give_these_trees(file: str) -> None:
    compare([repr(parse(text)) for text in accepted(file)])


@pytest.mark.parametrize("file", accepted_files())
def test_errors_for_incomplete_statements(file: str) -> None:
    for text in accepted(file)[:3]:
        for stop in [token.stop for token in tokens(text)][:12]:
            compare(
                [
                    text[:stop],
                    *outcome(text[:stop]),
                    repr(completions(text[:stop])),
                    repr(completions(f"{text[:stop]} ")),
                ]
            )


@pytest.mark.parametrize("file", accepted_files())
def test_errors_for_missing_and_wrong_words(file: str) -> None:
    text = max(accepted(file), key=len)
    changed = [
        text[: token.start] + word + text[token.stop :]
        for token in list(tokens(text))[:16]
        for word in ("", "JOBB", "'x'")
    ]
    compare([f"{each}: {' | '.join(outcome(each))}" for each in changed])


def outcome(text: str) -> list[str]:
    try:
        return [type(parse(text)).__name__]
    except StatementError as error:
        return report(error)


@pytest.mark.parametrize("case", rejected(), ids=lambda case: f"{case.file}: {case.text[:40]}")
def test_rejected_statements_have_a_message_and_a_place(case: Rejected) -> None:
    with raises(StatementError) as caught:
        parse(case.text)
    error = caught.value
    assert error.place is not None
    where = error.place.line(case.text), error.place.column(case.text)
    assert (error.condition, *where) == (f"JETSQL.{case.condition}", case.line, case.column), error
    assert case.message in error.explanation
