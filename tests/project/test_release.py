"""The tool that builds and checks a release, without building one."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetsql.version import VERSION
from tests.support.paths import ROOT
from tools import release


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("# Changelog\n\n## Unreleased\n\n## [1.2.3] - 2026-11-23\n", True),
        ("## [1.2.3]\n", False),
        ("## 1.2.3 - 2026-11-23\n", False),
        ("## [11.2.3] - 2026-11-23\n", False),
        ("## [1.2.34] - 2026-11-23\n", False),
        ("See ## [1.2.3] - 2026-11-23\n", False),
    ],
)
def test_a_version_has_a_heading_with_its_date(text: str, has: bool) -> None:
    assert release.changelog_has(text, "1.2.3") is has


def test_the_changelog_names_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert release.changelog_has(text, VERSION)
    assert text.index("\n## Unreleased\n") < text.index(f"\n## [{VERSION}]")


def test_release_of_a_wrong_tree_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n", encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "VERSION", "7.8.9")
    heading, home, committed = release.tree_problems()
    assert heading == "CHANGELOG.md has no heading '## [7.8.9] - YYYY-MM-DD'."
    assert home.endswith("python -m tests.releases.recording r7_8.")
    assert committed == "Not everything is committed (git status)."


def test_files_that_differ_are_named() -> None:
    release.compare("a.whl", ["a", "b"], {"b", "a"})
    with pytest.raises(release.ReleaseError) as caught:
        release.compare("a.whl", {"a", "c"}, {"a", "b"})
    assert str(caught.value) == "a.whl lacks ['b'] and has ['c'] that it should not."


def test_the_wheel_has_its_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = release.package_files()
    assert {"jetsql/py.typed", "jetsql/console/templates/base.html", "jetsql/cli/__init__.py"} <= {*files}
    assert files["jetsql/grammar/jetsql.lark"] == "grammar/jetsql.lark"
    assert files["dbt/adapters/jetsql/__init__.py"] == "dbt_plugin/__init__.py"
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    with pytest.raises(release.ReleaseError, match=r"No file of jetsql matches py\.typed\."):
        release.package_files()
