"""The test bed. Each file gets new hosts, so that it passes alone and after any other file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed import Bed
from tests.e2e.bed.bed import requirements

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """Two booted systemd hosts with Docker, and a registry; skipped with the reason where it cannot run."""
    missing = requirements()
    if missing:
        pytest.skip("needs " + "; ".join(missing))
    with Bed() as running:
        yield running
