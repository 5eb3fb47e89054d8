"""The first job of the README on the older Sparks, with the one package. `make test-sparks` runs many more tests."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tools.java.older_sparks import OLDER, install

# Long enough to install a Spark for the first time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(params=OLDER)
def python(request: pytest.FixtureRequest) -> Path:
    return install(request.param)


def run(python: Path, *arguments: str) -> str:
    command = [str(python), "-m", "jetsql", *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_first_job(python: Path, tmp_path: Path) -> None:
    create, change = re.findall(r"```sql(?: title=\"orders.sql\")?\n(.+?)```", README, re.S)[:2]
    script, home = tmp_path / "orders.sql", str(tmp_path / "home")
    try:
        script.write_text(create, encoding="utf-8")
        created = run(python, "run", "--home", home, str(script))
        assert "exactly once" in created and "Edsger" in created
        script.write_text(change, encoding="utf-8")
        changed = run(python, "run", "--home", home, str(script))
        assert "SUSPENDED" in changed and "Updated." in changed and "Dropped." in changed
    finally:
        run(python, "stop", "--home", home)
