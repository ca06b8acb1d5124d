"""The changes as a patch for `generate --diff` and `git apply`."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from sparkiac.report.artifact import Artifact
from sparkiac.write import manifest, tree
from sparkiac.write.generated import GeneratedTree
from sparkiac.write.paths import TargetPaths
from sparkiac.write.preview import read_stable

_NO_NEWLINE = "\n\\ No newline at end of file\n"


class _PatchSide(NamedTuple):
    """A file before or after the change."""

    content: bytes
    executable: bool

    @property
    def mode(self) -> str:
        return "100755" if self.executable else "100644"


def diff(artifacts: Sequence[Artifact], target: Path) -> str:
    """Return the patch from the files of the target to the artifacts, sorted by path; empty if they are equal.

    The manifest and files that sparkiac did not write are left out; `survey` lists them. Raises `UnsafeTarget` and
    `OSError` like `survey`.
    """
    generated = GeneratedTree.of(artifacts)
    new = {path: _PatchSide(file.content, generated.stamps[path].executable) for path, file in generated.files.items()}
    old = read_stable(TargetPaths.of(target), lambda root: {} if root is None else _present(root, new.keys()))
    return "".join(
        part
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
        for part in _file(path, old.get(path), new.get(path))
    )


def diff_of(name: str, old: bytes, new: bytes) -> str:
    """Return the patch of one file; empty if it does not change."""
    sides = (_PatchSide(content, executable=False) for content in (old, new))
    return "" if old == new else "".join(_file(name.lstrip("/"), *sides))


def _present(root: Path, generated: AbstractSet[str]) -> dict[str, _PatchSide]:
    known = generated | manifest.load(root).files.keys()
    return {
        path: _PatchSide(tree.content(root, path), executable=bool(entry.mode & stat.S_IXUSR))
        for path, entry in tree.scan(root).items()
        if path in known and not entry.is_dir
    }


def _file(path: str, old: _PatchSide | None, new: _PatchSide | None) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    if old is None and new is not None:
        yield f"new file mode {new.mode}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {old.mode}\n"
    elif old is not None and new is not None and old.mode != new.mode:
        yield f"old mode {old.mode}\nnew mode {new.mode}\n"
    names = (f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null")
    before, after = (_lines(side.content if side else b"") for side in (old, new))
    if before is None or after is None:
        if old is None or new is None or old.content != new.content:
            yield f"Binary files {names[0]} and {names[1]} differ\n"
        return
    yield from _hunks(before, after, names=names)


def _hunks(before: list[str], after: list[str], *, names: tuple[str, str]) -> Iterator[str]:
    from difflib import unified_diff  # noqa: PLC0415  only `--diff` needs it

    for line in unified_diff(before, after, *names):
        yield line if line.endswith("\n") else line + _NO_NEWLINE


def _lines(content: bytes) -> list[str] | None:
    """Split text at line feeds only, as Git does; return None for binary content."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines
