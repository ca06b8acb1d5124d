"""Compare generated files with those on disk and in the manifest, and decide what happens to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple

from sparkiac.write.manifest import MANIFEST, Owned, Stamp
from sparkiac.write.staging import WouldOverwrite
from sparkiac.write.tree import ancestors, carried

Decision = Literal["kept", "changed", "removed", "carried"]


class Changes(NamedTuple):
    """Changes of a commit, by path. They include the manifest and the files that force overwrites."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0

    @property
    def any(self) -> bool:
        """Return whether the files on disk differ from the generated ones."""
        return bool(self.created or self.changed or self.removed)


class TreeComparison(NamedTuple):
    """Files that stay as generated (`kept`), and files and empty directories of other programs (`carried`)."""

    changes: Changes
    kept: frozenset[str]
    carried: tuple[str, ...]


class ExistingTree(NamedTuple):
    """The tree on disk: the stamps of its files, None for files that are not read, and its directories."""

    files: Mapping[str, Stamp | None]
    directories: AbstractSet[str]


def compare(generated: Mapping[str, Stamp], found: ExistingTree, owned: Owned, *, force: bool) -> TreeComparison:
    """Decide what happens to each file.

    A file with the generated content is never a problem, whoever wrote it. Without force, raises `WouldOverwrite` with
    every file that was edited by hand or not written by sparkiac.
    """
    if owned.problem and not force and any(not carried(path) for path in found.files):
        raise unmanaged(owned.problem)
    judge = _Judge(generated, owned.files)
    decisions = {path: judge.decision(path, stamp) for path, stamp in found.files.items()}
    problems = {path: problem for path, (_, problem) in decisions.items() if problem}
    if problems and not force:
        raise WouldOverwrite(problems, reason="these files were changed or created by hand; --force overwrites them")

    def with_decision(decision: Decision) -> tuple[str, ...]:
        return tuple(sorted(path for path, (verdict, _) in decisions.items() if verdict == decision))

    kept = with_decision("kept")
    changes = Changes(
        created=tuple(sorted(generated.keys() - found.files.keys())),
        changed=with_decision("changed"),
        removed=with_decision("removed"),
        unchanged=len(kept),
    )
    empty = [path for path in _empty(found) if not judge.blocked(path)]
    return TreeComparison(changes, frozenset(kept), tuple(sorted((*with_decision("carried"), *empty))))


def unmanaged(problem: str) -> WouldOverwrite:
    """Return the error for a target with files but without a manifest that lists sparkiac's files."""
    return WouldOverwrite(
        {MANIFEST: problem},
        reason="the target is not empty and has no valid manifest; --force overwrites it",
    )


class _Judge(NamedTuple):
    generated: Mapping[str, Stamp]
    owned: Mapping[str, Stamp]

    def decision(self, path: str, stamp: Stamp | None) -> tuple[Decision, str]:
        """Return what happens to an existing file, and why this needs force, if it does."""
        if carried(path):
            return "carried", ""
        mine = self.owned.get(path)
        if path in self.generated:
            if stamp == self.generated[path]:
                return "kept", ""
            if path == MANIFEST:
                return "changed", ""
            return "changed", _edit(stamp, mine) if mine else "not written by sparkiac, at a generated path"
        if mine:
            edit = _edit(stamp, mine)
            return "removed", f"{edit}, and no longer generated" if edit else ""
        return "removed" if self.blocked(path) else "carried", "not written by sparkiac"

    def blocked(self, path: str) -> bool:
        """Return whether the path is in the way of a generated file or of its directory."""
        inside = f"{path}/"
        return (
            path in self.generated
            or any(parent in self.generated for parent in ancestors(path))
            or any(name.startswith(inside) for name in self.generated)
        )


def _edit(stamp: Stamp | None, mine: Stamp) -> str:
    if stamp == mine:
        return ""
    same_bytes = stamp is not None and stamp.sha256 == mine.sha256
    return "its executable bit was changed by hand" if same_bytes else "edited by hand"


def _empty(found: ExistingTree) -> Iterator[str]:
    full = _parents(found.files) | _parents(found.directories)
    return (path for path in found.directories if path not in full)


def _parents(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths}
