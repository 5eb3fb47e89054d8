"""The units in examples/deployment, and the image: systemd accepts the units, and both say what the engine does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.engine_settings import SPECS
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "deployment"
IMAGE = (ROOT / "deploy" / "image" / "Containerfile").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "operate" / "systemd.md").read_text(encoding="utf-8")
STOP_SECONDS = int(JobSettings.stop_deadline_seconds + JobSettings.close_wait_seconds)
UNITS = {
    "jetsql.service": ("/opt/jetsql/bin/jetsql", "--system"),
    "jetsql-user.service": ("%h/.local/bin/jetsql", "--user"),
}


def unit(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is there on Linux only")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_the_unit(name: str, tmp_path: Path) -> None:
    """Replace those of an installation, which systemd searches for, by a program and files that exist."""
    program, scope = UNITS[name]
    command = shutil.which("systemd-analyze")
    assert command is not None, "systemd-analyze is missing: apt-get install systemd, or `tools/prepare systemd`"
    file = tmp_path / name
    file.write_text(unit(name).replace(program, sys.executable))
    ended = subprocess.run(
        [command, scope, "--man=no", "--generators=no", "--recursive-errors=no", "verify", str(file)],
        capture_output=True,
        text=True,
        env={"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("name", UNITS)
def test_the_guide_has_the_unit(name: str) -> None:
    text = unit(name)
    assert f"```ini\n{text}```" in GUIDE


def test_all_supervisors_wait_for_a_graceful_stop() -> None:
    for name in UNITS:
        assert f"TimeoutStopSec={STOP_SECONDS}\n" in unit(name) and "KillSignal=SIGTERM\n" in unit(name)
    assert "STOPSIGNAL SIGTERM" in IMAGE


def test_only_settings_that_exist_are_set() -> None:
    names = re.findall(r"JETSQL_\w+", IMAGE + unit("jetsql.service"))
    assert {name.removeprefix("JETSQL_").lower() for name in names} - {"config"} <= set(SPECS)
