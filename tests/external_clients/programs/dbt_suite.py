"""dbt's own tests for adapters, those that apply to Spark's tables of files.

Left out, because Spark has nothing for them: grants, transactions, foreign keys that are checked, clones, and models in
Python. Merges and snapshots need Delta or Iceberg, which the engine of these tests has not.
"""

import os
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import story
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_base import BaseSimpleMaterializations
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import BaseIncremental
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.dbt_show.test_dbt_show import BaseShowLimit
from dbt.tests.adapter.empty.test_empty import BaseTestEmpty
from dbt.tests.adapter.query_comment.test_query_comment import BaseMacroQueryComments
from dbt.tests.adapter.simple_seed.test_seed import BaseTestEmptySeed
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.utils.test_hash import BaseHash
from dbt.tests.adapter.utils.test_string_literal import BaseStringLiteral


@pytest.fixture(scope="class")
def dbt_profile_target() -> dict[str, object]:
    return {
        "type": "jetsql",
        "url": os.environ["JETSQL_TEST_URL"],
        "token": os.environ["JETSQL_TEST_TOKEN"],
        "threads": 2,
    }


class TestSimpleMaterializations(BaseSimpleMaterializations):
    pass


class TestSingularTests(BaseSingularTests):
    pass


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    pass


class TestEmpty(BaseEmpty):
    pass


class TestEphemeral(BaseEphemeral):
    pass


class TestIncremental(BaseIncremental):
    pass


class TestGenericTests(BaseGenericTests):
    pass


class TestAdapterMethod(BaseAdapterMethod):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass


class TestEmptyFlag(BaseTestEmpty):
    pass


class TestMacroQueryComments(BaseMacroQueryComments):
    pass


class TestUnitTestCaseInsensitivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


class TestShowLimit(BaseShowLimit):
    pass


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestHash(BaseHash):
    pass


class TestStringLiteral(BaseStringLiteral):
    pass


class Steps:
    """Print each test as a step when it ends, past the capture of pytest."""

    def __init__(self) -> None:
        self._output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            name = report.nodeid.partition("::")[2].replace("::", ".")
            with redirect_stdout(self._output):
                print()  # pytest has written a point to this line
                story.print_step(
                    name, report.passed, str(report.longrepr)[-600:] if report.failed else "", report.duration
                )


if __name__ == "__main__":
    # dbt imports each module on the path whose name begins with dbt_.
    sys.path.remove(str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-c", os.devnull, "-W", "ignore", f"--rootdir={folder}"]
        options += [
            "-p",
            "dbt.tests.fixtures.project",
            "-p",
            "no:cacheprovider",
            "--noconftest",
            "--import-mode=importlib",
        ]
        sys.exit(pytest.main([*options, *sys.argv[1:], __file__], plugins=[Steps()]))
