"""Compare the host with a generation that may be applied to it. Changes nothing.

A program of its own, which every apply sends to every host: it imports few modules, so that little is sent.
"""

from __future__ import annotations

import hashlib
import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import local, secrets, state
from ..contract import validated
from ..generation import GenerationPlan, PlacedFile
from ..local import FILES, SECRETS, CommandResult, LocalHost
from ..stage.layouts import layout_of
from ..stage.store import StagedModel
from . import actions, effective, effects, history, store
from . import lease as switch_lease

PROGRAMS = "/usr/local/lib/sparkiac/host"
DOCKER_GROUP = "docker"
HEALTHY = "healthy"
ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError)


class Directory(NamedTuple):
    """A directory that a generation needs."""

    path: str
    mode: str


LOOK = {
    "generation": str,
    "files": list[PlacedFile],
    "texts": dict[str, str],
    "plan": GenerationPlan,
    "secrets": {"salt": str, "hashes": dict[str, str], "read": list[str]},
    "images": list[str],
    "networks": list[str],
    "directories": list[Directory],
    "extra_files": list[str],
    "user": str,
    "controller": switch_lease.CONTROLLER,
}


def look(machine: LocalHost, data: dict[str, Any]) -> dict[str, Any]:
    """Return all differences between the host and a generation; LOOK describes the keys of `data`.

    If there is none, also return what is wrong with the servers.
    """
    validated("program", "look", data, LOOK)
    plan, now = data["plan"], state.shown(state.readable(machine))
    turn, lease = store.current_turn(plan, now["turn"]), switch_lease.holder(machine, data["controller"])
    given = changed_secrets(machine, data["secrets"]["salt"], data["secrets"]["hashes"])
    tree = {file["path"]: file["sha256"] for file in data["files"]}
    tree.update({path: effective.digest(path, text.encode()) for path, text in data["texts"].items()})
    # The new value of a secret is not on the host yet, so a unit that reads it counts as changed.
    tree.update({f"{SECRETS.lstrip('/')}/{name}": "new" for name in given})
    former = store.readable(machine, now["committed"])
    steps = [*actions.removals(plan, former.plan), *actions.steps(machine, plan, turn, tree=tree)]
    found = {
        "files": [each["path"] for each in data["files"] if not actions.same_file(machine, **each)],
        "sysctls": [each["key"] for each in plan["sysctls"] if not actions.same_sysctl(machine, **each)],
        "units": [step._asdict() for step in steps],
        "missing": missing(machine, data),
        "secrets": given,
        "plain": [name for name in secrets.unencrypted(machine) if name in data["secrets"]["read"]],
        "unread": secrets.unread(machine, data["secrets"]["read"]),
    }
    differs = now["committed"] != data["generation"] or now["pending"] is not None or any(found.values())
    wrong = [] if differs else faults(machine, store.running_in(plan, turn))
    besides = list(effects.of(change(machine, former, data, found))) if differs else []
    lines = [each.line() for each in steps] + [each.line() for each in besides]
    applied = history.last(history.read(machine), now["committed"])
    told = {"effects": [each._asdict() for each in besides], "lines": lines, "commit": applied and applied.commit}
    return {"differs": differs, **found, **told, "state": now, "lease": lease, "faults": wrong}


def change(machine: LocalHost, former: store.Generation, data: dict[str, Any], found: dict[str, Any]) -> effects.Change:
    """Return the difference between this host, with its committed generation, and the one that may be applied."""
    return effects.Change(
        former.plan,
        [each.path for each in former.files],
        data["plan"],
        [each["path"] for each in data["files"]],
        found["files"],
        found["sysctls"],
        effects.Secrets(found["secrets"], found["plain"], found["unread"]),
        [each["unit"] for each in found["units"] if each["action"] in ("start", "restart")],
        lambda path: machine.path(path).is_dir(),
    )


