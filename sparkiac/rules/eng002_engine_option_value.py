"""An option has a value that the engine does not accept.

A switch accepts true or false, a number a number, and some options one of a few words. The server exits at once on
anything else. In YAML 1.2, the format of inventories, `on` and `off` are words, and `true` is not: llama.cpp's
flash_attn accepts "on", "off" or "auto". The accepted values are read from the parser of the release, as for ENG001:
this is an error if an upstream tag names a release that was read. Otherwise it is a warning, and only for values that
every release the image may contain refuses.

Bad, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {schedule_policy: fifo}
```

Good, on one Spark:

```yaml
deployments:
  chat:
    recipe: base/sglang
    model: google/gemma-4-26B-A4B-it
    image: lmsysorg/sglang:v0.5.23@sha256:1111111111111111111111111111111111111111111111111111111111111111
    hosts: spark-01
    set: {schedule_policy: fcfs}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkiac.plan import Plan
from sparkiac.report import Severity
from sparkiac.rules import serverrelease
from sparkiac.rules.rule import Hit, hit, rule
from sparkiac.rules.serverrelease import ServerRelease

RULE: Final = rule(__name__, ("fails", "parser"), *serverrelease.SOURCES)


def check(plan: Plan) -> Iterator[Hit]:
    """Find values of the wrong type, or outside the choices of the option."""
    for server in serverrelease.servers(plan):
        for name, value in server.container.server.options.items():
            hints = [option.problem(value) for option in server.takes(name)]
            if hints and all(hints):
                yield _hit(server, name, value, hints[-1] or "")


def _hit(server: ServerRelease, name: str, value: object, hint: str) -> Hit:
    message = f"{name} of {server.container.name} cannot be {_shown(value)}"
    if server.table.releases != ("",):
        message = f"{message} in {server.title}{_elsewhere(server, name, value)}"
    if _read_in_part(server, name, value):
        message = (
            f"{name} of {server.container.name} is {value!r}, of which {server.engine.title} reads only the number"
        )
    return hit(server.host, server.container, ("set", name), message, hint, _severity(server, name, value))


def _severity(server: ServerRelease, name: str, value: object) -> Severity | None:
    """Return the severity: a value that the server omits or reads in part is a warning, because the server starts."""
    choices = [option.choices for option in server.takes(name)]
    if server.table.releases == ("",) and len(choices[0]) == 1:
        return None  # the table has one set of choices
    return Severity.WARNING if value is False or _read_in_part(server, name, value) else server.severity


def _read_in_part(server: ServerRelease, name: str, value: object) -> bool:
    return server.table.leading and any(option.begins(value) for option in server.takes(name))


def _elsewhere(server: ServerRelease, name: str, value: object) -> str:
    """Return which releases accept a value, as the end of a sentence; empty if none does."""

    def takes(release: str) -> bool:
        option = server.table.option(name, release)
        return option is not None and option.problem(value) is None

    return server.elsewhere(takes) if any(takes(release) for release in server.table.releases) else ""


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
