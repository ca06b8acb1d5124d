"""Notes that say the same, told once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.importers.launch import Note

_LISTED = 8


class Group(NamedTuple):
    """Notes with one reason."""

    kind: str
    lines: tuple[int, ...]
    what: str
    why: str

    @property
    def place(self) -> str:
        """Name the lines: `line 3`, `lines 3, 5`."""
        shown = ", ".join(map(str, self.lines[:_LISTED])) + (", …" if len(self.lines) > _LISTED else "")
        return f"line{'s' if len(self.lines) > 1 else ''} {shown}"


def grouped(notes: Iterable[Note]) -> tuple[Group, ...]:
    """Join notes of one kind and one reason, in the order of the first ones."""
    found: dict[tuple[str, str], list[Note]] = {}
    for note in notes:
        found.setdefault((note.kind, note.why), []).append(note)
    return tuple(
        Group(
            kind, tuple(sorted({each.line for each in same})), _joined(dict.fromkeys(each.what for each in same)), why
        )
        for (kind, why), same in found.items()
    )


def _joined(words: dict[str, None]) -> str:
    listed = [each.removesuffix(":") for each in words]
    return ", ".join(listed[:_LISTED]) + (f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else "")
