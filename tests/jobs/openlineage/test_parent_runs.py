"""Parents of runs: the text of OpenLineage's clients, and its root."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetsql.jobs.openlineage.parent_runs import ParentRun, new_parent, parse_parent

RUN = "0199f4a1-0000-7000-8000-000000000001"
names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20)


@given(names, names, st.uuids(), st.booleans())
def test_text_of_a_parent_gives_the_parent(namespace: str, name: str, run: object, has_root: bool) -> None:
    root = ParentRun(name, namespace, str(run)) if has_root else None
    parent = ParentRun(namespace, name, str(run), root)
    assert parse_parent(parent.text) == parent
    assert not set(parent.text) & set("; '\"`")


def test_text_of_other_clients_is_read() -> None:
    assert parse_parent(f"airflow/dag.task/{RUN}") == ParentRun("airflow", "dag.task", RUN)
    assert parse_parent(f"my%20ns/a/b/{RUN.upper()}") == ParentRun("my ns", "a/b", RUN)


@pytest.mark.parametrize("text", ["", "x", "a/b", "a/b/c", f"/b/{RUN}", f"a//{RUN}", f"a/\n/{RUN}", "x" * 3000])
def test_other_text_has_no_parent(text: str) -> None:
    assert parse_parent(text) is None


def test_scheduler_of_a_program_is_the_root() -> None:
    plain = new_parent("jetsql", "apply", RUN, {})
    assert plain == ParentRun("jetsql", "apply", RUN)
    below = new_parent("jetsql", "apply", RUN, {"OPENLINEAGE_PARENT_ID": f"airflow/dag/{RUN}"})
    assert below.root == ParentRun("airflow", "dag", RUN)
    named = new_parent("jetsql", "apply", RUN, {"OPENLINEAGE_NAMESPACE": "prod", "OPENLINEAGE_PARENT_ID": "x"})
    assert named == ParentRun("prod", "apply", RUN)
