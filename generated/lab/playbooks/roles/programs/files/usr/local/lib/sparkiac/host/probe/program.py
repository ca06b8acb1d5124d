"""Check what a unit promises: model servers, speech, plain HTTP services, and the workers of a group.

probe.py watch PROMISE --at URL   the health check of a container: readiness, then the watchdog (watch.py)
probe.py check [UNIT]             the steps of an apply, with --all every step, or with --live only those that request
                                  no answer (steps.py)
probe.py speed UNIT               tokens/s of an answer of 256 tokens, the median of three; 0 if it has no chat

`check` reads the promise of UNIT in generation.json, or without UNIT from stdin: {"promise": {…}, "key": "…"}, where
the API key may be null: then the secret that the promise names is read. Keys are never arguments. Exit status: 0 all
steps passed, 1 a step failed (stderr says why), 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..contract import ContractError, validated
from ..generation import ALERT, Promise
from . import steps as probe_steps
from . import text as probe_text
from . import watch as probe_watch
from .http import NotServingError, Server, WrongError
from .session import Session
from .steps import Step

WAIT_STEP_S = 2
GENERATION = Path("/etc/sparkiac/generation.json")
SECRETS = Path("/etc/sparkiac/secrets")


def key_in(path: Path) -> Callable[[], str | None]:
    """Return a function that reads an API key; it returns None if there is no file."""
    return lambda: path.read_text(encoding="utf-8").strip() if path.exists() else None


def watch(arguments: argparse.Namespace) -> int:
    """Check a container once, from inside."""
    try:
        promise = checked_promise(str(arguments.promise), json.loads(arguments.promise.read_text(encoding="utf-8")))
    except ContractError as error:
        return between(arguments.state, error)
    server = Server(arguments.at, key_in(arguments.token_file)) if arguments.at else None
    try:
        alert = probe_watch.check(Session(server, promise), arguments.state)
    except (NotServingError, OSError) as error:
        alert = f"{ALERT} " if isinstance(error, WrongError) else ""
        sys.stderr.write(f"{alert}{' '.join(str(error).split())}\n")
        return 1
    sys.stdout.write(f"{alert}\n" if alert else "")
    return 0


def between(state: Path, error: ContractError) -> int:
    """Return what counts for a container whose promise another version of sparkiac wrote.

    An apply has installed a new probe, and the unit waits for its restart: if it was ready, it is not ended now.
    """
    sys.stderr.write(f"{error}\n")
    return 0 if probe_watch.Watch(state).state["ready"] is not None else 1


def check(arguments: argparse.Namespace) -> int:
    """Run the steps of an apply, or all steps."""
    promise, key = asked(arguments)
    if promise is None:
        return 0
    server = Server(promise["url"], key) if promise["url"] else None
    names = probe_steps.ALL if arguments.all else probe_steps.LIVE if arguments.live else None
    deadline = time.monotonic() + arguments.wait
    while True:
        session = Session(server, promise, patience_s=arguments.queue)
        steps = gate(session) if names is None else probe_steps.run(session, names)
        fault = probe_steps.first_fault(steps)
        if fault is None or isinstance(fault, WrongError) or time.monotonic() >= deadline:
            break
        time.sleep(WAIT_STEP_S)
    show(steps, arguments.format)
    return 0 if fault is None else 1


def speed(arguments: argparse.Namespace) -> int:
    """Print the speed of a unit."""
    promise, key = asked(arguments)
    found = probe_text.speed(Session(Server(promise["url"], key), promise)) if promise and promise["url"] else 0.0
    sys.stdout.write(f"{found:.2f}\n")
    return 0


def gate(session: Session) -> list[Step]:
    """Run the steps of an apply. The first ones have a time limit together, and each further one has the same."""
    steps: list[Step] = []
    for names in (probe_steps.GATE, *((name,) for name in probe_steps.CLIENTS)):
        session.limit(session.promise["answer_s"])
        steps += probe_steps.run(session, names)
        if probe_steps.first_fault(steps) is not None:
            break
    return steps


def asked(arguments: argparse.Namespace) -> tuple[dict[str, Any] | None, Callable[[], str | None]]:
    """Return the promise and its API key."""
    promise: dict[str, Any] | None
    if arguments.unit is None:
        given = json.load(sys.stdin)
        promise, key = checked_promise("standard input", given["promise"]), given["key"]
    else:
        promise, key = promise_of(arguments.generation, arguments.unit), None
    name = promise["api_key"] if promise else None
    return promise, key_in(arguments.secrets / name) if name and key is None else lambda: key


def checked_promise(name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a promise; raise ContractError if another version of sparkiac wrote it."""
    return dict(validated("probe", name, value, Promise))


def promise_of(path: Path, unit: str) -> dict[str, Any] | None:
    """Return the promise of a unit in generation.json; None if it has none. Raises LookupError for an unknown unit."""
    units = {each["name"]: each for each in json.loads(path.read_text(encoding="utf-8"))["units"]}
    if unit not in units:
        raise LookupError(f"{path} has no unit {unit}; it has {', '.join(sorted(units)) or 'none'}")
    found = units[unit]["promise"]
    return None if found is None else checked_promise(f"{path}: {unit}", found)


def show(steps: list[Step], output: str) -> None:
    """Print every step as JSON, or one line for each failed step."""
    if output == "json":
        sys.stdout.write(json.dumps({"steps": [step.plain() for step in steps]}) + "\n")
    else:
        sys.stderr.write("".join(f"{step.evidence}\n" for step in steps if step.state == "failed"))


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="probe.py", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    inside = commands.add_parser("watch", help="health check of a container")
    inside.add_argument("promise", type=Path, metavar="PROMISE", help="promise.json")
    inside.add_argument("--at", metavar="URL", help="http://host:port of the server, as the container sees it")
    inside.add_argument("--token-file", type=Path, default=Path("/run/secrets/vllm_api_key"), metavar="FILE")
    inside.add_argument(
        "--state",
        type=Path,
        default=Path("/tmp/sparkiac-probe.json"),  # noqa: S108 - inside the container
        metavar="FILE",
        help="state between two checks",
    )
    outside = commands.add_parser("check", help="check a unit")
    outside.add_argument("unit", nargs="?", metavar="UNIT", help="name of the systemd unit, without suffix")
    which = outside.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="run every step, not only those of an apply")
    which.add_argument("--live", action="store_true", help="run only the steps that request no answer")
    outside.add_argument("--format", choices=["text", "json"], default="text")
    outside.add_argument("--wait", type=int, default=0, metavar="SECONDS", help="retry a failed request for so long")
    outside.add_argument("--queue", type=int, default=30, metavar="SECONDS", help="wait for an empty queue for so long")
    fast = commands.add_parser("speed", help="measure how fast a unit answers")
    fast.add_argument("unit", metavar="UNIT", help="name of the systemd unit, without suffix")
    for each in (outside, fast):
        each.add_argument("--generation", type=Path, default=GENERATION, metavar="FILE")
        each.add_argument("--secrets", type=Path, default=SECRETS, metavar="DIRECTORY")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Run the probe and return its exit status."""
    arguments = parse(argv)
    try:
        return {"watch": watch, "check": check, "speed": speed}[arguments.command](arguments)
    except (ContractError, NotServingError, LookupError, OSError, ValueError) as error:
        sys.stderr.write(f"{' '.join(str(error).split())}\n")
        return 1
