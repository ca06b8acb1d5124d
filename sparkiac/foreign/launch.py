"""What every importer returns: launches with notes, and the errors for files that cannot be imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sparkiac.foreign import redaction
from sparkiac.plan.confinement import Tree
from sparkiac.report import Path
from sparkiac.source.text import FORBIDDEN

NO_SETTING: Final = "an inventory has no setting for this"
ENV_FILE: Final = "the variables of an env file are not imported: write them under `env`, without secrets"
_LISTED: Final = 8
"""Maximum number of lines and texts in the summary of several notes."""


class Unreadable(ValueError):  # noqa: N818  describes the file
    """A file that cannot be imported. Lines and columns count from 1; the message never contains values."""

    def __init__(self, message: str, *, line: int = 1, column: int = 1) -> None:
        """Store the message and its position."""
        super().__init__(message)
        self.line = line
        self.column = column
        self.file: str | None = None
        """Name of the file, set when several are read."""


class NothingToImport(Unreadable):
    """A file of a known format that starts no server and no container; skipped when a directory is imported."""


def decoded(raw: bytes) -> str:
    """Return the text of a file. Raises Unreadable."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {raw[error.start]:#04x} is not UTF-8"
        raise Unreadable(message, line=raw.count(b"\n", 0, error.start) + 1) from None


def check_characters(text: str, line: int = 1) -> None:
    """Raise Unreadable for a character that an inventory must not contain; the text begins on this line."""
    if bad := FORBIDDEN.search(text):
        message = f"character U+{ord(bad.group()):04X} is not allowed"
        raise Unreadable(message, line=line + text.count("\n", 0, bad.start()))


class Note(NamedTuple):
    """One line of the loss report."""

    kind: str
    """`corrected` (imported in another form), `unused` (no effect on the launch) or `lost` (not understood, or an
    inventory has no setting for it).
    """
    line: int
    """Line of the foreign file, from 1."""
    what: str
    """The text of the foreign file, with secrets redacted."""
    why: str
    """What it was replaced by, or why it was not imported."""


def corrected(line: int, what: str, why: str) -> Note:
    """Return the note about a setting that is imported in another form."""
    return Note("corrected", line, redaction.redacted(what), why)


def lost(line: int, what: str, why: str) -> Note:
    """Return the note about a setting that is not understood or that an inventory cannot have."""
    return Note("lost", line, redaction.redacted(what), why)


def names(name: str, what: str) -> bool:
    """Return whether the text of a note names a key: `--max-model-len` names max_model_len, but not model."""
    spelled = re.sub(r"[-_]", "[-_]", re.escape(name.lower()).replace("\\-", "-"))
    return re.search(rf"(?<![a-z0-9/._])(?<![a-z0-9]-){spelled}(?![a-z0-9/.])", what.lower()) is not None


class EnvVariable(NamedTuple):
    """One environment variable of the container; the value is None if it comes from the caller's environment."""

    name: str
    value: str | None
    line: int


class Volume(NamedTuple):
    """One mount: a path of the host or a named volume, and its path in the container."""

    source: str
    target: str
    read_only: bool
    line: int


class PublishedPort(NamedTuple):
    """One published port."""

    address: str | None
    host: int | None
    container: int
    line: int


class Launch(NamedTuple):
    """One container with its server, parsed from its format but not yet interpreted."""

    name: str | None
    """Name of the container or recipe."""
    line: int
    """First line of the launch."""
    image: str | None
    entrypoint: tuple[str, ...] | None
    """Entrypoint that overrides the image's."""
    argv: tuple[str, ...]
    """Words after the image; in a script, as the shell splits them."""
    prelude: tuple[tuple[str, ...], ...] = ()
    """Commands that a shell runs before the server."""
    env: tuple[EnvVariable, ...] = ()
    volumes: tuple[Volume, ...] = ()
    ports: tuple[PublishedPort, ...] = ()
    devices: tuple[str, ...] = ()
    gpus: bool = False
    host_network: bool = False
    settings: Mapping[Path, Tree] = {}
    """Settings of the container and its unit that it states: path in the inventory, such as ("container", "ipc"), and
    value."""
    model: str | None = None
    """Model, if the format names it outside the command."""
    revision: str | None = None
    """Commit, branch or tag of the model, if the format names it."""
    nodes: int = 1
    """Number of machines."""
    description: str | None = None
    notes: tuple[Note, ...] = ()
    """What the importer corrected or lost."""
    lines: tuple[int, ...] = ()
    """Line of each word of `argv`; if empty, all are on the launch's line."""
    once: bool = False
    """Whether the container ends by itself: a test or a download."""
    inside: str | None = None
    """Name of the container in which `docker exec` starts the server, if another command creates it."""


class OptionValue(NamedTuple):
    """One option of the server."""

    name: str
    """The option in snake_case, as under `set`."""
    value: Any
    line: int
    what: str
    """The option as spelled in the file."""


class CommandLine(NamedTuple):
    """The server's command line."""

    model: str | None
    """The positional argument that names the model, if there is one."""
    options: tuple[OptionValue, ...]
    """Each option once; the last value wins."""
    notes: tuple[Note, ...]


class NoteGroup(NamedTuple):
    """Notes of one kind with one reason."""

    kind: str
    lines: tuple[int, ...]
    what: str
    why: str

    @property
    def place(self) -> str:
        """Return the lines as text: `line 3` or `lines 3, 5`."""
        shown = ", ".join(map(str, self.lines[:_LISTED])) + (", …" if len(self.lines) > _LISTED else "")
        return f"line{'s' if len(self.lines) > 1 else ''} {shown}"


def grouped(notes: Iterable[Note]) -> tuple[NoteGroup, ...]:
    """Join notes of one kind and one reason, in the order of their first lines."""
    found: dict[tuple[str, str], list[Note]] = {}
    for note in notes:
        found.setdefault((note.kind, note.why), []).append(note)
    return tuple(
        NoteGroup(
            kind, tuple(sorted({note.line for note in notes})), _joined(dict.fromkeys(note.what for note in notes)), why
        )
        for (kind, why), notes in found.items()
    )


def _joined(words: dict[str, None]) -> str:
    listed = [note.removesuffix(":") for note in words]
    return ", ".join(listed[:_LISTED]) + (f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else "")
