"""The tree to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.artifact import Artifact
from sparkiac.write import manifest, tree
from sparkiac.write.errors import Unsafe
from sparkiac.write.manifest import MANIFEST, Stamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Wanted(NamedTuple):
    """Each file of the tree by its path, sorted, and its stamp."""

    files: Mapping[str, Artifact]
    stamps: Mapping[str, Stamp]

    @staticmethod
    def of(artifacts: Sequence[Artifact]) -> Wanted:
        """Take these files and no manifest. Raises `Unsafe`, naming all paths that cannot be one tree."""
        problems = _problems(artifacts)
        if problems:
            raise Unsafe(problems, reason="these artifacts cannot be one tree of files")
        files = {artifact.path: artifact for artifact in sorted(artifacts, key=lambda artifact: artifact.path)}
        return Wanted(files, {path: Stamp.of(file.content, file.mode) for path, file in files.items()})

    @staticmethod
    def with_manifest(artifacts: Sequence[Artifact], *, inputs: Mapping[str, str], generator: str) -> Wanted:
        """Take these files and the manifest that names them. Raises `Unsafe` as `of` does."""
        files = Wanted.of(artifacts).files
        text = manifest.dump(files.values(), inputs=inputs, generator=generator)
        both = {MANIFEST: Artifact(MANIFEST, text), **files}
        return Wanted(both, {path: Stamp.of(file.content, file.mode) for path, file in both.items()})


def _problems(artifacts: Sequence[Artifact]) -> dict[str, str]:
    problems: dict[str, str] = {}
    paths = {artifact.path for artifact in artifacts}
    seen: set[str] = set()
    for path in (artifact.path for artifact in artifacts):
        above = [parent for parent in tree.ancestors(path) if parent in paths]
        if manifest.unsafe_path(path):
            problems[path] = manifest.unsafe_path(path)
        elif path == MANIFEST or path.startswith(f"{MANIFEST}/") or tree.carried(path):
            problems[path] = "a reserved name"
        elif path in seen:
            problems[path] = "named twice"
        elif above:
            problems[path] = f"{above[0]} is a file as well"
        seen.add(path)
    return problems
