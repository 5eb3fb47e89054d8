"""A resource of Kubernetes that declares a job or a snapshot, as the API server shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

API_GROUP: Final = "jetsql.io"
API_VERSION: Final = "v1alpha1"
FINALIZER: Final = "jetsql.io/drop"
"""The finalizer with which a deleted resource waits until its job or snapshot is dropped."""
_GROUP_PREFIX: Final = "kubernetes"


class ResourceKind(StrEnum):
    """The kinds of resources, by their plural in the paths of the API."""

    JOB = "jetsqljobs"
    SNAPSHOT = "jetsqlsnapshots"


class ResourceKey(NamedTuple):
    """The identity of a resource."""

    kind: ResourceKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def job_group(namespace: str, name: str = "") -> str:
    """Return the group, as `jetsql apply` notes it, of the job of a resource; the beginning of all without a name."""
    return f"{_GROUP_PREFIX}/{namespace}/{name}"


def resource_of_group(group: str | None, namespace: str) -> str | None:
    """Return the name of the resource of a namespace whose job has a group; None for another group."""
    prefix = job_group(namespace)
    return group.removeprefix(prefix) if group is not None and group.startswith(prefix) else None


@dataclass(frozen=True)
class CustomResource:
    """A resource."""

    kind: ResourceKind
    body: Mapping[str, Any]

    @property
    def key(self) -> ResourceKey:
        """Return the identity."""
        return ResourceKey(self.kind, str(self._metadata["namespace"]), str(self._metadata["name"]))

    @property
    def group(self) -> str:
        """Return the group of its job."""
        return job_group(self.key.namespace, self.key.name)

    @property
    def version(self) -> str:
        """Return the version of the resource, with which a change fails if another client was faster."""
        return str(self._metadata["resourceVersion"])

    @property
    def generation(self) -> int:
        """Return the number of the newest `spec`."""
        return int(self._metadata.get("generation", 0))

    @property
    def created(self) -> str:
        """Return when the resource was created, in RFC 3339."""
        return str(self._metadata.get("creationTimestamp", ""))

    @property
    def is_deleted(self) -> bool:
        """Return whether the resource waits for its finalizers to disappear."""
        return self._metadata.get("deletionTimestamp") is not None

    @property
    def finalizers(self) -> tuple[str, ...]:
        """Return the finalizers."""
        return tuple(self._metadata.get("finalizers") or ())

    @property
    def spec(self) -> Mapping[str, Any]:
        """Return what the user declares."""
        return dict(self.body.get("spec") or {})

    @property
    def status(self) -> Mapping[str, Any]:
        """Return what the controller has written last."""
        return dict(self.body.get("status") or {})

    @property
    def has_new_spec(self) -> bool:
        """Return whether the status is about an earlier `spec`."""
        return self.status.get("observedGeneration") != self.generation

    def has_same_declaration(self, other: CustomResource) -> bool:
        """Return whether another version of the resource needs no other work: only its status may differ."""
        mine, others = (
            (each.body.get("metadata", {}).get("uid"), each.generation, each.is_deleted, each.finalizers)
            for each in (self, other)
        )
        return mine == others

    def is_older_than(self, other: CustomResource) -> bool:
        """Return whether another copy of the resource shows it later. Versions are numbers that grow."""
        return int(self.version) < int(other.version)

    @property
    def _metadata(self) -> Mapping[str, Any]:
        metadata: Mapping[str, Any] = self.body["metadata"]
        return metadata
