"""The commands that follow `sparkiac init`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from sparkiac.commands.init import repository
from sparkiac.report import hints
from sparkiac.upstream import origin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sparkiac.plan import Plan
    from sparkiac.report import Report

_NEXT: Final = """\
created {target}: {count} files. {first}Next steps:
  cd {quoted}
{git}\
{wheel}\
  sparkiac lock inventories/{name}.yaml
{builds}\
  sparkiac check inventories/{name}.yaml
  sparkiac plan inventories/{name}.yaml
{secrets}\
  sparkiac generate inventories/{name}.yaml
  sparkiac apply inventories/{name}.yaml{values}
{idle}\
Options of Ansible follow `--`, such as --ask-become-pass if sudo on the hosts needs a password. README.md has more.
"""
_SECRETS: Final = "  sparkiac secrets new inventories/{name}.yaml\n"
_IDLE: Final = "{host} serves nothing yet: sparkiac add RECIPE --on {host} --to inventories/{name}.yaml\n"
_VALUES: Final = " -- -e @secrets/{name}.json"
_GIT: Final = "  git init\n"
_BUILT: Final = "  python3 -m pip wheel --quiet --no-deps --wheel-dir wheels {path}\n"
_COPIED: Final = "  mkdir -p wheels && cp {path} {wheel}\n"
_PLACEHOLDERS: Final = "Replace {many} in inventories/{name}.yaml first: `sparkiac check` names each one. "
_UNLOCKED: Final = "  sparkiac generate inventories/{name}.yaml --allow-unlocked\n"
_BUILD: Final = """\
  scp -r generated/{name}/builds/{image} {host}:
  ssh {host} ./{image}/build {image}.json
  scp {host}:{image}.json .
  sparkiac lock inventories/{name}.yaml --record {image}.json
"""


def text(name: str, target: Path, plan: Plan, report: Report) -> str:
    """Return the commands that follow, each of which works as printed once those above it have succeeded."""
    git = "" if any((folder / ".git").exists() for folder in (target, *target.parents)) else _GIT
    wanted = any(host.secrets for host in plan.hosts)
    secrets, values = (each.format(name=name) if wanted else "" for each in (_SECRETS, _VALUES))
    idle = "".join(_IDLE.format(host=host.name, name=name) for host in plan.hosts if not host.containers)
    head = {"target": target, "count": len(repository.files(name)), "quoted": shlex.quote(str(target)), "git": git}
    head |= {"wheel": _wheel(origin.read().path), "first": _first(name, report), "builds": _builds(name, plan)}
    return _NEXT.format(**head, name=name, secrets=secrets, values=values, idle=idle)


def _first(name: str, report: Report) -> str:
    """Return the step before the commands: replace the placeholders, if there are any."""
    count = sum(each.code == hints.OPEN_POINT for each in report.findings)
    return _PLACEHOLDERS.format(many=hints.placeholders(count), name=name) if count else ""


def _builds(name: str, plan: Plan) -> str:
    """Return the commands that build images on the first host that runs them, and record them in the lock."""
    built = "".join(_built(name, plan))
    return _UNLOCKED.format(name=name) + built if built else ""


def _built(name: str, plan: Plan) -> Iterator[str]:
    for build in plan.builds:
        runs = (host for host in plan.hosts if any(each.image.build == build.name for each in host.containers))
        host = next(runs)
        yield _BUILD.format(
            name=name, image=build.name, host=f"{host.user}@{host.address}" if host.user else host.address
        )


def _wheel(source: Path | None) -> str:
    """Return the command that puts the wheel for CI into the repository; empty if CI can install from elsewhere."""
    if source is None:
        return ""
    step = _COPIED if source.suffix == ".whl" else _BUILT
    return step.format(path=shlex.quote(str(source)), wheel=repository.WHEEL)
