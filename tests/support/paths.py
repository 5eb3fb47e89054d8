"""The folders of this checkout that tests read from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TESTS: Final = ROOT / "tests"
PROGRAMS: Final = TESTS / "support" / "programs"
FIXTURES: Final = TESTS / "fixtures"
GOLDEN: Final = TESTS / "golden"
