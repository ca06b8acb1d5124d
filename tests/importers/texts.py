"""What several tests of importers make of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac import foreign, source
from sparkiac.commands.import_ import compared
from sparkiac.foreign import assemble, redaction
from sparkiac.model.inventory import Inventory
from sparkiac.report import Report
from sparkiac.words import imports

if TYPE_CHECKING:
    from sparkiac.foreign.draft import DraftEntry
    from sparkiac.foreign.launch import Note

HOSTS = (("spark-01", "192.168.1.11"), ("spark-02", "192.168.1.12"))


class Imported(NamedTuple):
    """A text's draft and report."""

    text: str
    entries: tuple[DraftEntry, ...]
    report: str

    @property
    def entry(self) -> DraftEntry:
        """The only entry."""
        (entry,) = self.entries
        return entry

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes."""
        return tuple(note for entry in self.entries for note in entry.notes)

    def whys(self, kind: str) -> dict[str, str]:
        """Return the notes of a kind: the file's words and what became of them."""
        return {note.what: note.why for note in self.notes if note.kind == kind}


def imported(text: str, form: str = "shell", *, name: str = "file") -> Imported:
    """Take a text through everything that the command does with one file, but `check`."""
    launches = [(name, launch) for launch in foreign.importer(form).read(text, name=name)]
    hidden = redaction.secret_values(text)
    entries = compared(assemble.entries(launches, hidden), hidden)
    draft = assemble.inventory(entries, "lab", HOSTS)
    report = imports.text(entries, (), Report(), colour=False)
    return Imported(draft, tuple(entry for _, entry in entries), report)


def loaded(text: str) -> Inventory:
    """Read a draft as `check` does: it must be an inventory."""
    found = source.load(text.encode(), name="draft", model=Inventory)
    assert found.findings == (), text
    assert found.value is not None
    return found.value


def deployment(text: str, form: str = "shell") -> dict[str, object]:
    """Return what the draft says of the one deployment of a text."""
    found = imported(text, form)
    loaded(found.text)
    return found.entry.data
