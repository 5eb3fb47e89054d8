"""The scripts and styles in the package: they come from the sources in `console`, and are small enough."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from pathlib import Path

import pytest

from jetsql.console.web.assets_served import assets
from tests.support.paths import ROOT

SOURCES = ROOT / "console"
FOLDER = Path(str(resources.files("jetsql.console"))) / "assets"
RECORD = json.loads((FOLDER / "built.json").read_text(encoding="utf-8"))
COMPRESSED_MOST = 250 * 1024
"""The limit of all scripts together, in bytes."""


def hashes(files: list[Path], folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_assets_are_built_from_the_sources() -> None:
    """Compare hashes, which needs no npm; `make console` writes them."""
    files = [SOURCES / name for name in ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")]
    files += [file for name in ("src", "static") for file in (SOURCES / name).iterdir()]
    assert hashes(files, SOURCES) == RECORD["sources"], "run `make console`"


def test_the_assets_are_as_they_were_built() -> None:
    files = [file for file in FOLDER.iterdir() if file.name != "built.json"]
    assert hashes(files, FOLDER) == RECORD["assets"], "run `make console`"


def test_the_scripts_are_small() -> None:
    size = sum(len(asset.compressed) for name, asset in assets().items() if name.endswith(".js"))
    assert size < COMPRESSED_MOST


def test_the_styles_load_nothing() -> None:
    for name, asset in assets().items():
        if name.endswith(".css"):
            assert b"url(" not in asset.content and b"@import" not in asset.content, name


@pytest.mark.parametrize("template", sorted((FOLDER.parent / "templates").glob("*.html")), ids=lambda file: file.name)
def test_templates_keep_to_the_policy(template: Path) -> None:
    """Refuse inline scripts and styles, and all that disables escaping."""
    text = template.read_text(encoding="utf-8")
    for pattern in (
        " style=",
        "<style",
        "javascript:",
        "| safe",
        "|safe",
        "autoescape",
        "hx-on",
        " onclick",
        "http://",
    ):
        assert pattern not in text.replace("http://www.w3.org", ""), pattern
    for part in text.split("<script")[1:]:
        assert part.startswith((" src=", ' type="application/json"')), part[:80]
