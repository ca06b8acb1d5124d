"""The change of the inventory that removes the cause of a symptom, as edits of one deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sparkiac.fleet.diagnosis.matching import Occurrence
from sparkiac.model.symptoms import FromLine, Remedy
from sparkiac.plan.container import Container
from sparkiac.report import REMOVE, Edit, Path, Removal, Scalar


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


def edits(found: Sequence[ChangeTarget], path: Path, written: Mapping[str, object], *, null: bool) -> tuple[Edit, ...]:
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
