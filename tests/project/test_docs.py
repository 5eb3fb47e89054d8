"""The documentation: its site is whole and loads nothing from elsewhere; its generated parts are those of the code."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jetsql.conditions.error_conditions import CONDITIONS
from jetsql.conditions.job_conditions import JOB_CONDITIONS
from jetsql.jobs.statements.system_tables import SYSTEM_TABLES
from jetsql.language import statement_syntax
from tests.support.paths import ROOT
from tools.docs import grammar, site
from tools.docs.markdown import part_names
from tools.docs.parts import PARTS, generated_files, written_pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# What a page would load, as opposed to what it links to.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*?\b(?:src|srcset|data)\s*=\s*[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon|modulepreload))[^>]*?href=[\"']?((?:https?:)?//[^\"'\s>]+)"
    r"|url\(\s*[\"']?((?:https?:)?//[^)\"']+)|@import\s+[\"']((?:https?:)?//[^\"']+)",
    re.IGNORECASE,
)


# Whether the first result is this place. The results, in a shadow DOM, change with each letter that is typed.
_IS_FIRST_RESULT = """(place) => {
  const roots = [...document.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean);
  const links = roots.flatMap((root) => [...root.querySelectorAll("a")]);
  const results = links.map((each) => each.getAttribute("href") ?? "");
  return results.find((each) => each.includes("?h="))?.endsWith(place);
}"""


# The code that runs while a job runs, and the conditions in it with which only statements fail.
OF_RUNS = [
    f"jetsql/{name}"
    for name in ("engine/runs", "engine/sinks", "engine/errors", "engine/checkpoints", "jobs/lifecycle")
]
OF_STATEMENTS = {
    *("PARSE_SYNTAX_ERROR", "TEMPORARY_OBJECT_IN_BODY", "UNKNOWN_OPTION", "INVALID_EXPECTATION"),
    *(
        "INVALID_START_MODE",
        "START_NOT_POSSIBLE",
        "SNAPSHOT_FAILED",
        "SNAPSHOT_NOT_FOUND",
        "STATE_NOT_FOUND",
        "BACKUP_FAILED",
    ),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    site.build(folder)
    return folder


def test_no_page_loads_anything_from_elsewhere(built: Path) -> None:
    files = [path for path in built.rglob("*") if path.suffix in (".html", ".css", ".svg")]
    assert files
    assert {path.name: found for path in files if (found := LOADED.findall(path.read_text(encoding="utf-8")))} == {}


def test_every_page_is_built_and_searched_without_a_server(built: Path) -> None:
    """Build the index as a script, too: pages that are opened from a folder load no JSON in browsers."""
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in ROOT.glob("docs/**/*.md")}
    assert {page for page in pages if not (built / page).exists()} == set()
    index = json.loads((built / "search.json").read_text(encoding="utf-8"))
    assert pages <= {item["location"].partition("#")[0] for item in index["items"]}
    assert (built / "search.js").read_text(encoding="utf-8").startswith("var __index")
    assert "iframe-worker" in (built / "index.html").read_text(encoding="utf-8")


def test_keywords_of_jetsql_are_highlighted(built: Path) -> None:
    page = (built / "tutorial" / "first-job.html").read_text(encoding="utf-8")
    assert {
        word for word in ("JOB", "STREAM", "SUSPEND", "WAIT", "IDLE") if f'<span class="k">{word}</span>' not in page
    } == set()
    assert '<span class="n">big_orders</span>' in page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    from tests.support.screens.chromium import running_chromium

    with running_chromium() as browser:
        yield browser


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("sasl", "how-to/kafka.html?h=sasl#secure-connections"),
        ("forgot stream", "how-to/other-systems.html?h=forgot+stream#if-you-forgot-stream"),
        ("high availability", "operate/high-availability.html?h=high+availability"),
    ],
)
def test_the_search_finds_the_right_page_first(built: Path, chromium: Browser, words: str, place: str) -> None:
    from tests.support.screens.chromium import checked_page

    with checked_page(chromium) as page:
        page.goto((built / "index.html").as_uri())
        page.keyboard.press("/")
        page.keyboard.type(words)
        page.wait_for_function(_IS_FIRST_RESULT, arg=place)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_first_page_shows_the_whole_picture(built: Path, chromium: Browser, width: int) -> None:
    from tests.support.screens.chromium import checked_page, overflows

    with checked_page(chromium, viewport={"width": width, "height": 900}) as page:
        page.goto((built / "index.html").as_uri())
        box = page.locator("img[src$='shell.svg']").bounding_box()
        assert box is not None
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
        assert not overflows(page)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[nowhere](nowhere.md)", "nowhere.md"),
        ("[no anchor](index.md#no-such-heading)", "no-such-heading"),
        ("![no picture](assets/nothing.svg)", "assets/nothing.svg"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, text: str, complaint: str) -> None:
    small_site(tmp_path, f"# Home\n\n{text}\n")
    with pytest.raises(site.SiteError, match=complaint):
        site.build(tmp_path / "site", tmp_path)


def test_page_missing_in_the_navigation_fails_the_build(tmp_path: Path) -> None:
    small_site(tmp_path, "# Home\n")
    (tmp_path / "docs" / "lost.md").write_text("# Lost\n", encoding="utf-8")
    with pytest.raises(site.SiteError, match=r"lost\.md"):
        site.build(tmp_path / "site", tmp_path)


def small_site(folder: Path, index: str) -> None:
    """Write a site of one page with this project's configuration."""
    config = (ROOT / site.CONFIG).read_text(encoding="utf-8")
    small = re.sub(r"^nav = \[.*?^\]", 'nav = [{ "Home" = "index.md" }]', config, flags=re.MULTILINE | re.DOTALL)
    (folder / site.CONFIG).write_text(small, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "assets", folder / "docs" / "assets")
    (folder / "docs" / "index.md").write_text(index, encoding="utf-8")


