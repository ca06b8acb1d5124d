"""The common parts of all objects: their labels, their names, and the YAML that they are written as."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sparkiac.plan import Container, HostPlan
from sparkiac.render import yamltext
from sparkiac.report.artifact import Artifact

NAME: Final = "app.kubernetes.io/name"
"""Label that selects the pods of a deployment or service."""
SECRETS: Final = "sparkiac"
"""The Secret with all secrets of an inventory: its keys are their names in the inventory."""


class KubernetesError(ValueError):
    """Kubernetes cannot express this."""


class Node(NamedTuple):
    """A container and its host."""

    host: HostPlan
    container: Container


def labels(name: str) -> dict[str, str]:
    """Return the labels of the objects of one deployment or service."""
    return {NAME: name, "app.kubernetes.io/managed-by": "sparkiac"}


def selector(name: str) -> dict[str, dict[str, str]]:
    """Return the selector of the pods of one deployment or service."""
    return {"matchLabels": {NAME: name}}


def head(version: str, kind: str, name: str, labelled: str) -> dict[str, Any]:
    """Return the first keys of an object; `labelled` is the deployment or service that it belongs to."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels(labelled)}}


def artifact(path: str, data: dict[str, Any]) -> Artifact:
    """Return the file of an object."""
    return Artifact(path, yamltext.generated(data))


def without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping without its empty values."""
    return {key: value for key, value in data.items() if value not in (None, "", [], {})}
