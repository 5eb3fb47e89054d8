"""The benchmarks start and explain themselves; what they measure is for people to read."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.reporting import Goal

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("overhead", "--master"),
        ("lifecycle", "--master"),
        ("startup", "--master"),
        ("commands", "--calls"),
        ("completion", "--tables"),
        ("scaling", "--seconds"),
        ("faults", "--only"),
        ("kafka", "--rows"),
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
    assert goal.words(value) == words
