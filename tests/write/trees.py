"""Trees to commit, and ways to look at them that share no code with the writer."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from sparkiac.report.artifact import Artifact
from sparkiac.write import Changes, commit

STATE: dict[str, Any] = {"inputs": {"lab.yaml": "0" * 64}, "generator": "1.2.3"}

HERE = Path(__file__).parent
SCRIPT = {"env": {**os.environ, "PYTHONPATH": f"{HERE}:{HERE.parents[1]}"}, "text": True}
"""How to start a script that imports these helpers by their plain names."""


def put(artifacts: list[Artifact], target: Path, **options: bool) -> Changes:
    """Commit with the usual inputs and generator."""
    return commit(artifacts, target, **STATE, **options)


def files(**contents: str) -> list[Artifact]:
    """Make artifacts from names and texts; `__` in a name is a slash."""
    return [Artifact(name.replace("__", "/"), text.encode()) for name, text in contents.items()]


def generation(tag: str, *, count: int = 40) -> list[Artifact]:
    """Make a tree of small files: half are the same for every tag, some exist for one tag only."""
    common = [Artifact(f"hosts/h{i % 5}/etc/f{i}", f"same {i}\n".encode() * 40) for i in range(count // 2)]
    own = [
        Artifact(f"hosts/h{i % 5}/opt/d{i % 3}/f{i}", f"{tag} {i}\n".encode() * 60, 0o755 if i % 4 == 0 else 0o644)
        for i in range(count // 2 - 2)
    ]
    return [*common, *own, Artifact(f"only-{tag}/f", tag.encode()), Artifact("PLAN.md", tag.encode())]


def snapshot(root: Path) -> dict[str, tuple[str, bytes]] | None:
    """Read all that is below a directory, empty directories included; None if there is no directory."""
    if not root.is_dir():
        return None
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = b""
        if stat.S_ISREG(status.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(status.st_mode):
            content = os.readlink(path).encode()  # noqa: PTH115 - `Path` would normalise it
        found[str(path.relative_to(root))] = (f"{status.st_mode:o}", content)
    return found


def identity(root: Path) -> dict[str, tuple[int, ...]]:
    """Take what changes when anything below a directory, or the directory itself, is touched."""
    paths = [root, *sorted(root.rglob("*"))]
    return {
        str(path.relative_to(root)): (s.st_ino, s.st_mtime_ns, s.st_ctime_ns, s.st_mode, s.st_size)
        for path in paths
        for s in [path.lstat()]
    }


def litter(target: Path) -> list[str]:
    """Name what is beside the target."""
    return sorted(name for name in os.listdir(target.parent) if name != target.name)  # noqa: PTH208
