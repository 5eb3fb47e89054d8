"""The manifests that Helm makes of the chart. Slow: they need the program helm, which `make test-kubernetes` builds."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from jetsql.settings.engine_settings import Settings, load
from tests.support.chart import CHART, CLIENT_VARIABLES, EXAMPLES
from tests.support.paths import ROOT
from tools.kubernetes.programs import are_programs_built, helm_program

HELM = str(helm_program()) if are_programs_built() else shutil.which("helm")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(HELM is None, reason="the program helm is missing, see docs/operate/kubernetes.md"),
]
Manifest = dict[str, Any]
NAMESPACE = ("--namespace", "streams", "--kube-version", "1.34.0")


def helm(*arguments: str, code: int = 0) -> str:
    assert HELM is not None
    ended = subprocess.run([HELM, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == code, ended.stderr
    return ended.stderr if code else ended.stdout


def render(example: str, *arguments: str) -> list[Manifest]:
    values = CHART / "ci" / f"{example}-values.yaml"
    text = helm("template", "orders", str(CHART), *NAMESPACE, "--values", str(values), *arguments)
    return [each for each in yaml.safe_load_all(text) if each]


def of_kind(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    return [each for each in manifests if each["kind"] in kinds]


def pods(manifests: list[Manifest]) -> Iterator[Manifest]:
    """Yield all pods, with the template of the executors."""
    for manifest in manifests:
        if manifest["kind"] == "Pod":
            yield manifest
        if manifest["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield manifest["spec"]["template"]
        if "executor.yaml" in manifest.get("data", {}):
            yield yaml.safe_load(manifest["data"]["executor.yaml"])


def engine_env(manifests: list[Manifest]) -> dict[str, str]:
    [engine] = of_kind(manifests, "Deployment", "StatefulSet")
    [container] = engine["spec"]["template"]["spec"]["containers"]
    given = {each["name"]: each.get("value", "10.0.0.7") for each in container["env"]}
    return {name: value.replace("$(POD_IP)", given["POD_IP"]) for name, value in given.items()}


def settings_of(example: str, folder: Path) -> Settings:
    """Return the settings that an engine reads in its pod."""
    manifests = render(example)
    config = folder / "config.toml"
    config.write_text(next(each["data"]["config.toml"] for each in manifests if "config.toml" in each.get("data", {})))
    return load(environ={**engine_env(manifests), "JETSQL_CONFIG": str(config)})


@pytest.mark.parametrize("example", EXAMPLES)
def test_chart_has_no_faults(example: str) -> None:
    values = CHART / "ci" / f"{example}-values.yaml"
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), "--values", str(values))


@pytest.mark.parametrize("example", EXAMPLES)
def test_pods_are_restricted(example: str) -> None:
    """Compare them with the restricted level of the Pod Security Standards."""
    found = list(pods(render(example)))
    assert len(found) >= 2
    for pod in found:
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not any("hostPath" in volume for volume in spec["volumes"])
        for container in [*spec["containers"], *spec.get("initContainers", ())]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
            assert security["capabilities"] == {"drop": ["ALL"]}
            if container["name"] != "executor":  # Spark sets those of executors
                assert container["resources"]["requests"].keys() == {"cpu", "memory"}
                assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]


@pytest.mark.parametrize("example", EXAMPLES)
def test_mounted_volumes_exist(example: str) -> None:
    for pod in pods(render(example)):
        spec = pod["spec"]
        claims = {"home"} if example == "volume" and "initContainers" in spec else set()
        volumes = {volume["name"] for volume in spec["volumes"]}
        for container in [*spec["containers"], *spec.get("initContainers", ())]:
            mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes | claims
            assert len(set(mounts)) == len(mounts)


@pytest.mark.parametrize("example", EXAMPLES)
def test_services_and_budgets_select_the_engines(example: str) -> None:
    manifests = render(example)
    [engine] = of_kind(manifests, "Deployment", "StatefulSet")
    labels = engine["spec"]["template"]["metadata"]["labels"]
    role = {"jetsql.io/role": "leader"} if example != "volume" else {}
    [service] = of_kind(manifests, "Service")
    selectors = [service["spec"]["selector"], engine["spec"]["selector"]["matchLabels"]]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of_kind(manifests, "PodDisruptionBudget")]
    assert all(selector.items() <= (labels | role).items() for selector in selectors)
    others = [pod["metadata"]["labels"] for pod in pods(manifests) if pod["metadata"]["labels"] != labels]
    assert others and not any(selector.items() <= other.items() for selector in selectors for other in others)


def test_engines_of_a_store_share_it(tmp_path: Path) -> None:
    settings = settings_of("standby", tmp_path)
    assert settings.store.store == "secret:file:/run/secrets/jetsql-store/url"
    assert settings.storage == "s3a://lake/jetsql" and settings.s3.s3_region == "eu-central-1"
    assert settings.endpoints.http_hosts[0] == "orders-jetsql.streams.svc"
    assert settings.endpoints.pod_selector is not None
    [engine] = of_kind(render("standby"), "Deployment")
    assert engine["spec"]["selector"]["matchLabels"] == dict(
        label.split("=") for label in settings.endpoints.pod_selector.split(",")
    )


def test_one_engine_has_a_volume(tmp_path: Path) -> None:
    settings = settings_of("volume", tmp_path)
    assert settings.store.store is None and settings.storage is None and settings.endpoints.pod_selector is None
    manifests = render("volume")
    assert of_kind(manifests, "Role", "Deployment", "PodDisruptionBudget") == []


def test_all_settings_are_accepted(tmp_path: Path) -> None:
    settings = settings_of("all", tmp_path)
    assert settings.master == "k8s" and settings.endpoints.tls_cert is not None
    assert settings.spark_conf["spark.dynamicAllocation.maxExecutors"] == "8"
    assert [catalog.name for catalog in settings.catalogs] == ["lake"]


def test_roles_have_the_rights_in_use() -> None:
    [role] = of_kind(render("standby"), "Role")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "patch"]}]
    [role] = of_kind(render("all"), "Role")
    assert [rule["resources"][0] for rule in role["rules"]] == [
        *("pods", "configmaps", "jetsqljobs", "jetsqljobs/status")
    ]


def test_metrics_are_those_of_the_release() -> None:
    manifests = render("all")
    [rule] = of_kind(manifests, "PrometheusRule")
    expressions = [each["expr"] for group in rule["spec"]["groups"] for each in group["rules"]]
    assert expressions and all('job="streams",namespace="streams"' in each for each in expressions)
    [dashboard] = [each for each in manifests if "jetsql.json" in each.get("data", {})]
    guide = ROOT / "docs" / "operate" / "grafana-dashboard.json"
    assert json.loads(dashboard["data"]["jetsql.json"]) == json.loads(guide.read_text(encoding="utf-8"))


def test_clients_have_no_secrets_of_the_engine() -> None:
    for pod in pods(render("all")):
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] in ("apply", "test"):
            secrets = [volume["secret"] for volume in pod["spec"]["volumes"] if "secret" in volume]
            assert [secret["items"] for secret in secrets] == [[{"key": "ca.crt", "path": "ca.crt"}]]
            [container] = pod["spec"]["containers"]
            assert {each["name"] for each in container["env"]} == CLIENT_VARIABLES


@pytest.mark.parametrize(
    ("example", "arguments"),
    [
        ("volume", ["--set", "replica=2"]),
        ("volume", ["--set", "engine.replicas=none"]),
        ("volume", ["--set", "store.existingSecret=store"]),
        ("standby", ["--set", "config=store = 1"]),
        ("standby", ["--set", 'config="catalog" = 1']),
        ("standby", ["--set", "apply.enabled=true"]),
        ("all", ["--set", "apply.existingConfigMap=sql"]),
    ],
)
def test_wrong_values_are_refused(example: str, arguments: list[str]) -> None:
    values = CHART / "ci" / f"{example}-values.yaml"
    assert "Error" in helm("template", "x", str(CHART), *NAMESPACE, "--values", str(values), *arguments, code=1)
