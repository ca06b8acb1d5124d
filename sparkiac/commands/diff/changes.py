"""The differences between two inventories: units, hosts, restarts, memory, versions and findings.

What an apply restarts follows from the answers of the hosts. `sparkiac apply` gets them from the hosts; here they are
computed from the trees of both inventories.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from sparkiac import engines, pipeline
from sparkiac.commands.apply import tree
from sparkiac.fleet import looks
from sparkiac.fleet.looks import FleetLook
from sparkiac.fleet.query import endpoint
from sparkiac.host.switch import actions, effective, effects
from sparkiac.host.switch.store import NOTHING
from sparkiac.pipeline import InputFile
from sparkiac.plan import Container, HostPlan, Plan, confinement, memory_use
from sparkiac.plan.memory_use import HostMemoryUse
from sparkiac.plan.numbers import gib
from sparkiac.render import labels
from sparkiac.report import Finding, Report
from sparkiac.report.artifact import Artifact
from sparkiac.words.diff import FleetDiff, MemoryChange, MemorySize, PlacedUnit, ValueChange

_KINDS: Final = {"deployments": "deployment", "services": "service", "monitoring": "monitoring"}
_NOT_PINNED: Final = "not pinned"
_LEFT: Final = "left free"
_GENERATION: Final = "etc/sparkiac/generation.json"
_SECRETS: Final = "etc/sparkiac/secrets"


class Side(NamedTuple):
    """An inventory that can be compared."""

    name: str
    plan: Plan
    artifacts: tuple[Artifact, ...]
    report: Report


def checked(files: tuple[InputFile, InputFile | None]) -> Side | Report:
    """Check and render an inventory; return its findings if it is not valid."""
    outcome = pipeline.check(*files, allow_unlocked=True)
    if outcome.plan is None:
        return outcome.report
    return Side(files[0].name, outcome.plan, pipeline.render(outcome.plan), outcome.report)


def between(old: Side, new: Side) -> FleetDiff:
    """Return what differs between two inventories."""
    before, after = ({host.name: host for host in side.plan.hosts} for side in (old, new))
    cleaned, cleaned_before = ({each.name for each in side.plan.retired} for side in (new, old))
    both = [(before[name], after[name]) for name in sorted(before.keys() & after.keys())]
    return FleetDiff(
        old.name,
        new.name,
        _look(old, new),
        tuple(_units(old.plan, new.plan)),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys() - cleaned)),
        tuple(sorted(cleaned - cleaned_before)),
        tuple(ValueChange(one.name, "address", _at(one), _at(two)) for one, two in both if _at(one) != _at(two)),
        tuple(each for host in new.plan.hosts for each in _memory(before.get(host.name), host)),
        tuple(_values(old.plan, new.plan)),
        _only(new.report.findings, old.report.findings),
        _only(old.report.findings, new.report.findings),
    )


def _at(host: HostPlan) -> str:
    return f"{endpoint(host).target}{f' port {host.ssh_port}' if host.ssh_port else ''}"


def _units(old: Plan, new: Plan) -> Iterator[PlacedUnit]:
    before, after = _placed(old), _placed(new)
    for name in sorted(before.keys() | after.keys()):
        hosts = tuple(sorted(before.get(name, ()))), tuple(sorted(after.get(name, ())))
        if hosts[0] != hosts[1]:
            yield PlacedUnit(*name, *hosts)


def _placed(plan: Plan) -> dict[tuple[str, str], set[str]]:
    """Return (kind, name) → hosts of everything that runs."""
    found: dict[tuple[str, str], set[str]] = {}
    for host in plan.hosts:
        for unit in host.units:
            found.setdefault((_KINDS[str(unit.path[0])], unit.name), set()).add(host.name)
    return found


def _memory(old: HostPlan | None, new: HostPlan) -> Iterator[MemoryChange]:
    before, after = _uses(old) if old else {}, _uses(new)
    for turn, use in after.items():
        was, now = _sizes(before[turn]) if turn in before else {}, _sizes(use)
        for name in sorted(was.keys() | now.keys(), key=lambda name: (name == _LEFT, name)):
            sizes = was.get(name), now.get(name)
            if len({size and size.text for size in sizes}) > 1:
                yield MemoryChange(new.name, turn, name, *sizes)


def _uses(host: HostPlan) -> dict[str, HostMemoryUse]:
    """Return turn → memory use; the name of the turn is empty for a host without turns."""
    return {view.turn or "": memory_use.of(view) for view in host.views}


def _sizes(use: HostMemoryUse) -> dict[str, MemorySize]:
    """Return the memory of each container on a host, and the rest that stays free."""
    sizes: dict[str, list[int | None]] = {}
    for part in use.parts:
        sizes.setdefault(part.owner or part.name, []).append(part.size_bytes)
    exact = isinstance(use.headroom_bytes, int)
    left = MemorySize(labels.lines(use)[-1].size, use.most_bytes, exact)
    return {name: _sum(found) for name, found in sizes.items()} | {_LEFT: left}


def _sum(sizes: Sequence[int | None]) -> MemorySize:
    known = [size for size in sizes if size is not None]
    if not known:
        return MemorySize(gib(None), None, exact=False)
    exact = len(known) == len(sizes)
    return MemorySize(f"{'' if exact else 'at least '}{gib(sum(known))}", sum(known), exact)


def _values(old: Plan, new: Plan) -> Iterator[ValueChange]:
    """Yield changed images, models, files and options of what both inventories run."""
    before, after = _facts(old), _facts(new)
    for name in sorted(before.keys() & after.keys()):
        was, now = before[name], after[name]
        for what in sorted(was.keys() | now.keys()):
            if was.get(what) != now.get(what):
                yield ValueChange(name, what, *(_joined(each.get(what)) for each in (was, now)))


def _joined(values: set[str] | None) -> str | None:
    return " and ".join(sorted(values)) if values else None


def _facts(plan: Plan) -> dict[str, dict[str, set[str]]]:
    """Return deployment or service → fact → its values; there are several if they differ between hosts."""
    found: dict[str, dict[str, set[str]]] = {}
    for host in plan.hosts:
        for container in host.containers:
            of_unit = found.setdefault(container.name, {})
            for what, value in _of_container(container):
                of_unit.setdefault(what, set()).add(value)
    return found


def _of_container(container: Container) -> Iterator[tuple[str, str]]:
    image, weights, options = container.image, container.weights, container.server.options
    pinned = "@" in image.reference
    yield "image", image.reference if pinned else f"{image.reference} {image.digest or _NOT_PINNED}"
    for model in (*weights.models, *weights.directories):
        yield f"model {model}", weights.commits.get(model, _NOT_PINNED)
    for file in container.storage.files:
        yield f"file {file.target}", f"{file.url} {file.sha256 or _NOT_PINNED}"
    if container.network.listen is not None and engines.named(container.server.engine).port not in options:
        yield "port", str(container.network.listen[1])
    for setting in confinement.KEYED:
        if (found := setting.planned(container.confinement)) not in (None, {}):
            yield ".".join(setting.path), gib(found) if type(found) is int else json.dumps(found, sort_keys=True)
    yield from ((f"timeouts.{key}", f"{value} s") for key, value in container.timeouts.model_dump().items())
    for option, value in options.items():
        yield f"option {option}", json.dumps(value, ensure_ascii=False, sort_keys=True)


def _only(findings: Iterable[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings whose code and message the others lack; positions do not count, because lines move."""
    known = {(each.code, each.message) for each in others}
    return tuple(each for each in findings if (each.code, each.message) not in known)


