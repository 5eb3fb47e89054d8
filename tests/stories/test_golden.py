"""Golden files: the scripts tests/golden/*.sql are run, and their output must equal the .out files next to them.

`JETSQL_GOLDEN=write pytest tests/stories/test_golden.py` writes the .out files and fails; review the difference before
you commit it.
The scripts continue after an error, so that errors can be part of them. Ids and times differ with every run: their
digits are replaced by `#`, with the same width, so that the columns of a table stay aligned.
"""

import os
import re
from pathlib import Path

import pytest

from jetsql.embedded.engine_instance import EngineInstance
from jetsql.output.diagnostics import Script
from jetsql.output.render import Format
from jetsql.script import prepare, run
from tests.support.paths import GOLDEN
from tests.support.screens.transcript import Transcript

pytestmark = pytest.mark.spark

STORIES = sorted(GOLDEN.glob("*.sql"))
CHANGING = re.compile(
    r"\b[0-9a-f]{4}(?:-[0-9a-f]{4}){3}\b"
    r"|\b20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[+-][0-9]{2}:[0-9]{2})?"
)

READ_FILE = re.compile(r"(The task was reading file:)[^\n]*")
SIZES = re.compile(r"\([0-9]+ bytes\)")


class GoldenTranscript(Transcript):
    """A transcript with an empty line before each error, and without what changes from run to run."""

    def show_error(self, text: str) -> None:
        self.lines.append("")
        super().show_error(text)

    def text(self) -> str:
        shown = "\n".join(self.lines).lstrip("\n") + "\n"
        masked = CHANGING.sub(lambda found: re.sub("[0-9a-f]", "#", found.group()), READ_FILE.sub(r"\1#", shown))
        return SIZES.sub(lambda found: re.sub("[0-9]", "#", found.group()), masked)


class OwnSession:
    """An engine with a new session, which has no temporary views of other tests."""

    def __init__(self, engine: EngineInstance) -> None:
        self.run = engine.session().run
        self.error = engine.error

    def close(self) -> None:
        """Keep the engine running for other tests."""


@pytest.mark.parametrize("story", STORIES, ids=[story.stem for story in STORIES])
def test_story(story: Path, engine: EngineInstance, tmp_path: Path) -> None:
    transcript = GoldenTranscript()
    script = Script(story.name, story.read_text(encoding="utf-8"))
    run(prepare([script], {"tmp": str(tmp_path)}), OwnSession(engine), transcript, Format.TABLE, keep_going=True)
    expected = story.with_suffix(".out")
    if os.environ.get("JETSQL_GOLDEN") == "write":
        expected.write_text(transcript.text(), encoding="utf-8")
        pytest.fail(f"{expected.name} is written and not compared")
    assert transcript.text() == expected.read_text(encoding="utf-8")


def test_every_golden_output_has_its_script() -> None:
    assert STORIES
    assert {file.stem for file in GOLDEN.glob("*.out")} == {story.stem for story in STORIES}
