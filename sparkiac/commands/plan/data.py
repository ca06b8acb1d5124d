"""The plan as plain data, and the origins of its values. The keys under `memory` of a host are in docs/plan.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sparkiac.memory.values import Unknown
from sparkiac.model.base import Model
from sparkiac.plan import memory_use, verdict
from sparkiac.report.characters import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sparkiac.plan import Plan
    from sparkiac.resolve.explain import Explained

_KEYS: Final = {
    "config_files": "documents",
    "dependencies": "links",
    "pre_start": "prelude",
    "start_order": "starts",
    "superseded": "cautions",
}
"""Field of the plan → its key in JSON, if they differ: programs read the keys, so they must not change with a field."""

_REPLACED: Final = frozenset({"budget", "proofs", "turn", "turns"})
"""Fields of a host that are written in another form."""


def plain(plan: Plan) -> dict[str, Any]:
    """Return a plan as mappings and lists. An unknown value is {"unknown": [names of the missing facts]}."""
    return _mapping(plan) | {"hosts": [_host(host) for host in plan.hosts]}


def explained(found: Iterable[Explained]) -> list[dict[str, Any]]:
    """Return each value with its layers; the value that is used comes first."""
    return [
        {"path": each.path, "said": [{"value": value, "from": str(origin)} for value, origin in reversed(each.values)]}
        for each in found
    ]


def explained_text(found: Iterable[Explained]) -> str:
    """Return each value with its layer, and below it the values that it overrides."""
    return "".join(f"{line}\n" for each in found for line in _lines(each))


def _lines(each: Explained) -> Iterator[str]:
    (value, origin), *others = reversed(each.values)
    yield f"{each.path}: {_written(value)}"
    yield f"  from {origin}"
    for former, place in others:
        yield f"  over {_written(former)} of {place}"


def _written(value: object) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def _host(host: Any) -> dict[str, Any]:  # noqa: ANN401  a named tuple
    rest = {key: value for key, value in _mapping(host).items() if key not in _REPLACED}
    used = memory_use.by_turn(host)
    turns = [
        {"name": turn.name, "at": turn.at, "units": sorted(turn.units), "memory": _memory(each.use)}
        for turn, each in zip(host.turns, used, strict=False)
    ]
    return rest | {"memory": _memory(used[0].use), "turns": turns}


def _memory(use: memory_use.HostMemoryUse) -> dict[str, Any]:
    return _mapping(use) | {"verdict": _mapping(verdict.of(use))}


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
