"""The tree to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sparkiac.report.artifact import Artifact
from sparkiac.write import manifest, tree
from sparkiac.write.errors import UnsafeTarget
from sparkiac.write.manifest import MANIFEST, Stamp


class GeneratedTree(NamedTuple):
    """The generated files by path, sorted, and their stamps."""

    files: Mapping[str, Artifact]
    stamps: Mapping[str, Stamp]

    @staticmethod
    def of(artifacts: Sequence[Artifact]) -> GeneratedTree:
        """Return the tree of these files without a manifest. Raises `UnsafeTarget` with all invalid paths."""
        problems = _problems(artifacts)
        if problems:
            raise UnsafeTarget(problems, reason="these artifacts cannot form one tree of files")
        files = {artifact.path: artifact for artifact in sorted(artifacts, key=lambda artifact: artifact.path)}
        return GeneratedTree(files, {path: Stamp.of(file.content, file.mode) for path, file in files.items()})

    @staticmethod
    def with_manifest(artifacts: Sequence[Artifact], *, inputs: Mapping[str, str], generator: str) -> GeneratedTree:
        """Return the tree of these files and their manifest. Raises `UnsafeTarget` with all invalid paths."""
        files, stamps = GeneratedTree.of(artifacts)
        own = Artifact(MANIFEST, manifest.dump(files, stamps, inputs=inputs, generator=generator))
        return GeneratedTree({MANIFEST: own, **files}, {MANIFEST: Stamp.of(own.content, own.mode), **stamps})


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
            problems[path] = "generated twice"
        elif above:
            problems[path] = f"{above[0]} is a file as well"
        seen.add(path)
    return problems
