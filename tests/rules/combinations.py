"""The known-bad combinations of combinations.yaml as inventories with a lock."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from tests.plan.fleets import COMMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MODEL: Final = "example/model"
_CONFIG: Final = "config"
_BASE: Final = {
    "recipe": "base/single-spark",
    "model": _MODEL,
    "image": "vllm/vllm-openai:v0.25.1",
    "hosts": "spark-01",
    "port": 8000,
}


class Combination(NamedTuple):
    """A combination of settings that is known to be bad, or to be taken for bad."""

    says: str
    """What is bad, in a few words."""
    source: str | None = None
    """Where that is said."""
    code: str | None = None
    """Rule that finds it."""
    fact: int | None = None
    """Number of the fact that finds it; None where the rule has code of its own."""
    severity: str | None = None
    deployment: Mapping[str, Any] = {}
    near: tuple[Mapping[str, Any], ...] = ()
    """Changes of the deployment that make it good."""
    elsewhere: str | None = None
    """What finds it beside the facts of this table."""
    unprovable: str | None = None
    """Why no rule finds it."""

    @property
    def bad(self) -> tuple[str, str]:
        """Return the inventory and its lock."""
        return _written(_over(_BASE, self.deployment))

    @property
    def good(self) -> Iterator[tuple[str, str]]:
        """Return the inventories that are near, with their locks."""
        return (_written(_over(_over(_BASE, self.deployment), change)) for change in self.near)


@cache
def combinations() -> tuple[Combination, ...]:
    """Read the table."""
    listed = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return tuple(Combination(**{**each, "near": tuple(each.get("near", ()))}) for each in listed)


def inventories(code: str) -> list[tuple[str, str | None]]:
    """Return the inventories of a rule with their locks, bad ones and near ones."""
    return [pair for each in combinations() if each.code == code for pair in (each.bad, *each.good)]


def _over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Lay a mapping over another one; null removes what is below."""
    found = dict(lower)
    for key, value in upper.items():
        found[key] = _over(found.get(key) or {}, value) if isinstance(value, dict) else value
    return {key: value for key, value in found.items() if value is not None}


def _host(number: int) -> dict[str, Any]:
    link = {"interface": "enp1s0f1np1", "hca": "rocep1s0f1", "address": f"192.168.177.{number}/24"}
    return {"address": f"192.168.1.{number}", "fabric": {"links": [link]}}


def _written(deployment: Mapping[str, Any]) -> tuple[str, str]:
    config = deployment.get(_CONFIG, {})
    shown = {key: value for key, value in deployment.items() if key != _CONFIG}
    inventory = {
        "name": "lab",
        "defaults": {"model_store": "/srv/models"},
        "hosts": {"spark-01": _host(11), "spark-02": _host(12)},
        "deployments": {"chat": shown},
    }
    lock = {"version": 1, "images": {}, "models": {_MODEL: {"commit": COMMIT, "config": config}}}
    return yaml.safe_dump(inventory, sort_keys=False), yaml.safe_dump(lock, sort_keys=False)
