"""systemd's own checks, for all units that are generated."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def analyze():  # noqa: ANN201  a function of the bed's
    """Give systemd 257's own `systemd-analyze`, which runs in the test bed's root; skipped where that is missing."""
    from tests.e2e.bed import rootfs  # noqa: PLC0415  root and Debian's tools are needed for it
    from tests.e2e.bed.bed import requirements  # noqa: PLC0415

    missing = requirements()
    if missing:
        pytest.skip("needs " + "; ".join(missing))
    return rootfs.systemd_analyze
