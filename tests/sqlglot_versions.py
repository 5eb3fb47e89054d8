"""Run the dialect's tests with the versions of sqlglot that JetSQL accepts, and with its compiled build.

`make test-clients` runs it: python -m tests.sqlglot_versions. Each version is in a folder of its own, before those of
the environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from tests.support.paths import ROOT

VERSIONS: Final = ("sqlglot==28.10.1", "sqlglot==29.0.1", "sqlglot==30.0.3", "sqlglot", "sqlglot[c]")
"""The oldest one, the first of each major version, the newest, and the newest one compiled."""
NEWEST: Final = ("sqlglot", "sqlglot[c]")
ONLY_NEWEST: Final = "bodies_are_expressions_of_spark"
"""The test that lists the bodies that stay texts; each version of sqlglot knows more, or less, of Spark's SQL."""
TESTS: Final = ("tests/sqlglot_dialect/test_sqlglot_dialect.py",)


def main() -> None:
    """Install each version and run the tests. Ends the process with 1 if some fail."""
    failed = [version for version in sys.argv[1:] or VERSIONS if not run_tests(version)]
    sys.exit(f"The dialect's tests fail with {', '.join(failed)}." if failed else 0)


def run_tests(version: str) -> bool:
    """Return whether the tests pass with a version."""
    folder = ROOT / "build" / "sqlglot" / version.replace("==", "-").replace("[c]", "-compiled")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    subprocess.run([*pip, "--target", str(folder), version], check=True, timeout=300)
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    pytest = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-m", "not spark and not slow", *TESTS]
    if version not in NEWEST:
        pytest += ["-k", f"not {ONLY_NEWEST}"]
    return subprocess.run(pytest, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    main()
