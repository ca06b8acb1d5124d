"""Objects of a tree for Kubernetes as Kubernetes reads them: YAML by PyYAML, and variables replaced as kubelets do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.report.artifact import Artifact

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def objects(artifacts: Iterable[Artifact]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return kind and name → object."""
    found = (yaml.safe_load(each.content) for each in artifacts if each.path.endswith(".yaml"))
    return {(each["kind"], each.get("metadata", {}).get("name", "")): each for each in found}


def pods(found: Mapping[tuple[str, str], dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the pod templates of a deployment: one, or those of leader and workers."""
    if ("Deployment", name) in found:
        return [found["Deployment", name]["spec"]["template"]]
    group = found["LeaderWorkerSet", name]["spec"]["leaderWorkerTemplate"]
    return [group["leaderTemplate"], group["workerTemplate"]]


def server(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the only container of a pod."""
    [found] = pod["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Replace references to variables: `$$` is a dollar sign, and an unknown reference stays as it is.

    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """
    return _REFERENCE.sub(lambda match: match[1] or env.get(match[2], match[0]), text)


def environment(container: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, str]:
    """Return the environment; `known` are variables that the cluster provides."""
    found = dict(known)
    for each in container.get("env", ()):
        if "value" in each:
            found[each["name"]] = expanded(each["value"], found)
    return found
