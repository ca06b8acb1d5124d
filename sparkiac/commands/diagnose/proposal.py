"""The deployment of logs, and changes of its inventory that remove causes, each checked before it is offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from sparkiac import pipeline, write
from sparkiac.commands.inputs import known, planned
from sparkiac.fix.edits import edited
from sparkiac.fix.nodes import CannotEdit
from sparkiac.fix.nodes import read as read_nodes
from sparkiac.fleet.diagnosis.lines import Log
from sparkiac.fleet.diagnosis.matching import DiagnosedServer, Occurrence
from sparkiac.model.symptoms import FromLine, Remedy
from sparkiac.pipeline import InputFile, Outcome
from sparkiac.plan import Container, HostPlan, Plan
from sparkiac.report import REMOVE, Edit, Removal, Report, Scalar, Severity
from sparkiac.report import Path as Keys
from sparkiac.words.diagnose import Proposal


class Context(NamedTuple):
    """A deployment of an inventory."""

    files: tuple[InputFile, InputFile | None]
    report: Report
    """Findings of the inventory before any proposed change."""
    containers: tuple[tuple[HostPlan, Container], ...]
    """The deployment on each of its hosts, the leader first."""

    @property
    def host(self) -> HostPlan:
        """The host that answers requests."""
        return self.containers[0][0]

    @property
    def container(self) -> Container:
        """The container that answers requests."""
        return self.containers[0][1]


def load(inventory: Path, deployment: str | None, logs: Iterable[Log], output_format: str) -> Context:
    """Return the deployment with a name, or the one that logs belong to. Raises `click.UsageError`."""
    files, plan, report = planned(inventory, output_format)
    names = deployments(plan)
    if deployment is None:
        deployment = _of_logs(names, logs)
    return Context(files, report, names[known("deployment", deployment, names)])


def deployments(plan: Plan) -> dict[str, tuple[tuple[HostPlan, Container], ...]]:
    """Return deployment → its containers with their hosts, the leader first."""
    found: dict[str, list[tuple[HostPlan, Container]]] = {}
    for host in plan.hosts:
        for container in host.containers:
            if container.kind == "deployment":
                found.setdefault(container.name, []).append((host, container))
    return {name: tuple(sorted(each, key=lambda pair: not pair[1].server.leads)) for name, each in found.items()}


def _of_logs(names: dict[str, tuple[tuple[HostPlan, Container], ...]], logs: Iterable[Log]) -> str:
    """Return the only deployment, or the only one with the model of the logs."""
    models = DiagnosedServer.of_log(line for log in logs for line in log.last).models
    fitting = [name for name, pairs in names.items() if pairs[0][1].server.model in models]
    for candidates in (list(names), fitting):
        if len(candidates) == 1:
            return candidates[0]
    message = f"name the deployment that the log belongs to: --deployment {'|'.join(names)}"
    raise click.UsageError(message, click.get_current_context())


def propose(found: Sequence[Occurrence], context: Context) -> Proposal:
    """Return the inventory with all certain changes."""
    raw, container = context.files[0].raw, context.container
    codes, done, refused = list[str](), list[str](), list[tuple[str, str]]()
    for seen in (each for each in found if each.symptom.change is not None):
        code, wanted = seen.symptom.code, targets(seen, container)
        if wanted:
            text, reason = _changed(raw, wanted, context)
            raw = text or raw
            codes += [code] if text else []
            refused += [] if text else [(code, reason)]
        elif are_met(seen, container):
            done.append(code)
    name = context.files[0].name
    return Proposal(raw, write.diff_of(name, context.files[0].raw, raw), tuple(codes), tuple(done), tuple(refused))


def tried(raw: bytes, edits: Sequence[Edit], context: Context) -> tuple[bytes, Outcome]:
    """Return the text with edits, and its check. Raises `CannotEdit`."""
    text = edited(raw.decode(), edits).encode()
    inventory, lock = context.files
    return text, pipeline.check(inventory._replace(raw=text), lock, allow_unlocked=True)


def added_errors(before: Report, after: Report) -> list[str]:
    """Return the codes of errors that a change adds."""
    return sorted((_errors(after) - _errors(before)).keys())


def written(raw: bytes, path: Keys) -> Mapping[str, object]:
    """Return a deployment as the inventory has it."""
    data: object = read_nodes(raw.decode())[0]
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _changed(raw: bytes, wanted: Sequence[ChangeTarget], context: Context) -> tuple[bytes | None, str]:
    """Return the text with one change, or the reason why it cannot be made: cutting a line can be too little."""
    reason, path = "", context.container.path
    for null in (False, True):
        try:
            text, outcome = tried(raw, edits(wanted, path, written(raw, path), null=null), context)
        except CannotEdit as error:
            reason = str(error)
            continue
        reason = _fault(wanted, outcome, context)
        if not reason:
            return text, ""
    return None, reason


def _fault(wanted: Sequence[ChangeTarget], outcome: Outcome, context: Context) -> str:
    if outcome.plan is None:
        return "the inventory does not load with it"
    container = deployments(outcome.plan)[context.container.name][0][1]
    if not all(is_met(each, container) for each in wanted):
        return "another layer of the inventory sets the value"
    added = added_errors(context.report, outcome.report)
    return f"it adds {', '.join(added)}" if added else ""


def _errors(report: Report) -> Counter[str]:
    return Counter(each.code for each in report.findings if each.severity is Severity.ERROR)


class ChangeTarget(NamedTuple):
    """A value that a change sets; None removes it."""

    group: str
    """Key of the deployment: `set`, `env` or `speculative`."""
    name: str
    value: str | int | float | bool | None


def targets(seen: Occurrence, container: Container) -> tuple[ChangeTarget, ...]:
    """Return what has to change for one symptom; empty if nothing does, or if no change is certain."""
    return tuple(each for each in _certain(seen, container) if not is_met(each, container))


def are_met(seen: Occurrence, container: Container) -> bool:
    """Return whether a container already has the change for a symptom."""
    certain = _certain(seen, container)
    return bool(certain) and all(is_met(each, container) for each in certain)


def is_met(target: ChangeTarget, container: Container) -> bool:
    """Return whether a container has a value as a change sets it."""
    values: dict[str, Mapping[str, object]] = {
        "set": container.server.options,
        "env": container.command.env,
        "speculative": container.server.speculative or {},
    }
    return values[target.group].get(target.name) == target.value


def edits(found: Sequence[ChangeTarget], path: Keys, written: Mapping[str, object], *, null: bool) -> tuple[Edit, ...]:
    """Return the edits of a deployment. `written` is the deployment as the inventory has it.

    A value is removed by cutting its line, or with `null` by writing null, which also hides the value of the recipe.
    """
    return tuple(Edit((*path, each.group, each.name), _new(each, written, null=null)) for each in found)


def _new(target: ChangeTarget, written: Mapping[str, object], *, null: bool) -> Scalar | Removal:
    values = written.get(target.group)
    is_written = isinstance(values, Mapping) and target.name in values
    return REMOVE if target.value is None and is_written and not null else target.value


def _certain(seen: Occurrence, container: Container) -> tuple[ChangeTarget, ...]:
    change = seen.symptom.change
    if change is None or not seen.known or any(name not in container.server.options for name in change.requires):
        return ()
    return tuple(_targets(change, seen.groups))


def _targets(change: Remedy, groups: Mapping[str, str]) -> Iterator[ChangeTarget]:
    for name, new in change.set.items():
        if not isinstance(new, FromLine):
            yield ChangeTarget("set", name, new)
        elif new.group in groups:
            yield ChangeTarget("set", name, int(groups[new.group]))
    if change.remove_env is not None and change.remove_env.group in groups:
        yield ChangeTarget("env", groups[change.remove_env.group], None)
    yield from (ChangeTarget("speculative", name, value) for name, value in change.speculative.items())
