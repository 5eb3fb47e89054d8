"""The profile of the suite's projects."""

import os

import pytest


@pytest.fixture(scope="class")
def dbt_profile_target():
    return {
        "type": "jetsql",
        "url": os.environ["JETSQL_TEST_URL"],
        "token": os.environ["JETSQL_TEST_TOKEN"],
        "threads": 2,
    }
