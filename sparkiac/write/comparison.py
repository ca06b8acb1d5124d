"""Compare generated files with those on disk and in the manifest, and decide what happens to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from sparkiac.write.errors import Refused
from sparkiac.write.manifest import MANIFEST, Stamp
from sparkiac.write.tree import ancestors, carried

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from sparkiac.write.manifest import Owned


Fate = Literal["kept", "changed", "removed", "carried"]


class Changes(NamedTuple):
    """What a commit does, by path. The manifest counts as a file; so does all that force overwrote."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0

    @property
    def any(self) -> bool:
        """Return whether the files on disk differ from the generated ones."""
        return bool(self.created or self.changed or self.removed)


class Comparison(NamedTuple):
    """The verdict: `kept` files are as wanted, `carried` ones and empty directories are another's."""

    changes: Changes
    kept: frozenset[str]
    carried: tuple[str, ...]


class Found(NamedTuple):
    """The present tree: stamps of its files (None: never read), and its directories."""

    files: Mapping[str, Stamp | None]
    directories: AbstractSet[str]


def compare(wanted: Mapping[str, Stamp], found: Found, owned: Owned, *, force: bool) -> Comparison:
    """Decide what happens to each file.

    A file that is already as wanted is never a problem, whoever made it so: nothing is lost. Raises `Refused`
    without force, naming every file that a person would lose and every one that sparkiac did not write.
    """
    if owned.problem and not force and any(not carried(path) for path in found.files):
        raise unmanaged(owned.problem)
    judge = _Judge(wanted, owned.files)
    fates = {path: judge.fate(path, stamp) for path, stamp in found.files.items()}
    problems = {path: problem for path, (_, problem) in fates.items() if problem}
    if problems and not force:
        raise Refused(problems, reason="these files were changed or created by hand; --force overwrites them")

    def with_fate(fate: Fate) -> tuple[str, ...]:
        return tuple(sorted(path for path, (verdict, _) in fates.items() if verdict == fate))

    kept = with_fate("kept")
    changes = Changes(
        created=tuple(sorted(wanted.keys() - found.files.keys())),
        changed=with_fate("changed"),
        removed=with_fate("removed"),
        unchanged=len(kept),
    )
    empty = [path for path in _empty(found) if not judge.blocked(path)]
    return Comparison(changes, frozenset(kept), tuple(sorted((*with_fate("carried"), *empty))))


def unmanaged(problem: str) -> Refused:
    """Say that the target has files and no manifest that could tell which of them are sparkiac's."""
    return Refused(
        {MANIFEST: problem},
        reason="the target is not empty and has no valid manifest; --force overwrites it",
    )


class _Judge(NamedTuple):
    wanted: Mapping[str, Stamp]
    owned: Mapping[str, Stamp]

    def fate(self, path: str, stamp: Stamp | None) -> tuple[Fate, str]:
        """Return what happens to an existing file, and the problem with that, if any."""
        if carried(path):
            return "carried", ""
        mine = self.owned.get(path)
        if path in self.wanted:
            if stamp == self.wanted[path]:
                return "kept", ""
            if path == MANIFEST:
                return "changed", ""
            return "changed", _edit(stamp, mine) if mine else "not written by sparkiac, at a generated path"
        if mine:
            edit = _edit(stamp, mine)
            return "removed", f"{edit}, and no longer generated" if edit else ""
        return "removed" if self.blocked(path) else "carried", "not written by sparkiac"

    def blocked(self, path: str) -> bool:
        """Whether a wanted file needs this path as its directory, or has it inside."""
        inside = f"{path}/"
        return (
            path in self.wanted
            or any(parent in self.wanted for parent in ancestors(path))
            or any(name.startswith(inside) for name in self.wanted)
        )


def _edit(stamp: Stamp | None, mine: Stamp) -> str:
    if stamp == mine:
        return ""
    same_bytes = stamp is not None and stamp.sha256 == mine.sha256
    return "its executable bit was changed by hand" if same_bytes else "edited by hand"


def _empty(found: Found) -> Iterator[str]:
    full = _parents(found.files) | _parents(found.directories)
    return (path for path in found.directories if path not in full)


def _parents(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}