def test_generated_files_are_up_to_date() -> None:
    """Fail until `python -m tools.docs` has written the files."""
    stale = [
        path.relative_to(ROOT).as_posix()
        for path, text in generated_files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    assert stale == []


def test_every_generated_part_has_its_place() -> None:
    named = [name for path in written_pages() for name in part_names(path.read_text(encoding="utf-8"))]
    assert sorted(named) == sorted(PARTS)


def test_everything_that_the_reference_lists_is_described() -> None:
    columns = [(table.name, column) for table in SYSTEM_TABLES for column in table.columns]
    assert [(table, column.name) for table, column in columns if not column.comment] == []


def test_every_rule_of_the_grammar_is_in_a_diagram() -> None:
    drawn = " ".join(grammar.diagram(rule) for rule in (*statement_syntax.statement_rules(), "options"))
    words = set(re.findall(r">([A-Z][A-Z0-9_]*)<", drawn))
    assert words == grammar.keywords()


@pytest.mark.parametrize("section", ["how-to", "operate"])
def test_each_page_is_in_the_index_of_its_section(section: str) -> None:
    """Fail until the `index.md` of the section has a row for each page."""
    overview = (ROOT / "docs" / section / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs" / section).glob("*.md")} - {"index.md"}
    assert {page for page in pages if f"]({page})" not in overview} == set()


def test_figures_of_the_first_page_match_the_other_pages() -> None:
    first, failures, lakehouse = (
        (ROOT / "docs" / name).read_text(encoding="utf-8")
        for name in ("index.md", "explanation/failures.md", "how-to/lakehouse.md")
    )
    rows = re.findall(r"\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", failures, re.MULTILINE)
    engines, jobs, lost, twice = (sum(map(int, column)) for column in zip(*rows, strict=True))
    assert f"{engines} engines and {jobs} jobs killed" in first
    assert f"[{lost} rows lost, {twice} rows twice]" in first
    ratios = dict(re.findall(r"^\| (Delta|Iceberg) \| (\d\.\d+ \| \d\.\d+ \| \d\.\d+)", lakehouse, re.MULTILINE))
    ranges = {name: sorted(figures.split(" | ")) for name, figures in ratios.items()}
    assert "[" + ", ".join(f"{name} {low} to {high}" for name, (low, _, high) in ranges.items()) + "]" in first


def test_the_runbook_has_each_condition_that_stops_jobs() -> None:
    texts = {
        node.value.removeprefix("JETSQL.")
        for folder in OF_RUNS
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert texts & {*CONDITIONS} == (texts & {*JOB_CONDITIONS}) | OF_STATEMENTS
    assert all(condition.check for condition in JOB_CONDITIONS.values())
