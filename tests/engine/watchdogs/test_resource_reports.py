"""Find the job at fault when the engine is short of memory, files or disk, without Spark."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jetsql.engine.watchdogs.resource_reports import (
    Activity,
    Resource,
    ResourceReport,
    ShortageLevel,
    danger_cause,
    describe_bytes,
    find_culprit,
    find_suspects,
    parse_report,
)

MEMORY = ResourceReport(Resource.MEMORY, "", ShortageLevel.DANGER, 900, 1000, 900, {})


@pytest.mark.parametrize(
    ("amounts", "culprit"),
    [
        ({"a": 800, "b": 100}, "a"),
        ({"a": 800, "b": 100, "": 50}, "a"),
        ({"a": 100, "b": 100}, "a"),  # half of what is used
        ({"a": 400, "b": 350, "c": 300}, None),
        ({"": 5000, "a": 1000}, None),  # the statement of a client
        ({"a": 200}, None),  # too little to fill the heap
        ({"a": 225}, "a"),
        ({"a": 0}, None),
        ({}, None),
    ],
)
def test_culprit_uses_the_largest_and_a_large_share(amounts: dict[str, int], culprit: str | None) -> None:
    report = replace(MEMORY, amounts=amounts)
    if amounts == {"a": 100, "b": 100}:
        report = replace(report, grown=200)
    assert find_culprit(report) == culprit


def test_a_disk_that_another_program_fills_has_no_culprit() -> None:
    disk = ResourceReport(Resource.DISK, "/home", ShortageLevel.DANGER, 100, 10_000, 8_000, {"a": 300})
    assert find_culprit(disk) is None
    assert find_culprit(replace(disk, amounts={"a": 3_000})) == "a"


def test_a_report_is_read_from_java() -> None:
    values = {**vars(MEMORY), "resource": "memory", "level": "danger", "amounts": {"a": 1}}
    assert parse_report(json.dumps(values)) == replace(MEMORY, amounts={"a": 1})


def test_the_cause_names_state_share_and_remedy() -> None:
    heap = replace(MEMORY, used=900_000_000, limit=1_000_000_000, amounts={"a": 850_000_000})
    cause = danger_cause(heap, "a")
    assert cause.message == (
        "The job was suspended to protect the engine: 90 % of the heap (1.0 GB) are in use after a collection."
        " The running tasks of this job have allocated 850 MB."
    )
    assert (cause.condition, cause.sqlstate) == ("JETSQL.ENGINE_ENDANGERED", "53000")
    assert "driver_memory" in cause.hint and cause.hint.endswith("RESUME JOB.")
    files = ResourceReport(Resource.OPEN_FILES, "", ShortageLevel.DANGER, 950, 1024, 950, {"a": 700})
    assert "950 of 1024 files" in danger_cause(files, "a").message and "700 files" in danger_cause(files, "a").message
    disk = ResourceReport(Resource.DISK, "/data", ShortageLevel.DANGER, 5_000_000, 10**9, 10**8, {"a": 10**8})
    assert "5.0 MB are free on the disk of /data" in danger_cause(disk, "a").message
    assert danger_cause(disk, "a").where == "/data"


def test_newest_report_names_the_culprit_of_a_crash() -> None:
    busy = {"a": Activity.BATCH, "b": Activity.FIRST_BATCH}
    crash = find_suspects("The heap was full.", busy, replace(MEMORY, amounts={"a": 800}))
    assert (crash.suspects, crash.busy_jobs) == (("a",), ("a", "b"))
    assert crash.reason.startswith("The heap was full. 90 % of the heap")
    statement = find_suspects("The heap was full.", {"b": Activity.FIRST_BATCH}, replace(MEMORY, amounts={"": 800}))
    assert statement.suspects == ()


@pytest.mark.parametrize(
    ("busy", "suspects"),
    [
        ({"a": Activity.FIRST_BATCH}, ("a",)),
        ({"a": Activity.BATCH}, ()),  # it has committed since its start
        ({"b": Activity.FIRST_BATCH, "a": Activity.BATCH}, ("b",)),
        ({"b": Activity.FIRST_BATCH, "a": Activity.FIRST_BATCH}, ("a", "b")),
        ({}, ()),
    ],
)
def test_without_a_report_jobs_without_commits_are_suspects(
    busy: dict[str, Activity], suspects: tuple[str, ...]
) -> None:
    assert find_suspects("Spark's process crashed.", busy, None).suspects == suspects


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (25_000_000, "25 MB"), (3 * 10**15, "3000 TB")],
)
def test_bytes_have_units(count: int, text: str) -> None:
    assert describe_bytes(count) == text
