"""The parts of the benchmarks that do not measure: their options, goals, comparison of rows, and schedules."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import compare, kafka_clients
from benchmarks.contents import Contents, contents, require_equal
from benchmarks.kafka_clients import Schedule
from benchmarks.reporting import Goal
from jetsql.embedded.engine_instance import EngineInstance
from tests.support.paths import ROOT


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("overhead", "--master"),
        ("lakehouse", "--spark"),
        ("nexmark.throughput", "--events"),
        ("lifecycle", "--master"),
        ("startup", "--master"),
        ("container", "--variant"),
        ("commands", "--calls"),
        ("compare", "--pairs"),
        ("completion", "--tables"),
        ("console", "--pages"),
        ("scaling", "--seconds"),
        ("faults", "--only"),
        ("kafka", "--rows"),
        ("users", "--calls"),
        ("row_rules", "--pairs"),
        ("small_batches", "--idle"),
    ],
)
def test_a_benchmark_explains_itself_without_starting_anything(name: str, option: str) -> None:
    shown = f"from benchmarks.{name} import main; main(['--help'], standalone_mode=False)"
    program = f"{shown}; import sys; print(sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert option in ended.stdout
    assert "'pyspark'" not in ended.stdout


@pytest.mark.parametrize(
    ("goal", "value", "words"),
    [
        (Goal(most=1.3), 1.2, "<= 1.3 met"),
        (Goal(most=1.3), 1.31, "<= 1.3 MISSED"),
        (Goal(least=0.98), 0.98, ">= 0.98 met"),
        (Goal(least=0.98), 0.9, ">= 0.98 MISSED"),
    ],
)
def test_a_goal_says_whether_it_is_met(goal: Goal, value: float, words: str) -> None:
    assert goal.describe(value) == words


# --- a regression is worse in every pair ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "there", "is_regression"),
    [
        ([12.0, 23.0, 120.0], [10.0, 20.0, 100.0], True),
        ([12.0, 21.0, 120.0], [10.0, 20.0, 100.0], False),
        ([12.0, 23.0], [10.0, 20.0], False),
        ([5.0, 5.0, 5.0], [10.0, 10.0, 10.0], False),
    ],
)
def test_a_regression_is_worse_in_all_of_three_pairs(
    here: list[float], there: list[float], is_regression: bool
) -> None:
    assert compare.Comparison("figure", here, there).is_regression == is_regression


def answer_names(folder: Path, factor: int) -> Path:
    """Write a checkout whose benchmarks take as many milliseconds as their names have letters, times a factor."""
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "__init__.py").touch()
    program = f"""
import json, sys
print("READY", flush=True)
for line in sys.stdin:
    print(json.dumps({{"ms": len(line.strip()) * {factor}}}), flush=True)
"""
    (folder / "benchmarks" / "short.py").write_text(program, encoding="utf-8")
    return folder


def test_pairs_measure_both_checkouts_with_every_benchmark(tmp_path: Path) -> None:
    here, there = answer_names(tmp_path / "here", 3), answer_names(tmp_path / "there", 2)
    comparisons = compare.compare(here, there, ["start", "files"], 3, "local[2]", "1g")
    assert [(each.name, each.here, each.there, each.is_regression) for each in comparisons] == [
        ("start: ms", [15, 15, 15], [10, 10, 10], True),
        ("files: ms", [15, 15, 15], [10, 10, 10], True),
    ]


# --- rows are compared -----------------------------------------------------------------------------------------------


def test_runs_that_wrote_the_same_rows_are_accepted() -> None:
    require_equal({"job": Contents(3, 77), "by hand": Contents(3, 77)})


@pytest.mark.parametrize(
    ("by_hand", "message"),
    [
        (
            Contents(4, 77),
            "The runs wrote different numbers of rows: job: 3 rows, digest 4d, by hand: 4 rows, digest 4d.",
        ),
        (Contents(3, 78), "The runs wrote different rows: job: 3 rows, digest 4d, by hand: 3 rows, digest 4e."),
    ],
)
def test_runs_that_wrote_other_rows_are_refused(by_hand: Contents, message: str) -> None:
    with pytest.raises(click.ClickException) as caught:
        require_equal({"job": Contents(3, 77), "by hand": by_hand})
    assert caught.value.message == message


@pytest.mark.slow
@pytest.mark.spark
def test_contents_depend_on_the_rows_and_not_on_their_order(engine: EngineInstance) -> None:
    def of(*rows: tuple[int | None, str | None]) -> Contents:
        return contents(engine.spark.createDataFrame(rows, "a INT, b STRING"))

    base = of((1, "x"), (2, "y"))
    assert of((2, "y"), (1, "x")) == base
    assert base.rows == 2
    others = [of((1, "x"), (2, "z")), of((1, "x"), (1, "x")), of((1, "y"), (2, "x")), of((1, "x"))]
    assert base not in others
    assert of((1, "x"), (1, "x"), (2, "y")) != of((1, "x"), (2, "y"), (2, "y"))
    assert of((None, None)) != of()
    swapped = contents(engine.spark.createDataFrame([(None, 5)], "a INT, b INT"))
    assert swapped != contents(engine.spark.createDataFrame([(5, None)], "a INT, b INT"))


# --- messages have the time at which they were due -------------------------------------------------------------------


@given(began=st.integers(0, 2**62), rate=st.integers(1, 10**6), number=st.integers(0, 10**9))
def test_latency_is_counted_from_the_due_time(began: int, rate: int, number: int) -> None:
    schedule = Schedule(began, rate)
    due = schedule.due_at(number)
    assert schedule.due_by(due - 1) <= number < schedule.due_by(due)
    assert due - began == pytest.approx((number + 1) * 1e9 / rate, abs=1)


def test_nothing_is_due_before_the_start() -> None:
    assert Schedule(10**9, 1000).due_by(0) == 0


class StalledProducer:
    """A producer on the test's clock that stalls for half a second after its first message."""

    def __init__(self) -> None:
        self.now = 5_000_000_000
        self.sent: list[tuple[int, dict[str, Any], int]] = []

    def time_ns(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None, 1: None})})

    def produce(self, topic: str, value: bytes, partition: int) -> None:
        self.sent.append((self.now, json.loads(value), partition))
        if len(self.sent) == 1:
            self.now += 500_000_000

    def poll(self, timeout: float) -> None:
        pass

    def flush(self, timeout: float) -> int:
        return 0


def test_late_message_keeps_its_due_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    producer = StalledProducer()
    monkeypatch.setattr(kafka_clients, "Producer", lambda settings: producer)
    monkeypatch.setattr(kafka_clients, "time", producer)
    monkeypatch.setattr(sys, "stdin", io.StringIO("begin\n"))
    kafka_clients.send("broker", "topic", rate=100, count=60, first=7)
    began = 5_000_000_000
    assert [value["at"] for _, value, _ in producer.sent] == [began + 10_000_000 * (n + 1) for n in range(60)]
    assert [value["id"] for _, value, _ in producer.sent] == list(range(7, 67))
    assert [partition for *_, partition in producer.sent] == [number % 2 for number in range(7, 67)]
    late = [now - value["at"] for now, value, _ in producer.sent]
    assert min(late) >= 0 and max(late) >= 480_000_000
    ready, line = capsys.readouterr().out.splitlines()
    assert ready == "READY"
    assert json.loads(line) == {"sent": 60, "seconds": pytest.approx(0.6, abs=0.01)}
