"""Read from APT which newer versions of packages are available, and which packages were changed, when and by what."""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from .local import clean, redacted
from .software import installed, related

HISTORY = "/var/log/apt/history.log"
FORMER = "/var/log/apt/history.log.1.gz"
"""The log of the month before."""
MOST_BYTES = 1 << 20
"""The log is read from its end up to this size, and the former one up to it."""
MOST = 200
"""Changes that are kept: the last ones."""
ACTIONS = ("Install", "Reinstall", "Upgrade", "Downgrade", "Remove", "Purge")
ENTRY = re.compile(r"(?<![a-z0-9+.-])([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)? \(([^()]*)\)")
POLICY = re.compile(r"([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)?:")
VERSION = re.compile(r" (\*\*\*|   ) (\S+) -?\d+")
INSTALLED = "***"
ASK = ("timeout", "10", "apt-cache", "policy")
SECURITY = "-security/"
"""Part of the suite in the line of a source."""


class Moved(NamedTuple):
    """A change of a package."""

    package: str
    before: str | None
    """None if it was not installed."""
    after: str | None
    """None if it was removed."""
    at: str
    """Time of the host's clock, as APT writes it."""
    command: str


def moved(machine: Any) -> list[Moved]:  # noqa: ANN401 - `LocalHost` of preflight or of this package
    """Return the last changes of the packages that belong together, the oldest first."""
    found = (each for text in logs(machine) for entry in text.split("\n\n") for each in changes(entry))
    return [each for each in found if related(each.package, each.after or each.before or "")][-MOST:]


def logs(machine: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    """Yield the former log and the end of the present one, as far as they can be read."""
    try:
        with gzip.open(machine.path(FORMER)) as file:
            yield file.read(MOST_BYTES).decode("utf-8", "replace")
    except (OSError, EOFError):
        pass
    try:
        with machine.path(HISTORY).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - MOST_BYTES, 0))
            yield file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return


def changes(entry: str) -> Iterator[Moved]:
    """Return the changes of one run of APT; none if the entry is cut off."""
    lines = [text.partition(": ") for text in entry.splitlines()]
    values = {key: value for key, _, value in lines}
    at = values.get("Start-Date", "")
    if not at:
        return
    command = clean(redacted(values.get("Commandline", "an unnamed program"), []))
    for action in ACTIONS:
        for name, versions in ENTRY.findall(values.get(action, "")):
            first, _, second = versions.partition(", ")
            yield Moved(name, *between(action, first, second), " ".join(at.split()), command)


def between(action: str, first: str, second: str) -> tuple[str | None, str | None]:
    """Return the versions before and after; the second text of an installed package can be the word automatic."""
    if action in {"Install", "Reinstall"}:
        return None, first
    return first, None if action in {"Remove", "Purge"} else second


def updates(machine: Any, names: Collection[str]) -> list[dict[str, Any]]:  # noqa: ANN401 - as above
    """Return the newest version of each package that is newer than the installed one, and whether one is for security.

    APT lists the versions of a package from the newest to the oldest, and marks the installed one.
    """
    found: dict[str, dict[str, Any]] = {}
    name, above = "", False
    for text in output(machine, *ASK, *names).splitlines() if names else ():
        if match := POLICY.fullmatch(text):
            name, above = match[1], True
        elif match := VERSION.fullmatch(text):
            above = above and match[1] != INSTALLED
            if above:
                found.setdefault(name, {"package": name, "version": match[2], "security": False})
        elif above and SECURITY in text and name in found:
            found[name]["security"] = True
    return [found[name] for name in sorted(found)]


def output(machine: Any, *argv: str) -> str:  # noqa: ANN401 - as above
    """Return the output of a command; an empty text if it fails or is missing."""
    try:
        done = machine.run(*argv)
    except (OSError, RuntimeError):
        return ""
    return str(getattr(done, "output", done))


def drifted(machine: Any, pins: dict[str, str]) -> Iterator[dict[str, str]]:  # noqa: ANN401 - as above
    """Yield the packages whose version is another one than pinned, with the last change of each."""
    there = installed(machine) if pins else {}
    wrong = [name for name, version in pins.items() if there.get(name) != version]
    last = {each.package: each for each in moved(machine)} if wrong else {}
    for name in wrong:
        change = last.get(name)
        because = f"{change.at}, {change.command}" if change else "not in APT's history"
        yield {"package": name, "found": there.get(name, "not installed"), "wanted": pins[name], "because": because}
