"""The programs as they lie on a host, in a directory that is made once for their content."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from sparkiac.render import playbooks

INSTALLED = "usr/local/lib/sparkiac"


def write(root: Path) -> None:
    """Write the programs and units of every host below a root directory."""
    for artifact in playbooks.on_every_host():
        path = root / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
        path.chmod(artifact.mode)


def root() -> Path:
    """Return a directory with these files, for programs that write nothing beside themselves."""
    content = repr(playbooks.on_every_host()).encode()
    kept = Path(tempfile.gettempdir()) / f"sparkiac-programs-{hashlib.sha256(content).hexdigest()[:16]}"
    if not kept.exists():
        new = Path(tempfile.mkdtemp(prefix=f"{kept.name}."))
        write(new)
        new.chmod(0o755)
        try:
            new.rename(kept)
        except OSError:  # another worker made it meanwhile
            assert kept.is_dir()
    return kept
