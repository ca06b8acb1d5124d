"""Which units an apply of a rendered tree restarts, starts or stops on hosts that run another tree.

The answers of the hosts are computed from the two trees. `sparkiac apply` gets them from the hosts, and both build the
same result from them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from sparkiac.commands.apply import tree
from sparkiac.commands.diff.side import Side
from sparkiac.fleet import looks
from sparkiac.fleet.looks import FleetLook
from sparkiac.report.artifact import Artifact

_GENERATION: Final = "etc/sparkiac/generation.json"
_SECRETS: Final = "etc/sparkiac/secrets"
_EMPTY: Final[dict[str, Any]] = {"units": [], "sysctls": []}


class _HostTree(NamedTuple):
    """The generated files of one host."""

    files: dict[str, str]
    """Path → hash of mode and content."""
    generation: dict[str, Any]
    """Its generation.json."""

    @property
    def units(self) -> dict[str, dict[str, Any]]:
        """Return the units of the host by name."""
        return {unit["name"]: unit for unit in self.generation["units"]}

    @property
    def secrets(self) -> set[str]:
        """Return the secrets that its units read."""
        return {secret for unit in self.generation["units"] for secret in unit["secrets"]}

    @property
    def sysctls(self) -> dict[str, str]:
        """Return the kernel settings of the host."""
        return {each["key"]: each["value"] for each in self.generation["sysctls"]}

    def inputs(self, unit: dict[str, Any]) -> dict[str, str]:
        """Return everything whose change restarts a unit. The value of a secret is unknown here and counts as equal."""
        files = {path: self.files.get(path, "") for path in unit["files"]}
        return files | {f"{_SECRETS}/{name}": "" for name in unit["secrets"]}


def of(old: Side, new: Side) -> FleetLook:
    """Return what an apply of the new tree does on each of its hosts."""
    before, generations = tree.generations(old.artifacts), tree.generations(new.artifacts)
    answers = {}
    for host in generations:
        found = _answer(_host(old.artifacts, host), _host(new.artifacts, host))
        differs = before.get(host) != generations[host]
        answers[host] = json.dumps(found | {"differs": differs, "state": {"current": before.get(host)}})
    return looks.of_fleet(new.plan, generations, answers)


def _host(artifacts: Iterable[Artifact], host: str) -> _HostTree:
    root = f"hosts/{host}/"
    found = {each.path.removeprefix(root): each for each in artifacts if each.path.startswith(root)}
    files = {path: f"{each.mode:04o} {hashlib.sha256(each.content).hexdigest()}" for path, each in found.items()}
    return _HostTree(files, json.loads(found[_GENERATION].content) if _GENERATION in found else _EMPTY)


def _answer(old: _HostTree, new: _HostTree) -> dict[str, Any]:
    return {
        "files": _different(old.files, new.files),
        "sysctls": _different(old.sysctls, new.sysctls),
        "secrets": sorted(new.secrets - old.secrets),
        "units": list(_steps(old, new)),
    }


def _steps(old: _HostTree, new: _HostTree) -> Iterator[dict[str, str]]:
    """Yield what happens to units: first those that stop, clients before their servers; the others in start order."""
    for name in reversed(old.units):
        if name not in new.units:
            yield {"unit": name, "action": "stop", "because": "no longer on this host"}
    for name, unit in new.units.items():
        former = old.units.get(name)
        if former is None:
            yield {"unit": name, "action": "start", "because": f"new on this host{_in_turns(unit)}"}
        elif not name.endswith(".timer") and (changed := _different(old.inputs(former), new.inputs(unit))):
            because = f"changed: /{', /'.join(changed)}{_in_turns(unit)}"
            yield {"unit": name, "action": "restart", "because": because}


def _in_turns(unit: dict[str, Any]) -> str:
    return f"; only during its turns: {', '.join(unit['turns'])}" if unit["turns"] else ""


def _different(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
