"""Scripts: the statements that the engine runs, the output, and the positions of errors."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jetsql.output.diagnostics import Diagnostic, Script
from jetsql.output.render import Format
from jetsql.output.result_sink import OutputClosed
from jetsql.output.terminal_text import width
from jetsql.script import ScriptOutcome, prepare, run, variables
from tests.support.engines.stub_engine import StubEngine


class RecordingSink:
    """A result sink that records what it is given. full: raises OutputClosed after so many lines."""

    def __init__(self, full: int | None = None) -> None:
        self.lines: list[str] = []
        self.errors: list[str] = []
        self.messages: list[str] = []
        self.began: list[str] = []
        self._full = full

    def write_line(self, line: str) -> None:
        if len(self.lines) == self._full:
            raise OutputClosed
        self.lines.append(line)

    def show_error(self, text: str) -> None:
        self.errors.append(text)

    def print_message(self, text: str) -> None:
        self.messages.append(text)

    @contextmanager
    def report_if_slow(self, what: str) -> Iterator[None]:
        self.began.append(what)
        yield

    def flush(self) -> None:
        self.lines = list(self.lines)


def run_text(
    text: str, form: Format = Format.CSV, keep_going: bool = False, echo: bool = False, **values: str
) -> tuple[StubEngine, RecordingSink, ScriptOutcome]:
    engine, sink = StubEngine(), RecordingSink()
    outcome = run(prepare([Script("f.sql", text)], values), engine, sink, form, keep_going, echo)
    return engine, sink, outcome


def error_lines(text: str, **values: str) -> list[str]:
    """Return the lines of the first error in a script."""
    _, sink, _ = run_text(text, Format.CSV, False, False, **values)
    return sink.errors[0].split("\n")


def test_statements_run_in_order_and_results_are_separated() -> None:
    engine, sink, outcome = run_text("SELECT a;\n-- talk\nNOTHING;\nSELECT b, c")
    assert sink.lines == ["c0", "a", "", "c0,c1", "b,c"]
    assert [text.strip() for text in engine.texts] == ["SELECT a", "NOTHING", "SELECT b, c"]
    assert outcome is ScriptOutcome.SUCCEEDED
    assert sink.began == ["f.sql:1: running", "f.sql:3: running", "f.sql:4: running"]


def test_json_results_follow_each_other_directly() -> None:
    assert run_text("SELECT a; SELECT b", Format.JSON)[1].lines == ['{"c0":"a"}', '{"c0":"b"}']


def test_echo_prints_each_statement_before_its_result() -> None:
    _, sink, _ = run_text("SELECT ${v};\n-- talk\nNOTHING ;\nSELECT b,\n  c", Format.TABLE, echo=True, v="a")
    assert sink.lines == [
        *("SELECT a;", "c0", "--", "a"),
        *("", "NOTHING;"),
        *("", "SELECT b,\n  c;", "c0 | c1", "---+---", "b  | c"),
    ]
    assert sink.messages == []


@pytest.mark.parametrize("form", [Format.CSV, Format.JSON, Format.MARKDOWN])
def test_echo_leaves_results_for_programs_alone(form: Format) -> None:
    text = "NOTHING; SELECT a; FAIL x; SELECT b"
    _, sink, _ = run_text(text, form, keep_going=True, echo=True)
    assert sink.lines == run_text(text, form, keep_going=True)[1].lines
    assert sink.messages == ["NOTHING;", "SELECT a;", "FAIL x;", "SELECT b;"]


@pytest.mark.parametrize("form", Format)
def test_echo_shows_no_secrets(form: Format) -> None:
    text = "SELECT 'password' '${pw}'; SET spark.token = hush; SELECT 'jdbc:x://ann:hush@db/d'; FAIL password => 'hush'"
    _, sink, _ = run_text(text, form, keep_going=True, echo=True, pw="hush; '")
    shown = [line for line in sink.lines + sink.messages if line.endswith(";")]
    assert shown == [
        *("SELECT 'password' '***';", "SET spark.token = ***;"),
        *("SELECT 'jdbc:x://***@db/d';", "FAIL password => '***';"),
    ]


def test_echo_ends_when_the_reader_is_gone() -> None:
    engine, sink = StubEngine(), RecordingSink(full=3)
    with pytest.raises(OutputClosed):
        run(prepare([Script("f.sql", "SELECT a; SELECT b")], {}), engine, sink, Format.VERTICAL, True, echo=True)
    assert len(engine.texts) == 1


def test_statements_keep_their_place_in_the_file() -> None:
    text = "SELECT a; /* é */ SELECT b;\n\n\tSELECT\n c;"
    engine, _, _ = run_text(text)
    for handed, statement in zip(engine.texts, ["SELECT a", "SELECT b", "SELECT\n c"], strict=True):
        start = text.index(statement)
        assert handed.endswith(statement)
        assert len(handed.split("\n")[-1]) == len(text[: start + len(statement)].split("\n")[-1])
        assert handed.count("\n") == text.count("\n", 0, start + len(statement))
        assert handed.removesuffix(statement).strip(" \n") == ""


@pytest.mark.parametrize("verb", ["FAIL", "SPARK"])
@pytest.mark.parametrize(
    "marked",
    [
        "VERB @here",
        "SELECT a;\n\n  VERB @here;",
        "SELECT a; VERB @here",
        "SELECT a;\nVERB\n @here;",
        "VERB ${v} @here",
        "SELECT 1; VERB '${v}' @here ;SELECT 1",
        "VERB $${v} ${unset:-} @here",
        "SELECT ${v};VERB ${v} ${v} @here",
        "SELECT a;\r\nVERB @here;\r\n",
        "VERB ${v}\n  ${v} @here",
        "VERB @${within}",
    ],
)
def test_errors_point_into_the_file_as_written(verb: str, marked: str) -> None:
    marked = marked.replace("VERB", verb)
    before, text = marked.split("@")[0], marked.replace("@", "")
    number, line = before.count("\n") + 1, before.split("\n")[-1]
    shown = error_lines(text, v="a value\nof two lines", within="x here")
    assert shown[0].startswith(f"f.sql:{number}:{len(line) + 1}: [")
    assert shown[1] == f"{number:>5} | {text.splitlines()[number - 1]}"
    assert shown[2] == "      | " + " " * len(line) + "^"


def test_error_has_condition_message_line_caret_and_hint() -> None:
    assert error_lines("SELECT a;\n  FAIL job;") == [
        "f.sql:2:8: [JETSQL.JOB_NOT_FOUND] There is no such job.",
        "    2 |   FAIL job;",
        "      |        ^",
        "See SHOW JOBS.",
    ]


def test_an_error_without_place_or_condition_is_the_statements() -> None:
    assert error_lines("SELECT a;\n  NOWHERE") == [
        "f.sql:2:3: ValueError: unknown: NOWHERE",
        "    2 |   NOWHERE",
        "      |   ^",
    ]


def test_caret_is_under_wide_characters_and_tabs() -> None:
    text, caret = error_lines("\tFAIL 東京 x")[1:3]
    assert text == "    1 |  FAIL 東京 x"
    assert caret == "      | " + " " * 11 + "^"


def test_lines_without_end_are_cut_around_the_place() -> None:
    shown = error_lines(f"FAIL {'a, ' * 10_000} x {'b, ' * 10_000} ;")[1:3]
    assert all(len(line) < 250 for line in shown)
    assert shown[0].startswith("    1 | ")


@pytest.mark.parametrize("text", ["a, " * 40 + "| x, y", "| x" + ", y" * 99, "東京, " * 40 + "| x" + ", y" * 99, "| x"])
@pytest.mark.parametrize("columns", [20, 60, 100])
def test_marked_lines_fit_the_screen(text: str, columns: int) -> None:
    offset = text.index("|")
    _, line, caret = Diagnostic(Script("", text.replace("|", "")), offset, "", "wrong").render(columns).splitlines()
    assert width(line) <= columns
    assert cells_from(line, width(caret) - 1).startswith(" x")


def cells_from(line: str, column: int) -> str:
    return next(line[at:] for at in range(len(line)) if width(line[:at]) == column)


def test_messages_have_no_control_characters() -> None:
    assert "\x1b" not in "".join(error_lines("NOPE\x1b[31m;"))


def test_a_failure_ends_the_run() -> None:
    engine, sink, outcome = run_text("SELECT a; FAIL x; SELECT b")
    assert (len(engine.texts), len(sink.errors), outcome) == (2, 1, ScriptOutcome.FAILED)


def test_failure_does_not_end_the_run_with_continue() -> None:
    engine, sink, outcome = run_text("SELECT a; FAIL x; SPARK y; SELECT b", keep_going=True)
    assert (len(engine.texts), len(sink.errors), outcome) == (4, 2, ScriptOutcome.FAILED)
    assert sink.lines[-1] == "b"


def test_lost_engine_always_ends_the_run() -> None:
    engine, sink, outcome = run_text("CRASH; SELECT b", keep_going=True)
    assert (len(engine.texts), outcome) == (1, ScriptOutcome.ENGINE_LOST)
    assert sink.errors[0].startswith("f.sql:1:1: [JETSQL.ENGINE_NOT_STARTED]")


def test_error_after_the_first_row_belongs_to_the_statement() -> None:
    _, sink, outcome = run_text("LATE; SELECT b")
    assert sink.lines == ["n", "1"]
    assert (len(sink.errors), outcome) == (1, ScriptOutcome.FAILED)


def test_closed_output_is_no_error_of_the_statement() -> None:
    sink = RecordingSink(full=3)
    with pytest.raises(OutputClosed):
        run(prepare([Script("f.sql", "COUNT 10")], {}), StubEngine(), sink, Format.CSV, True)
    assert sink.errors == []


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_text("INTERRUPT", keep_going=True)


def test_variables_are_filled_in() -> None:
    engine, _, _ = run_text("SELECT ${a}, '${b:-none}', $${c} -- ${unset}\n", a="1")
    assert engine.texts == ["SELECT 1, 'none', ${c}"]


def test_given_variables_override_the_environment() -> None:
    environ = {"JETSQL_VAR_a": "1", "JETSQL_VAR_b": "2", "PATH": "/bin", "JETSQL_HOME": "/h"}
    assert variables(environ, {"b": "3"}) == {"a": "1", "b": "3"}


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("SELECT a;\nSELECT ${unset};", "f.sql:2:8: [JETSQL.VARIABLE_NOT_SET]"),
        ("SELECT a;\n  SELECT 'open;\n", "f.sql:2:10: [JETSQL.PARSE_SYNTAX_ERROR]"),
        ("SELECT a;\n/* open", "f.sql:2:1: [JETSQL.PARSE_SYNTAX_ERROR]"),
    ],
)
def test_errors_without_engine_are_found_before_it_starts(text: str, head: str) -> None:
    (found,) = [step for step in prepare([Script("f.sql", text)], {}) if isinstance(step, Diagnostic)]
    assert str(found).startswith(head)


def test_unset_variable_fails_only_its_statement() -> None:
    engine, sink, outcome = run_text("SELECT a; SELECT ${unset}; SELECT b", keep_going=True)
    assert [text.strip() for text in engine.texts] == ["SELECT a", "SELECT b"]
    assert (len(sink.errors), outcome) == (1, ScriptOutcome.FAILED)


@pytest.mark.parametrize("text", ["", ";;", "-- nothing\n", "/* nothing */ ;"])
def test_an_empty_script_does_nothing(text: str) -> None:
    assert prepare([Script("f.sql", text)], {}) == []


def test_long_script_is_in_memory_once() -> None:
    script = Script("f.sql", "SELECT a;\n" * 3000)
    tracemalloc.start()
    try:
        assert len(prepare([script], {})) == 3000
        assert tracemalloc.get_traced_memory()[1] < 100 * len(script.text)
    finally:
        tracemalloc.stop()
