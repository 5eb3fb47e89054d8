"""The tests of `examples/tested` notice mutations of Nexmark's queries."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from jetsql.sqltests.read_tests import SUFFIX, SqlTestFile, read_test_file
from jetsql.sqltests.run_files import SparkOfTests
from jetsql.sqltests.run_test import Result, Verdict
from tests.support.query_mutations import Mutation, mutate

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3000)]

EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "tested"
# In q14 these mean the same: no number of dollars has exactly these prices in euros.
EQUIVALENT: Final = ("> -> >=", "< -> <=")
SAMPLE: Final = 100


def mutations() -> Iterator[tuple[str, Mutation]]:
    """Yield all mutations of the queries, with the name of the query."""
    for file in sorted(EXAMPLES.glob("q*.sql")):
        if file.name.endswith(".test.sql"):
            continue
        text = file.read_text(encoding="utf-8")
        for mutation in mutate(text, text.index("SELECT", text.index("CREATE JOB"))):
            if not (file.stem == "q14" and mutation.change.endswith(EQUIVALENT)):
                yield file.stem, mutation


def test_19_of_20_mutations_are_detected(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    chosen = random.Random(4).sample(list(mutations()), SAMPLE)
    files = [_mutated(tmp_path / str(number), *each) for number, each in enumerate(chosen)]
    results: dict[str, list[Result]] = {file.name: [] for file in files}
    with SparkOfTests(2) as spark:
        for result in spark.run(files, ""):
            results[result.test.file].append(result)
    kept = [
        (f"{name} {mutation.change}", results[file.name])
        for file, (name, mutation) in zip(files, chosen, strict=True)
        if not all(map(_is_refused, results[file.name]))
    ]
    missed = [change for change, of_file in kept if all(each.verdict is Verdict.PASSED for each in of_file)]
    record_property("noticed", len(kept) - len(missed))
    sys.stderr.write(
        f"{len(kept) - len(missed)} of {len(kept)} mutations noticed; missed: {missed}."
        f" JetSQL or Spark refuses {SAMPLE - len(kept)} more, without a test\n"
    )
    assert len(kept) * 2 > SAMPLE
    assert len(missed) * 20 <= len(kept), missed


def _is_refused(result: Result) -> bool:
    """Return whether a statement of the mutated file was refused, which no test is needed for."""
    problem = result.problem
    return problem is not None and not problem.script.name.endswith(SUFFIX)


def _mutated(folder: Path, name: str, mutation: Mutation) -> SqlTestFile:
    folder.mkdir()
    for file in ("nexmark.sql", f"{name}.test.sql"):
        shutil.copy(EXAMPLES / file, folder)
    (folder / f"{name}.sql").write_text(mutation.text, encoding="utf-8")
    return read_test_file(str(folder / f"{name}.test.sql"), {})
