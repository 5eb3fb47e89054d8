"""Build the site: `python -m tools.docs.site build/site`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
CONFIG: Final = "zensical.toml"
_NAMED: Final = re.compile(r"""\b(?:src|href)="([^"#?]+)""")
_ELSEWHERE: Final = re.compile(r"[a-z]+:|//")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


def navigation(source: Path = ROOT) -> list[str]:
    """Return the pages that the navigation names, in its order."""
    config = tomllib.loads((source / CONFIG).read_text(encoding="utf-8"))
    return list(_pages(config["project"]["nav"]))


def _pages(entry: object) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for each in entry.values():
            yield from _pages(each)
    elif isinstance(entry, list):
        for each in entry:
            yield from _pages(each)


class SiteError(Exception):
    """The site is not what it should be: a link or anchor leads nowhere, a page is missing."""


def build(target: Path, source: Path = ROOT) -> None:
    """Build the site from a folder with the configuration and `docs`. Raises SiteError.

    It is built from a copy, because Zensical writes next to its sources. It does not check its navigation.
    """
    named = set(navigation(source))
    written = {path.relative_to(source / "docs").as_posix() for path in source.glob("docs/**/*.md")}
    if named != written:
        raise SiteError(f"Pages that are only in the navigation, or only in the folder: {sorted(named ^ written)}")
    with tempfile.TemporaryDirectory(prefix="jetsql-docs-") as name:
        folder = Path(name)
        shutil.copy(source / CONFIG, folder)
        shutil.copytree(source / "docs", folder / "docs")
        command = (sys.executable, "-m", "zensical", "build", "--strict", "--clean")
        environ = {**os.environ, "PYTHONPATH": str(ROOT)}  # for the extension `tools.docs.sql_highlighting`
        built = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        if built.returncode:
            raise SiteError(_COLOURS.sub("", f"{built.stdout}{built.stderr}"))
        missing = _missing_files(folder / "build" / "site")
        if missing:
            raise SiteError(f"Files that pages show or link to, and that do not exist: {missing}")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder / "build" / "site", target)


def _missing_files(site: Path) -> list[str]:
    """Return what pages name and the site does not have: Zensical checks links and no pictures."""
    return sorted(
        f"{page.relative_to(site)}: {name}"
        for page in site.rglob("*.html")
        if page.name != "404.html"  # its links begin at the site's root, wherever that is
        for name in set(_NAMED.findall(page.read_text(encoding="utf-8")))
        if not _ELSEWHERE.match(name) and not (page.parent / name).exists()
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]))
