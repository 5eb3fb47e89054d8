"""Exit codes with which Spark's process has crashed, and with which a user has killed it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from jetsql.embedded.exit_reasons import ExitReasons


def test_unexpected_exit_is_a_crash(tmp_path: Path) -> None:
    reasons = ExitReasons(tmp_path / "none")
    assert reasons.describe(3) == "Spark's process ended, because its heap was full."
    assert reasons.describe(-signal.SIGABRT) == "Spark's process crashed."


@pytest.mark.parametrize("code", [0, 1, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT])
def test_kill_or_stop_is_no_crash(tmp_path: Path, code: int) -> None:
    assert ExitReasons(tmp_path / "none").describe(code) is None


def test_kill_by_the_kernel_is_a_crash(tmp_path: Path) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("nr_free_pages 100\noom_kill 2\n")
    reasons = ExitReasons(counts)
    assert reasons.describe(-signal.SIGKILL) is None
    counts.write_text("nr_free_pages 100\noom_kill 3\n")
    assert reasons.describe(-signal.SIGKILL) is not None
    assert reasons.describe(-signal.SIGTERM) is None