class _HostTree(NamedTuple):
    """The generated files of one host."""

    files: dict[str, str]
    """Path → hash of mode and content."""
    counting: dict[str, str]
    """Path → hash of what restarts a unit, as a host computes it."""
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
        files = {path: self.counting.get(path, "") for path in unit["files"]}
        return files | {f"{_SECRETS}/{name}": "" for name in unit["secrets"]}


def _look(old: Side, new: Side) -> FleetLook:
    """Return what an apply of the new tree does on each of its hosts."""
    before, generations = tree.generations(old.artifacts), tree.generations(new.artifacts)
    stored = {host.name: {each.storage.data for each in host.containers} for host in old.plan.hosts}
    answers = {}
    for host in generations:
        found = _answer(_tree(old.artifacts, host), _tree(new.artifacts, host), stored.get(host, set()))
        differs = before.get(host) != generations[host]
        answers[host] = json.dumps(found | {"differs": differs, "state": {"current": before.get(host)}})
    return looks.of_fleet(new.plan, generations, answers)


def _tree(artifacts: Iterable[Artifact], host: str) -> _HostTree:
    root = f"hosts/{host}/"
    found = {each.path.removeprefix(root): each for each in artifacts if each.path.startswith(root)}
    files = {path: f"{each.mode:04o} {hashlib.sha256(each.content).hexdigest()}" for path, each in found.items()}
    counting = {path: effective.digest(path, each.content) for path, each in found.items()}
    return _HostTree(files, counting, json.loads(found[_GENERATION].content) if _GENERATION in found else NOTHING)


def _answer(old: _HostTree, new: _HostTree, stored: AbstractSet[str | None]) -> dict[str, Any]:
    """Return what `switch look` of a host would print that runs the old tree in good order; `stored` is its data."""
    changed = [path for path in _different(old.files, new.files) if path in new.files]
    sysctls = [key for key in _different(old.sysctls, new.sysctls) if key in new.sysctls]
    secrets, steps = sorted(new.secrets - old.secrets), list(_steps(old, new))
    plans = old.generation, old.files, new.generation, new.files
    moving = [each["unit"] for each in steps]
    about = effects.Secrets(secrets, unread=sorted(old.secrets - new.secrets))
    change = effects.Change(*plans, changed, sysctls, about, moving, stored.__contains__)
    besides = [each._asdict() for each in effects.of(change)]
    return {"files": changed, "sysctls": sysctls, "secrets": secrets, "units": steps, "effects": besides}


def _steps(old: _HostTree, new: _HostTree) -> Iterator[dict[str, str]]:
    """Yield what happens to units: first those that are removed, then the others in start order."""
    yield from (each._asdict() for each in actions.removals(new.generation, old.generation))
    for name, unit in new.units.items():
        former = old.units.get(name)
        if former is None:
            yield {"unit": name, "action": "start", "because": f"{effects.NEW}{_in_turns(unit)}"}
        elif not name.endswith(".timer") and (changed := _different(old.inputs(former), new.inputs(unit))):
            because = f"changed: /{', /'.join(changed)}{_in_turns(unit)}"
            yield {"unit": name, "action": "restart", "because": because}


def _in_turns(unit: dict[str, Any]) -> str:
    return f"; only during its turns: {', '.join(unit['turns'])}" if unit["turns"] else ""


def _different(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
