"""What the lines that an apply announces mean, in the words in which tests write down what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sparkiac.host.switch import effects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Deed: TypeAlias = tuple[str, ...]
"""What happens to one thing: a verb, its object, and perhaps a value."""


class Line(NamedTuple):
    """A line of an announcement."""

    action: str
    subject: str
    because: str


class Meaning(NamedTuple):
    """What a line about a host means."""

    files: list[str]
    """Files that the host does not have, or has with other content."""
    reads: dict[str, list[str]]
    """Unit → its files."""
    originals: dict[str, str]
    """Kernel settings before the first apply."""

    def of(self, lines: Iterable[Line]) -> set[Deed]:
        """Return what these lines say will happen."""
        return {deed for each in lines for deed in self._of(each)}

    def _of(self, line: Line) -> Iterator[Deed]:
        action, subject, because = line
        if subject.startswith("secret "):
            name = subject.removeprefix("secret ")
            yield from ((action, f"/etc/sparkiac/{folder}/{name}") for folder in ("secrets", "secrets.encrypted"))
        elif action == "reload" and subject.split(" of ")[0] in effects.LISTS:
            yield (*subject.split(" of "), because.removesuffix("; no restart"))
        elif action in ("write", "delete", "reload"):
            yield from (("delete" if action == "delete" else "write", path) for path in self._paths(because))
        elif action in ("open", "close", "move"):
            was, _, now = because.removeprefix("port of ").partition(", to ")
            yield "port", subject, *{"open": ("", was), "close": (was, ""), "move": (was, now)}[action]
        elif action in ("set", "reset"):
            value = because.removeprefix("kernel setting, to ")
            yield "kernel", subject, self.originals[subject] if action == "reset" else value
        elif action == "get":  # "the KIND NAME is missing"
            yield action, *subject.split()[1:3]
        else:
            yield action, subject
            yield from [("enable", subject)] if action == "start" else []
            # A start also replaces what differs of the files of its unit.
            wanted = self.reads.get(subject, []) if action in ("start", "restart") else []
            yield from (("write", f"/{path}") for path in self.files if path in wanted)

    def _paths(self, because: str) -> Iterator[str]:
        for word in because.removeprefix("changed: ").split(", "):
            programs = (f"/{path}" for path in self.files if path.startswith(effects.PROGRAMS))
            yield from programs if word == "its programs" else (word,)
