"""The role of an engine as a label of its pod, against an API server of the test."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from jetsql.embedded import pod_role
from jetsql.embedded.pod_role import DELETION_COST, LABEL, PodRole
from jetsql.errors import EngineError
from tests.conftest import until
from tests.support.golden_reports import raises
from tests.support.servers.kubernetes_api import PODS, KubernetesApi, Pod, run_kubernetes_api

SELECTOR = "app.kubernetes.io/name=jetsql,app.kubernetes.io/instance=orders"
LABELS = dict(label.split("=") for label in SELECTOR.split(","))


def make_pod(name: str, **labels: str) -> Pod:
    return {"metadata": {"name": name, "labels": {**LABELS, **labels}}}


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[KubernetesApi]:
    monkeypatch.setattr(pod_role, "_PAUSE", 0.02)
    monkeypatch.setattr(pod_role, "_PERIOD", 0.02)
    with run_kubernetes_api(tmp_path) as api:
        api.pods = {name: make_pod(name) for name in ("engine-0", "engine-1")}
        api.pods["stranger"] = {"metadata": {"name": "stranger", "labels": {LABEL: "leader"}}}
        yield api


class Engine:
    """An engine of the pod `engine-0`."""

    def __init__(self, api: KubernetesApi, selector: str = SELECTOR) -> None:
        self.leads = False
        self.role = PodRole(selector, {}, lambda: self.leads, api.environ, api.folder)


def role_of(api: KubernetesApi, name: str = "engine-0") -> str | None:
    role: str | None = api.pods[name]["metadata"]["labels"].get(LABEL)
    return role


def cost_of(api: KubernetesApi) -> str | None:
    cost: str | None = api.pods["engine-0"]["metadata"].get("annotations", {}).get(DELETION_COST)
    return cost


def test_pod_has_the_label_of_its_role(api: KubernetesApi) -> None:
    engine = Engine(api)
    with engine.role.labelled():
        assert (role_of(api), cost_of(api)) == ("standby", None)
        engine.leads = True
        engine.role.note_change()
        until(lambda: (role_of(api), cost_of(api)) == ("leader", "100"))
        engine.leads = False
        until(lambda: (role_of(api), cost_of(api)) == ("standby", None))


def test_engine_that_ends_is_no_leader(api: KubernetesApi) -> None:
    engine = Engine(api)
    engine.leads = True
    with engine.role.labelled():
        assert role_of(api) == "leader"
    assert role_of(api) == "standby"


def test_leader_takes_the_label_from_lost_pods_of_its_store(api: KubernetesApi) -> None:
    api.pods["engine-1"] = make_pod("engine-1", **{LABEL: "leader"})
    engine = Engine(api)
    with engine.role.labelled():
        assert role_of(api, "engine-1") == "leader", "a standby changes its own pod alone"
        engine.leads = True
        until(lambda: role_of(api) == "leader")
        assert role_of(api, "engine-1") == "standby"
        assert role_of(api, "stranger") == "leader"
        api.pods["engine-1"]["metadata"]["labels"][LABEL] = "leader"  # a request that was late
        until(lambda: role_of(api, "engine-1") == "standby")


def test_deleted_pod_of_the_last_leader_is_no_obstacle(api: KubernetesApi) -> None:
    api.pods["engine-1"] = make_pod("gone", **{LABEL: "leader"})
    engine = Engine(api)
    engine.leads = True
    with engine.role.labelled():
        assert role_of(api) == "leader"
    assert f"PATCH {PODS}/gone" in api.requests


def test_labels_change_only_with_the_role(api: KubernetesApi) -> None:
    """Leave the annotation alone otherwise: Kubernetes asks for few changes of it."""
    with Engine(api).role.labelled():
        until(lambda: len(api.requests) > 5)
    assert [each for each in api.requests if not each.startswith("GET")] == [f"PATCH {PODS}/engine-0"]


def test_renewed_tokens_are_used(api: KubernetesApi) -> None:
    engine = Engine(api)
    with engine.role.labelled():
        (api.folder / "token").write_text("renewed")
        engine.leads = True
        until(lambda: role_of(api) == "leader")


def test_engine_leads_while_the_api_server_is_away(api: KubernetesApi, caplog: pytest.LogCaptureFixture) -> None:
    api.status = 503
    engine = Engine(api)
    engine.leads = True
    with caplog.at_level(logging.INFO, "jetsql"), engine.role.labelled():
        until(lambda: len(api.requests) > 3)
        api.status = 200
        until(lambda: role_of(api) == "leader")
        until(lambda: "up to date again" in caplog.text)
    assert caplog.text.count("trying again") == 1


def test_missing_right_is_refused(api: KubernetesApi) -> None:
    api.status = 403
    with raises(EngineError), Engine(api).role.labelled():
        pass


def test_selector_of_other_pods_is_refused(api: KubernetesApi) -> None:
    with raises(EngineError), Engine(api, "app=other").role.labelled():
        pass


def test_selector_outside_of_a_pod_is_refused(tmp_path: Path) -> None:
    role = PodRole(SELECTOR, {}, lambda: True, {}, tmp_path)
    with raises(EngineError), role.labelled():
        pass


def test_without_a_selector_nothing_is_labelled(tmp_path: Path) -> None:
    role = PodRole(None, {}, lambda: True, {}, tmp_path)
    with role.labelled():
        role.note_change()
