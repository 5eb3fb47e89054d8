"""The README is short, and what it names is there."""

import re

import pytest

from jetsql.cli.flags import ExitCode
from tests.support.paths import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 200


def test_readme_is_short() -> None:
    assert len(TEXT.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", re.findall(r"`?((?:examples|grammar|jetsql|java|tests|tools)/[\w./]*)`?", TEXT))
def test_named_files_exist(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT))))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_exit_codes() -> None:
    """Check the table of the reference, which is written by hand."""
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == [str(int(code)) for code in ExitCode]
