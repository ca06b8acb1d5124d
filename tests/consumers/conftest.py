"""systemd's own checks, for all units that are generated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.render import playbooks

if TYPE_CHECKING:
    from pathlib import Path


def files_of(host: Path) -> dict[str, bytes]:
    """Return the files of a host of a golden tree, with its programs."""
    files = {"/" + path.relative_to(host).as_posix(): path.read_bytes() for path in host.rglob("*") if path.is_file()}
    return files | {f"/{each.path}": each.content for each in playbooks.on_every_host()}


@pytest.fixture(scope="session")
def analyze():  # noqa: ANN201  a function of the bed's
    """Return systemd 257's own `systemd-analyze`, which runs in the test bed's root; skipped where that is missing."""
    from tests.e2e.bed import rootfs  # noqa: PLC0415  root and Debian's tools are needed for it
    from tests.e2e.bed.bed import requirements  # noqa: PLC0415

    missing = requirements()
    if missing:
        pytest.skip("needs " + "; ".join(missing))
    return rootfs.systemd_analyze
