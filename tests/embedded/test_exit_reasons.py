"""By which exit code Spark's process has crashed, and by which a user has killed it."""

from __future__ import annotations

import signal
from pathlib import Path

from jetsql.embedded.exit_reasons import ExitReasons


def test_what_ends_by_itself_has_crashed(tmp_path: Path) -> None:
    reasons = ExitReasons(tmp_path / "none")
    assert reasons.describe(3) == "Spark's process ended, because its heap was full."
    assert reasons.describe(-signal.SIGABRT) == "Spark's process crashed."


def test_what_is_killed_or_stopped_has_not_crashed(tmp_path: Path) -> None:
    reasons = ExitReasons(tmp_path / "none")
    for code in (0, 1, 143, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT):
        assert reasons.describe(code) is None


def test_what_the_kernel_kills_has_crashed(tmp_path: Path) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("nr_free_pages 100\noom_kill 2\n")
    reasons = ExitReasons(counts)
    assert reasons.describe(-signal.SIGKILL) is None
    counts.write_text("nr_free_pages 100\noom_kill 3\n")
    assert reasons.describe(-signal.SIGKILL) is not None
    assert reasons.describe(-signal.SIGTERM) is None
