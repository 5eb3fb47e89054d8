"""Run every SQL, Python and shell block of README.md and of the pages in docs/, so that the pages stay true.

A page is a story: its blocks run in their order against one engine that all pages share, a process of its own. Each
page begins with an empty schema `default`. Blocks of these languages are run: `sql` (a script, one session a page),
`python` (in the page's folder, with common names), `shell` (bash without prompts) and `console` (`$ ` before commands;
lines below them are their output, which is compared). `toml` is read as `config.toml`, `json` is parsed; other
languages are shown only. `title="NAME"` makes a block a file in the page's folder that a later block has to use.

Comments before a block say what the page does not:

    <!-- not run: needs a YARN cluster -->      a reason in words; only the syntax is checked
    <!-- fails: JETSQL.UNKNOWN_OPTION -->       fails with this condition; of shell and console: with this exit code
    <!-- program -->                            Python as a program of its own, such as one that starts Spark itself
    <!-- output -->                             what the block before prints; `...` stands for lines, `…` for text
    <!-- topics: orders=2, totals -->           Kafka topics that the block needs, with their partitions

Further steps are hidden in comments: `<!-- sql`, `<!-- python`, `<!-- shell` and `<!-- file: NAME`, each with its text
in the lines below. Pages write `my-home` and `/var/lib/jetsql` for the home of the shared engine,
`localhost:8630`, `:15002` and `:10000` for its HTTP, Spark Connect and Thrift endpoints, TOKEN for its token,
`localhost:9092` for Kafka, and `//localhost/shop` with the user `ann` for a database of PostgreSQL.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents.blocks import PageError, Step, console_commands, read_page
from tests.support.documents.output import differs
from tests.support.documents.services import KAFKA, POSTGRES, clear_topics, postgres_addresses
from tests.support.documents.story import SharedEngine, Story, environment
from tests.support.documents.syntax import check_syntax
from tests.support.engines.spark_conf import CONF
from tests.support.paths import ROOT

PAGES = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))}
"""All pages, also those without a block."""


def steps_of(page: str) -> list[Step]:
    return read_page(PAGES[page], page)


HOMES = ("my-home", "/var/lib/jetsql")


def run_pages() -> list[Any]:
    """Return the pages with a block to run, all slow. A page that cannot be read fails in a test of its own."""
    found: list[Any] = []
    for page in PAGES:
        try:
            if any(step.is_run for step in steps_of(page)):
                found.append(pytest.param(page, marks=pytest.mark.slow))
        except PageError:
            continue
    return found


@pytest.mark.parametrize("page", PAGES)
def test_syntax(page: str) -> None:
    for step in steps_of(page):
        try:
            check_syntax(step)
        except (ValueError, SyntaxError) as error:
            pytest.fail(f"{page}:{step.line}: {error}")


@pytest.mark.parametrize(
    ("expected", "printed", "expected_difference"),
    [
        ("id | n\n---+--\n 1 | 2\n", "id    | n\n------+---\n1 | 2\n\n", False),
        ("1 row in 0.4 s", "1 row in 12 ms", False),
        ("660c-82e2-3cc9-c000 | RUNNING", "0001-0002-0003-000a | RUNNING", False),
        ("first\n...\nlast", "first\nsecond\nthird\nlast", False),
        ("Created. Delivery: …", "Created. Delivery: at least once.", False),
        ("1 | 2", "1 | 3", True),
        ("first\nlast", "first\nsecond\nlast", True),
    ],
)
def test_comparison_of_output(expected: str, printed: str, expected_difference: bool) -> None:
    assert differs(expected, printed) is expected_difference


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```\nx\n```", "has one of the languages"),
        ("```sql\nSELECT 1;", "does not end"),
        ("<!-- outptu -->\n```text\nx\n```", "means nothing to the tests"),
        ("<!-- not run: no -->\n```sql\nSELECT 1;\n```", "in some words"),
        ("<!-- fails: 1 -->\n\ntext", "no block follows"),
        ("<!-- output -->\n```text\nx\n```", "nothing that this could be the output of"),
        ('```sql title="a.sql"\nSELECT 1;\n```', "no later block uses the file a.sql"),
    ],
)
def test_pages_that_do_not_keep_to_the_convention(tmp_path: Path, page: str, complaint: str) -> None:
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    with pytest.raises(PageError, match=re.escape(complaint)):
        read_page(tmp_path / "page.md", "page.md")


def test_commands_of_a_console() -> None:
    text = "$ first \\\n    --more\n$ second\nits output\n\n> not a command\n$ third\n"
    commands = ["first \\\n    --more", "second", "third"]
    assert console_commands(text) == list(zip(commands, ["", "its output\n\n> not a command\n", ""], strict=True))


def test_the_tutorials_can_follow_each_other_on_one_home() -> None:
    """Check that no two of them create a table or a job of the same name."""
    names = [name for page in PAGES if "/tutorial/" in page for name in created_names(page)]
    assert names
    assert [name for name, times in Counter(names).items() if times > 1] == []


def created_names(page: str) -> set[tuple[str, str]]:
    """Return kinds and names of what the SQL of a page creates."""
    created = re.compile(r"^CREATE (TABLE|VIEW|JOB|FUNCTION) (\w+)", re.MULTILINE)
    return {found for step in steps_of(page) if step.language == "sql" for found in created.findall(step.text)}


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedEngine]:
    folder = tmp_path_factory.mktemp("documents")
    conf = " ".join(f"{key}={value}" for key, value in CONF.items())
    engine = SharedEngine(
        folder / "home", environment(folder, master="local[2]", conf=conf, thrift="true", kafka="true")
    )
    try:
        yield engine
    finally:
        engine.stop()


@pytest.fixture
def story(
    page: str,
    request: pytest.FixtureRequest,
    shared_engine: SharedEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Story]:
    """Run the story of a page: with Kafka and PostgreSQL if the page uses them, without what other pages have left."""
    for name in [name for name in os.environ if name.startswith("JETSQL")]:
        monkeypatch.delenv(name)
    for name, value in shared_engine.environ.items():
        monkeypatch.setenv(name, value)
    text = PAGES[page].read_text(encoding="utf-8")
    story = Story(page, tmp_path, shared_engine, dict.fromkeys(HOMES, str(shared_engine.home)))
    if KAFKA in text:
        story.kafka = request.getfixturevalue("kafka")
        story.replaced[KAFKA] = story.kafka.servers
    if POSTGRES in text:
        story.replaced |= postgres_addresses(request.getfixturevalue("postgres"), tmp_path)
    shared_engine.clear()
    yield story
    if story.kafka is not None:
        clear_topics(story.kafka)


@pytest.mark.spark
@pytest.mark.parametrize("page", run_pages())
def test_blocks(page: str, story: Story) -> None:
    story.run(steps_of(page))