def faults(machine: LocalHost, units: list[dict[str, Any]]) -> list[str]:
    """Return one sentence for each server that does not work.

    The programs of the generation that runs send requests, but none to a model: the health check of the container does
    so every 5 minutes, and its last result is the status of the unit.
    """
    promised = {unit["name"]: unit["promise"] for unit in units if unit["promise"]}
    if not promised:
        return []
    # The prober is not sent with this program, as that of the host is the same.
    sys.modules[__name__.rpartition(".switch.")[0]].__path__.append(str(machine.path(PROGRAMS)))
    from ..probe import http, session, steps  # noqa: PLC0415

    def fault(name: str, promise: dict[str, Any]) -> str:
        path = promise["api_key"] and machine.path(f"{SECRETS}/{promise['api_key']}")
        key = path.read_text(encoding="utf-8").strip() if path and path.exists() else None
        server = http.Server(promise["url"], lambda: key) if promise["url"] else None
        found = steps.run(session.Session(server, promise), steps.LIVE)
        failed = [step.evidence for step in found if step.state == "failed"]
        health = checked.get(name, {}).get("StatusText", "")
        return failed[0] if failed else f"its last health check: {health}" if health not in ("", HEALTHY) else ""

    _, checked = local.shown(machine, list(promised), ["StatusText"], within_s=10)
    found = {name: fault(name, promise) for name, promise in promised.items()}
    return [f"{name}: {text}" for name, text in found.items() if text]


def changed_secrets(machine: LocalHost, salt: str, hashes: dict[str, str]) -> list[str]:
    """Return the names of the secrets whose file has another salted hash, or does not exist."""
    return [name for name, expected in hashes.items() if salted(machine, salt, name) != expected]


def salted(machine: LocalHost, salt: str, name: str) -> str:
    """Return the SHA-256 of the salt and the secret; empty if there is no such secret."""
    try:
        value = machine.path(f"{SECRETS}/{name}").read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(salt.encode() + value).hexdigest()


def missing(machine: LocalHost, data: dict[str, Any]) -> list[str]:
    """Return one sentence for each image, network, directory, file, model and user that is missing or wrong."""
    files = [f"{FILES}/{path}" for path in data["extra_files"]]
    return [
        *inspected(machine, "image", data["images"]),
        *inspected(machine, "network", data["networks"]),
        *(text for each in data["directories"] if (text := directory(machine, **each))),
        *(f"the extra file {path} is missing" for path in files if not machine.path(path).is_file()),
        *weights(machine, data["plan"]["needs"]["stores"]),
        *user(machine, data["user"]),
    ]


def inspected(machine: LocalHost, kind: str, names: list[str]) -> list[str]:
    """Return what is missing of images or networks. One call of docker tells whether all exist."""
    try:
        done = docker(machine, kind, *names) if names else None
    except OSError as error:
        return [f"docker cannot be run: {error.strerror}"]
    if done is None or done.code == 0:
        return []
    if not any(text in done.errors.lower() for text in ("no such", "not found")):  # docker itself does not work
        return [f"docker cannot inspect any {kind}: {' '.join(done.errors.split())}"]
    return [f"the {kind} {name} is missing" for name in names if docker(machine, kind, name).code]


def docker(machine: LocalHost, kind: str, *names: str) -> CommandResult:
    """Run docker inspect."""
    return machine.run("docker", kind, "inspect", "--format", "{{.Id}}", *names)


def directory(machine: LocalHost, path: str, mode: str) -> str:
    """Return what is wrong with a directory, or an empty text."""
    try:
        found = machine.path(path).lstat()
    except OSError:
        return f"the directory {path} is missing"
    if not stat.S_ISDIR(found.st_mode):
        return f"{path} is not a directory"
    if stat.S_IMODE(found.st_mode) != int(mode, 8):
        return f"the directory {path} has the mode {stat.S_IMODE(found.st_mode):04o} instead of {mode}"
    owned = found.st_uid == machine.path("/").stat().st_uid
    return "" if owned else f"the directory {path} does not belong to root"


def weights(machine: LocalHost, stores: list[dict[str, Any]]) -> Iterator[str]:
    """Return one sentence for each model that its store does not have; the files of the others are not read."""
    for path, each in ((found["path"], each) for found in stores for each in found["models"]):
        place = machine.path(path)
        model = StagedModel(place, each["model"], each["commit"], each["layout"], gated=False, files=())
        if not layout_of(model).is_there():
            yield f"the model {model.id} is missing in {path}"


def user(machine: LocalHost, name: str) -> list[str]:
    """Return what is wrong with the user that the units run as."""
    if not name:
        return []
    done = machine.run("id", "--name", "--groups", name)
    if done.code:
        return [f"the user {name} is missing"]
    return [] if DOCKER_GROUP in done.output.split() else [f"the user {name} is not in the group {DOCKER_GROUP}"]


def main(argv: list[str]) -> int:
    """Print the differences to the generation on standard input as JSON; the argument is the root directory."""
    try:
        found = look(LocalHost(Path(argv[0])), json.load(sys.stdin))
    except ERRORS as error:
        sys.stderr.write(f"switch look: {error}\n")
        return 1
    sys.stdout.write(json.dumps(found) + "\n")
    return 0
