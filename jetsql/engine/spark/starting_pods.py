"""The pods of executors on Kubernetes that have not joined, or cannot be created: why there are too few members."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pyspark.sql import SparkSession

from jetsql.engine.jvm.java_classes import java
from jetsql.engine.spark.kubernetes_api import ACCOUNT, find_account
from jetsql.errors import EngineError
from jetsql.jobs.model.cluster_member import Member, MemberStatus

_LOG = logging.getLogger(__name__)
_EXECUTOR_ID: Final = "spark-exec-id"
_SELECTOR: Final = "spark-role=executor,spark-app-selector={}"
_SECONDS: Final = 5.0
_ENDED: Final = ("Succeeded", "Failed")


def starting_members(spark: SparkSession, known: Collection[str]) -> list[Member]:
    """Return the executors whose pods exist and have not joined; none if the API server does not show them.

    An executor whose pod the API server refuses to create is one without an id. known: the ids of the executors that
    have joined.
    """
    context = spark.sparkContext
    if not (context.master or "").startswith("k8s://"):
        return []
    refused = parse_refusal(java(spark).stream.ExecutorPodAllocator.refusal())
    namespace = context.getConf().get("spark.kubernetes.namespace") or "default"
    try:
        account = find_account("The list of pods", "", os.environ, ACCOUNT)
        account = replace(account, namespace=namespace, seconds=_SECONDS)
        return [*refused, *parse_pods(account.list_pods(_SELECTOR.format(context.applicationId)), known)]
    except (EngineError, OSError, ValueError) as error:
        _LOG.warning("Cannot list the pods of executors that have not joined: %s", error)
        return refused


def parse_refusal(refusal: str) -> list[Member]:
    """Return the executor whose pod cannot be created, from Java's JSON; none if it is empty."""
    if not refusal:
        return []
    record = json.loads(refusal)
    return [_starting_member("", record["since"] / 1000, record["reason"])]


def parse_pods(pods: Sequence[Mapping[str, Any]], known: Collection[str]) -> Iterator[Member]:
    """Yield a member for each pod that has not joined. known: the ids of the executors that have joined."""
    for pod in pods:
        metadata, status = pod["metadata"], pod["status"]
        id_ = metadata["labels"].get(_EXECUTOR_ID, "")
        if id_ in known or status.get("phase") in _ENDED or "deletionTimestamp" in metadata:
            continue
        yield _starting_member(
            id_,
            datetime.fromisoformat(metadata["creationTimestamp"]).timestamp(),
            _reason(status),
            host=status.get("podIP", ""),
            pod=metadata["name"],
            node=pod["spec"].get("nodeName", ""),
        )


def _starting_member(id_: str, since: float, reason: str, host: str = "", pod: str = "", node: str = "") -> Member:
    return Member(
        id=id_,
        host=host,
        port=None,
        cores=0,
        status=MemberStatus.STARTING,
        is_driver=False,
        since=since,
        until=None,
        reason=reason,
        active_tasks=0,
        completed_tasks=0,
        failed_tasks=0,
        memory_bytes=0,
        pod=pod,
        node=node,
    )


def _reason(status: Mapping[str, Any]) -> str:
    """Return why a pod has not started, as Kubernetes reports it; empty if it reports nothing."""
    waiting = [each["state"].get("waiting", {}) for each in status.get("containerStatuses", ())]
    blocked = [each for each in status.get("conditions", ()) if each["status"] == "False" and "message" in each]
    for each in (*(state for state in waiting if "message" in state), *blocked):
        return " ".join(f"{each.get('reason', '')}: {each['message']}".removeprefix(": ").split())
    return ""
