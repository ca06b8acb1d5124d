"""The facts of a printed command, written again as a command line or a unit that has them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from tests.catalog.printed import CALLERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.catalog.printed import Fact

_FLAGS = {"detached": "-d", "rm": "--rm"}


def docker_run(facts: Iterable[Fact]) -> str:
    """Write `docker run` with the options, the image, and the server's words behind it."""
    facts = sorted(facts)
    (image,) = (fact[1] for fact in facts if fact[0] == "image")
    options = [word for fact in facts for word in _option(fact)]
    server = " ".join(_server(facts))
    before = " && ".join(fact[1] for fact in facts if fact[0] == "before")
    tail = f"-c {shlex.quote(f'{before} && {server}')}" if before else server
    return " \\\n  ".join(["docker run", *options, f"{image} {tail}"]) + "\n"


def unit(facts: Iterable[Fact]) -> str:
    """Write the unit around it."""
    facts = sorted(facts)
    steps = {"docker stop": "docker stop x || true", "docker rm": "docker rm x || true"}
    lines = [f"{fact[1]}={fact[2]}" for fact in facts if fact[0] == "unit" and fact[1] != "After"]
    after = " ".join(fact[2] for fact in facts if fact[:2] == ("unit", "After"))
    told = [steps.get(fact[1], "echo 3 > /proc/sys/vm/drop_caches") for fact in facts if fact[0] == "start step"]
    lines += [f"ExecStartPre=/bin/bash -c '{step}'" for step in told]
    command = docker_run(facts).replace("docker run", "/usr/bin/docker run")
    return "\n".join(["[Unit]", f"After={after}", "[Service]", *lines, f"ExecStart={command}"])


def _option(fact: Fact) -> Iterator[str]:
    match fact:
        case ("container", flag):
            yield _FLAGS[flag]
        case ("container", name, value):
            yield f"--{name} {value}"
        case ("port", host, container):
            yield f"-p {host}:{container}"
        case ("env", name, value):
            yield f'-e {name}="${name}"' if value == CALLERS else f"-e {name}={shlex.quote(value)}"
        case ("mount", target, source):
            yield f"-v {source}:{target}"
        case ("ulimit", name, value):
            yield f"--ulimit {name}={value}"


def _server(facts: Iterable[Fact]) -> Iterator[str]:
    said = [fact[1] for fact in facts if fact[0] == "words"]
    yield from sorted(said, reverse=True)
    yield from (fact[1] for fact in facts if fact[0] == "model")
    for fact in facts:
        if fact[0] == "flag":
            yield from _flag(fact[1], json.loads(fact[2]))


def _flag(name: str, value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
    elif isinstance(value, dict):
        yield f"--{name} {shlex.quote(json.dumps(value))}"
    else:
        yield f"--{name} {shlex.quote(str(value))}"
