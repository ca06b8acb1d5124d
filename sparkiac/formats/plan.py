"""The plan as plain data for machines. Its proof is under `memory` of each host, with the keys of docs/plan.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac.memory.values import Unknown
from sparkiac.model.base import Model
from sparkiac.plan import memory_use

if TYPE_CHECKING:
    from sparkiac.plan import Plan

_KEYS: Final = {
    "config_files": "documents",
    "dependencies": "links",
    "pre_start": "prelude",
    "start_order": "starts",
    "superseded": "cautions",
}
"""Field of the plan → its key in JSON, if they differ: programs read the keys, so they must not change with a field."""


def plain(plan: Plan) -> dict[str, Any]:
    """Give a plan as mappings and lists. What cannot be worked out is {"unknown": [names of what lacks]}."""
    return _mapping(plan) | {"hosts": [_host(host) for host in plan.hosts]}


def _host(host: Any) -> dict[str, Any]:  # noqa: ANN401  a named tuple
    rest = {key: value for key, value in _mapping(host).items() if key not in {"budget", "proofs"}}
    return rest | {"memory": _mapping(memory_use.of(host))}


def _mapping(value: Any) -> dict[str, Any]:  # noqa: ANN401  a named tuple
    return {_KEYS.get(key, key): _plain(inner) for key, inner in value._asdict().items()}


def _plain(value: Any) -> Any:  # noqa: ANN401  plain JSON data
    if isinstance(value, Unknown):
        return {"unknown": list(dict.fromkeys(value.missing))}
    if hasattr(value, "_asdict"):
        return _mapping(value)
    if isinstance(value, Model):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value
