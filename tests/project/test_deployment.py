"""The files in examples/deployment and deploy: systemd accepts the units, and the others say what the engine does."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from jetsql.jobs.model.job_settings import JobSettings
from jetsql.settings.engine_settings import SPECS
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "deployment"
IMAGE = (ROOT / "deploy" / "image" / "Containerfile").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "how-to" / "systemd.md").read_text(encoding="utf-8")
STOP_SECONDS = int(JobSettings.stop_deadline_seconds + JobSettings.close_wait_seconds)
UNITS = {
    "jetsql.service": ("/opt/jetsql/bin/jetsql", "--system"),
    "jetsql-user.service": ("%h/.local/bin/jetsql", "--user"),
}


def unit(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text(encoding="utf-8")))


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
    pod = documents()[-1]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > STOP_SECONDS
    assert "STOPSIGNAL SIGTERM" in IMAGE


def test_probes_distinguish_liveness_and_readiness() -> None:
    [engine] = documents()[-1]["spec"]["template"]["spec"]["containers"]
    probes = {name: engine[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert [probe["path"] for probe in probes.values()] == ["/healthz", "/healthz", "/leader"]
    assert all(probe["httpHeaders"] == [{"name": "Host", "value": "localhost"}] for probe in probes.values())


def test_only_settings_that_exist_are_set() -> None:
    [engine] = documents()[-1]["spec"]["template"]["spec"]["containers"]
    names = [each["name"] for each in engine["env"]]
    names += re.findall(r"JETSQL_\w+", IMAGE + unit("jetsql.service"))
    used = {name.removeprefix("JETSQL_").lower() for name in names if name.startswith("JETSQL_")}
    assert used - {"home", "config"} <= set(SPECS) | {"master", "driver_memory"}
